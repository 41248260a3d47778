#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates end while agents are connected: links are looked at again, and certificates are
replaced before they end."""

import base64, json, os, re, signal, socket, ssl, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from authority import certify
from clock import Clock
from cluster import Cluster
from commands import AGENT, EHCTL
from frames import closed
from ktap import done, ok
from netns import address, sh
from wait import until

c = Cluster(3)
ehctl = c.ehctl
# the time of day of the agents on nodes 0 and 1: no test waits for a certificate's end
clock = Clock(c.dir, "n0")
c.environment = lambda i: clock.environment if i < 2 else {}

# ---- a link whose certificate ends ----

named = os.path.join(c.dir, "named")
sh(EHCTL, "cert", "init", "--cluster", "test", named)
sh(EHCTL, "cert", "node", named, "n0", "n1", "n2")
c.start(0, c.conf(0, cert=named))
c.start(1, c.conf(1, cert=named))
SOON = 1000
end = int(time.time()) + SOON
short = certify(named, os.path.join(c.dir, "short"), "n2", end, cluster="test")
stranger = certify(named, os.path.join(c.dir, "strange"), "far", end, cluster="test")
c.start(2, c.conf(2, cert=short))
ok("a member whose certificate ends soon is let in", c.all_up(range(3)), c.log(2)[-2000:])
client = http2.Client(http2.connect(c.net, 2, address(1), short, "n2"))
ok("so is a second connection of it", (saw := client.hello(node="0.2")) == 200, saw)
ok(
    "and stays",
    client.request("GET", "/v1/nodes")[0] == 200 and "has expired" not in c.log(0) + c.log(1),
)
clock.set(SOON + 1)


def ended(client):
    """Whether the agent closes it; waits for that, with PINGs, as who is silent is closed, too."""
    client.s.settimeout(0.1)

    def look():
        try:
            client.s.sendall(http2.frame(http2.PING, 0, 0, bytes(8)))
            return not client.s.recv(65536)
        except (TimeoutError, socket.timeout):
            return False
        except OSError:
            return True

    return until(look)


ok("the connection ends with the certificate", ended(client), c.log(1)[-1500:])
ok(
    "and the log says why",
    c.logged(1, r"ended the connection with n2: its certificate has expired"),
    c.log(1)[-1500:],
)
ok("the other agent's link ends, too", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-1500:])
ok(
    "the certificate is not accepted again",
    c.logged(0, r"refused \S+ \(CN n2\): certificate refused: certificate has expired"),
    c.log(0)[-1500:],
)
ok("the others stay", (saw := c.up(1)) == {"0.0", "0.1"}, saw)
c.end(2)
clock.set(0)

# ---- a link whose authority is gone from the configuration ----

other = os.path.join(c.dir, "other")
sh(EHCTL, "cert", "init", "--cluster", "test", other)
sh(EHCTL, "cert", "node", other, "n0", "n1", "n2")
both = os.path.join(c.dir, "both.crt")
with open(both, "w") as f:
    f.write(open(named + "/ca.crt").read() + open(other + "/ca.crt").read())


def trust(i, cert, authority):
    """Writes node i's configuration with these, and reloads it if it runs."""
    conf = c.conf(i, cert=cert)
    text = open(conf).read()
    with open(conf, "w") as f:
        f.write(re.sub(r'authority = ".*"', f'authority = "{authority}"', text))
    if i in c.agents:
        before = c.log(i).count("is now in effect")
        c.agents[i].send_signal(signal.SIGHUP)
        return until(lambda: c.log(i).count("is now in effect") > before)
    return conf


ok(
    "two authorities are trusted while one takes over",
    trust(0, named, both) and trust(1, named, both),
)
c.start(2, trust(2, other, both))
ok("a host with a certificate of the new one is a member", c.all_up(range(3)), c.log(2)[-1500:])
client = http2.Client(http2.connect(c.net, 1, address(0), named, "n1"))
kept = http2.Client(http2.connect(c.net, 2, address(0), other, "n2"))
ok("connections of both", client.hello(node="0.1") == 200 and kept.hello(node="0.2") == 200)
ok(
    "host 0 has a certificate of the new one, and trusts no other",
    trust(0, other, other + "/ca.crt"),
)
ok("connections of the old authority end at once", closed(client.s))
ok("and the log says why", c.logged(0, r"ended the connection with n1: "), c.log(0)[-1500:])
ok("those of the new one stay", (saw := kept.request("GET", "/v1/nodes")[0]) == 200, saw)
ok("the host with the old one is out", until(lambda: c.up(0) == {"0.0", "0.2"}), c.up(0))
ok(
    "until it has one of the new",
    trust(1, other, other + "/ca.crt") and c.all_up(range(3)),
    c.log(1)[-1500:],
)
ok("the agents end", all(c.end(i) == 0 for i in range(3)))

# ---- a certificate that is renewed ----


def state(i):
    return os.path.join(c.dir, f"r{i}.d")


def finish(i, text=""):
    os.makedirs(state(i), exist_ok=True)
    c.give(state(i))
    return c.finish(i, text + "heartbeat = 300\n", f"{state(i)}/state")


def short_lived(i, join, seconds):
    """The configuration of a host whose certificate lasts for so long. Two thirds of its time are
    over."""
    end = int(time.time()) + seconds
    c.give(certify(c.etc(0), c.etc(i), f"n{i}", end, cluster="lab"))
    return end, finish(
        i,
        (
            f'cluster = "lab"\ncertificate = "{c.etc(i)}/n{i}.crt"\nkey ='
            f' "{c.etc(i)}/n{i}.key"\nauthority = "{c.etc(i)}/ca.crt"\njoin = {{'
            f' "{address(join)}:7411" }}\naddress = "{address(i)}:7411"\n'
        ),
    )


def shown(i):
    """When the certificate ends that node i shows to who connects, in seconds since 1970."""
    r = c.call(
        0, ["openssl", "s_client", "-connect", f"{address(i)}:7411", "-alpn", "h2"], timeout=60
    )
    r = subprocess.run(
        ["openssl", "x509", "-noout", "-enddate"], input=r.stdout, capture_output=True, text=True
    )
    return ssl.cert_time_to_seconds(r.stdout.strip().partition("=")[2])


def fresh(i):
    """Since now: what node i logs."""
    at = len(c.log(i))
    return lambda pattern: until(lambda: re.search(pattern, c.log(i)[at:]))


r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "2,1")
logged = fresh(0)
c.start(0, finish(0), ready=False)
ok("a cluster", r.returncode == 0 and logged("ready: node"), r)
end, conf = short_lived(1, 0, SOON)
configured = open(c.etc(1) + "/n1.crt").read() + open(c.etc(1) + "/n1.key").read()
logged, there, begun = fresh(1), fresh(0), len(c.log(0))
agent = c.start(1, conf, ready=False)
ok(
    "a certificate that ends soon is renewed",
    logged(r"the certificate of this host was renewed, for (89|90) days"),
    c.log(1)[-2000:],
)
ok(
    "the host of the authority says so, too",
    there(r"\(n1\) got a new certificate"),
    c.log(0)[-1000:],
)
ok(
    "who connects sees the new one, without a restart",
    until(lambda: shown(1) > end + 86400) and agent.poll() is None,
    shown(1),
)
new = os.path.join(state(1), "certificate.pem")
text = open(new).read()
ok(
    "it is kept beside the state, with a new key, for the agent alone",
    os.stat(new).st_mode & 0o777 == 0o600
    and "PRIVATE KEY" in text
    and text not in configured
    and open(c.etc(1) + "/n1.key").read() not in text,
)
ok(
    "the configured files are as they were",
    (saw := open(c.etc(1) + "/n1.crt").read() + open(c.etc(1) + "/n1.key").read()) == configured,
    saw,
)
ok(
    "doctor finds nothing wrong with it",
    re.search(
        r"^ok +certificate +CN n1: valid for (89|90) more days", ehctl(1, "doctor").stdout, re.M
    ),
    ehctl(1, "doctor"),
)
ok(
    "links of the old certificate stay as long as it is good",
    "has expired" not in c.log(0)[begun:],
    c.log(0)[begun:][-1500:],
)
clock.set(SOON + 1)
ok(
    "and end with it",
    there("ended the connection with n1: its certificate has expired"),
    c.log(0)[-1500:],
)


def members(*nodes):
    return until(lambda: all(c.up(i) == {f"0.{j}" for j in nodes} for i in nodes))


ok("and the host stays a member, with the new one", members(0, 1), c.log(1)[-1500:])


def told(i, code):
    """The certificate that proves the entry of this code, as node i tells the roster; in DER."""
    client = http2.Client(http2.connect(c.net, 2, address(i), asker, "n9"))
    entries = json.loads(client.request("GET", "/v1/roster")[1])["roster"]
    return base64.b64decode(next((e["cert"] for e in entries if e["code"] == code), ""))


asker = os.path.join(c.dir, "asker")
certify(c.etc(0), asker, "n9", time.time() + 2 * SOON, cluster="lab")
renewed = ssl.PEM_cert_to_DER_cert(
    text[text.index("-----BEGIN CERT") :].partition("-----END CERTIFICATE-----")[0]
    + "-----END CERTIFICATE-----\n"
)
ok(
    "its entry of the roster is signed with the new one at the host itself, and at another",
    until(lambda: told(1, "0.1") == renewed) and until(lambda: told(0, "0.1") == renewed),
    c.log(0)[-1500:],
)
c.end(1)
logged = fresh(1)
c.start(1, conf, ready=False)
ok(
    "after a restart it is still used, though the configured one has expired",
    logged("ready: node") and members(0, 1),
    c.log(1)[-1500:],
)
clock.set(0)

# ---- who asks for what ----


def request(name, key="ec"):
    more = ["-pkeyopt", "ec_paramgen_curve:P-256"] if key == "ec" else []
    return subprocess.run(
        [
            "openssl",
            "req",
            "-new",
            "-newkey",
            key if key == "ec" else "rsa:2048",
            *more,
            "-nodes",
            "-keyout",
            "/dev/null",
            "-subj",
            f"/CN={name}",
        ],
        capture_output=True,
        text=True,
    ).stdout


one = os.path.join(c.dir, "one")
certify(c.etc(0), one, "n1", time.time() + 600, cluster="lab")
certify(c.etc(0), one, "stranger", time.time() + 600, cluster="lab")


def ask(host, to, body):
    # closed at once: when one is silent for too long the agent ends all of this node, also the next
    # one
    with http2.connect(c.net, 1, address(to), one, host) as s:
        client = http2.Client(s)
        client.hello(cluster="lab", node="0.1")
        return client.request("POST", "/v1/renew", body)


ok(
    "a member gets a certificate of its name",
    (saw := ask("n1", 0, {"request": request("n1")})[0]) == 200,
    saw,
)
for what, host, body in (
    ("another's name", "n1", {"request": request("n0")}),
    ("none", "n1", {}),
    ("a number", "n1", {"request": 1}),
    ("what is no request", "n1", {"request": "x"}),
    ("another kind of key", "n1", {"request": request("n1", "rsa")}),
):
    status, answer = ask(host, 0, body)
    ok(
        f"with {what} it gets nothing",
        status == 400 and b'certificate"' not in answer,
        (status, answer),
    )
client = http2.Client(http2.connect(c.net, 1, address(0), one, "n1"))
client.hello(cluster="lab", node="0.1")
body = {"request": request("n1")}
many = [client.request("POST", "/v1/renew", body)[0] for _ in range(25)]
ok("who asks without end is told to wait", set(many) == {200, 429} and many[-1] == 429, many)
ok(
    "a host that is no member gets nothing",
    (saw := ask("stranger", 0, {"request": request("stranger")})[0]) == 403,
    saw,
)

# ---- when it does not work ----

c.end(0)
end, conf = short_lived(2, 1, 100)
logged = fresh(2)
c.start(2, conf, ready=False)
ok(
    "without the host of the authority it does not work, and the log says so",
    logged(
        r"warning: the certificate of this host expires in \d+ s and could not be renewed: n0: "
    ),
    c.log(2)[-1500:],
)
r = ehctl(2, "doctor")
ok(
    "so does doctor",
    re.search(r"^warning +certificate +CN n2: .*not renewed: n0: ", r.stdout, re.M),
    r,
)
logged = fresh(2)
c.start(0, os.path.join(c.etc(0), "agent.conf"), ready=False)
ok(
    "when that host is back, it is renewed",
    logged("the certificate of this host was renewed"),
    c.log(2)[-1500:],
)
ok(
    "and doctor is content",
    re.search(r"^ok +certificate +CN n2", ehctl(2, "doctor").stdout, re.M),
    ehctl(2, "doctor"),
)
ok(
    "a host without the authority's key signs nothing",
    (saw := ask("n1", 2, {"request": request("n1")})[0]) == 409,
    saw,
)
kept = os.path.join(state(2), "certificate.pem")
os.chmod(kept, 0o644)
r = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
ok(
    "one whose key others can read is not used",
    re.search(r"certificate.pem beside \S+: ignored: other users have access to it", r.stderr),
    r,
)
os.chmod(kept, 0o600)
with open(kept, "w") as f:
    f.write(text)
r = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
ok(
    "nor another host's",
    re.search(r"certificate.pem beside \S+: ignored: it is of another host", r.stderr),
    r,
)

# ---- the host of the authority itself ----

c.end(0)
certify(c.etc(0), one, "n0", time.time() + 100, cluster="lab")
for name in "n0.crt", "n0.key":
    with open(os.path.join(c.etc(0), name), "w") as out:
        out.write(open(os.path.join(one, name)).read())
logged = fresh(0)
c.start(0, os.path.join(c.etc(0), "agent.conf"), ready=False)
ok(
    "it renews its own",
    logged("the certificate of this host was renewed") and shown(0) > time.time() + 80000,
    c.log(0)[-1500:],
)

# ---- a clock that was wrong ----

DAY = 86400


def from_to(i):
    """When the certificate of node i begins and ends."""
    text = open(os.path.join(state(i), "certificate.pem")).read()
    r = subprocess.run(
        ["openssl", "x509", "-noout", "-dates"], input=text, capture_output=True, text=True
    )
    return [ssl.cert_time_to_seconds(line.partition("=")[2]) for line in r.stdout.splitlines()]


c.end(0)
os.remove(os.path.join(state(0), "certificate.pem"))
late = os.path.join(c.dir, "late")
certify(c.etc(0), late, "n0", time.time() + 3 * DAY, cluster="lab")
for name in "n0.crt", "n0.key":
    with open(os.path.join(c.etc(0), name), "w") as out:
        out.write(open(os.path.join(late, name)).read())
clock.set(2 * DAY)
logged = fresh(0)
c.start(0, os.path.join(c.etc(0), "agent.conf"), ready=False)
ok(
    "with a clock that is ahead it makes a certificate for later",
    logged("the certificate of this host was renewed") and from_to(0)[0] > time.time() + DAY,
    (from_to(0), c.log(0)[-1500:]),
)
clock.set(0)
logged = fresh(0)
c.agents[0].send_signal(signal.SIGHUP)
ok(
    "when the clock is right it makes one for now",
    logged("the certificate of this host was renewed")
    and from_to(0)[0] < time.time() < from_to(0)[1],
    (from_to(0), c.log(0)[-1500:]),
)
ok("all agents end", all(c.end(i) == 0 for i in range(3)))
done()
