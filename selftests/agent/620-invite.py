#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster in two commands: ehctl init, ehctl invite, ehctl join. A host without a token, or with
another's, gets nothing."""

import base64, hashlib, json, os, re, signal, socket, ssl, stat, subprocess, sys, threading, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from frames import closed
from ktap import done, must, ok
from netns import address, sh
from wait import until

ALPN = "ehsched-join/1"
c = Cluster(4)
ehctl = c.ehctl
KEPT = os.path.join(os.path.dirname(c.state(0)), "invites.json")


def invite(i=0, *words):
    r = ehctl(i, "invite", "--json", *words)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return json.loads(r.stdout)["token"]


def join(i, token, *words, name=None):
    return ehctl(i, "join", *words, "--token", token, "--dir", c.etc(i), "--host", name or f"n{i}")


def empty(i):
    return not os.path.isdir(c.etc(i)) or not os.listdir(c.etc(i))


def refused(what, r, i, word):
    ok(
        f"{what}: refused, and nothing is written",
        r.returncode == 1
        and r.stderr.startswith("ehctl join: ")
        and word in r.stderr
        and not r.stdout
        and empty(i),
        (r, os.path.isdir(c.etc(i)) and os.listdir(c.etc(i))),
    )


def invites():
    """What the agent that invites has kept."""
    with open(KEPT) as f:
        return json.load(f)


def unpack(token):
    raw = token[4:]
    return base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4))


def repack(raw):
    """The token of these bytes, with a new sum."""
    return "eh1-" + base64.urlsafe_b64encode(
        raw + hashlib.sha256(raw).digest()[:4]
    ).decode().rstrip("=")


# ---- two commands ----

r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "2,1")
ok("init", r.returncode == 0 and "ehctl invite" in r.stdout, r)
c.start(0, c.finish(0, "heartbeat = 300\n"))
early = repack(bytes(48) + f"n0 {address(0)}:7411".encode())
refused("nobody was invited", join(1, early), 1, "")
r = ehctl(0, "invite")
token = re.search(r"^  ehctl join --token (eh1-\S+)$", r.stdout, re.M)
ok(
    "invite prints the command for the other host",
    r.returncode == 0 and token and f"{address(0)}:7411" in r.stdout,
    r,
)
token = token[1]
kept = json.dumps(invites())
ok(
    "only a digest of the token is kept, for the agent alone",
    unpack(token)[:16].hex() not in kept
    and token not in kept
    and len(json.loads(kept)["open"]) == 1
    and stat.S_IMODE(os.stat(KEPT).st_mode) == 0o600,
    kept,
)
r = join(1, token)
ok(
    "join",
    r.returncode == 0
    and not r.stderr
    and "next: ehagent -c" in r.stdout
    and f"{address(1)}:7411" in r.stdout,
    r,
)
ok(
    "the host has these files",
    sorted(os.listdir(c.etc(1))) == ["agent.conf", "ca.crt", "n1.crt", "n1.key"],
    os.listdir(c.etc(1)),
)
ok(
    "its key is its own",
    stat.S_IMODE(os.stat(c.etc(1) + "/n1.key").st_mode) in (0o600, 0o640)
    and sh("openssl", "verify", "-CAfile", c.etc(0) + "/ca.crt", c.etc(1) + "/n1.crt").returncode
    == 0,
)
ok(
    "its certificate names the cluster",
    "URI:urn:ehsched:lab"
    in sh(
        "openssl", "x509", "-in", c.etc(1) + "/n1.crt", "-noout", "-ext", "subjectAltName"
    ).stdout,
)
days = {
    i: [
        sh(
            "openssl",
            "x509",
            "-in",
            f"{c.etc(i)}/n{i}.crt",
            "-noout",
            "-checkend",
            str(n * 86400),
            check=False,
        ).returncode
        for n in (89, 90)
    ]
    for i in (0, 1)
}
ok("certificates last 90 days, and are renewed (650-renew)", days == {0: [0, 1], 1: [0, 1]}, days)
ok(
    "it has the cluster's settings",
    "heartbeat     = 300" in (saw := open(c.etc(1) + "/agent.conf").read()),
    saw,
)
ok("nothing of the token is left at home", not invites()["open"])
c.start(1, c.finish(1))
ok("it is a member", c.all_up([0, 1]), c.log(1)[-2000:])

# ---- whoever has no token, or a wrong one ----

refused("a used token", join(2, token), 2, "no open invitation")
fresh = invite()
refused(
    "a used token while another is good",
    join(2, token),
    2,
    "the token is wrong, was used, or has expired",
)
raw = bytearray(unpack(fresh)[:-4])
raw[0] ^= 1
refused("a wrong token", join(2, repack(bytes(raw))), 2, "the token is wrong")
for what, text in (
    ("cut", fresh[:-5]),
    ("changed", fresh[:20] + ("A" if fresh[20] != "A" else "B") + fresh[21:]),
    ("none", "hello"),
    ("empty", ""),
    ("too long", fresh * 9),
    ("of another version", "eh2-" + fresh[4:]),
):
    r = join(2, text)
    ok(f"a token that is {what} is wrong usage, and asks nobody", r.returncode == 2 and empty(2), r)
refused("the name of a member", join(2, fresh, name="n1"), 2, "a member has this name")
refused(
    "the name of the host that invites",
    join(2, fresh, name="n0"),
    2,
    "the name of the host that invites",
)
r = ehctl(2, "join", "--token", "-", "--dir", c.etc(2), "--host", "n2", input=fresh + "\n")
ok("the good one is still good; it may come from standard input", r.returncode == 0, r)
again = invite()
for name in os.listdir(c.etc(2)):
    os.unlink(os.path.join(c.etc(2), name))
refused(
    "a name that has just got a certificate",
    join(2, again),
    2,
    "got a certificate a short time ago",
)
r = join(2, invite(0, "--host", "n2"))
ok("an invitation for that host admits it again", r.returncode == 0, r)
c.start(2, c.finish(2))
ok("it is a member", c.all_up([0, 1, 2]), c.log(2)[-2000:])
bound = invite(0, "--host", "other")
refused("another host's invitation", join(3, bound), 3, "for a host of another name")
os.makedirs(c.etc(3), exist_ok=True)
open(os.path.join(c.etc(3), "agent.conf"), "w").close()
r = join(3, again)
ok(
    "a host that has a configuration: nothing is overwritten",
    r.returncode == 1 and "already exists" in r.stderr and os.listdir(c.etc(3)) == ["agent.conf"],
    r,
)
os.unlink(os.path.join(c.etc(3), "agent.conf"))

# ---- time ----

short = invite(0, "--for", "1s")
digest = hashlib.sha256(unpack(short)[:16]).hexdigest()
end = next(o["until"] for o in invites()["open"] if o["digest"] == digest)
must("its time is over", until(lambda: time.time() >= end + 1), end)
refused(
    "a token whose time is over", join(3, short), 3, "the token is wrong, was used, or has expired"
)
for wrong in "0", "8d", "-1", "1w", "", "1h30m":
    r = ehctl(0, "invite", "--for", wrong)
    ok(f"--for '{wrong}' is wrong usage", r.returncode == 2, r)

# ---- who may invite ----

r = ehctl(1, "invite")
ok(
    "a host without the authority's key says which has it",
    r.returncode == 1 and "run `ehctl invite` on n0" in r.stderr,
    r,
)
answer = c.ask(0, {"command": "invite"}, uid=65534)
ok(
    "only the administrator invites",
    answer.get("error", {}).get("why") == "permitted for root only",
    answer,
)

# ---- a man in the middle ----

sh(EHCTL, "cert", "init", "--cluster", "lab", os.path.join(c.dir, "evil"))
sh(EHCTL, "cert", "node", os.path.join(c.dir, "evil"), "n0")
heard = []


def impostor(cert, chain, alpn):
    """A server on node 3 that writes down what it hears."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    both = os.path.join(c.dir, "both.pem")
    with open(both, "w") as f:
        f.write(open(cert + ".crt").read() + open(chain).read())
    context.load_cert_chain(both, cert + ".key")
    context.set_alpn_protocols([alpn])
    with c.net.enter(3):
        listener = socket.create_server((address(3), 7411))
    listener.settimeout(60)

    def serve():
        try:
            with listener.accept()[0] as s:
                s.settimeout(60)
                with context.wrap_socket(s, server_side=True) as t:
                    heard.append(t.recv(4096))
        except OSError as e:
            heard.append(e)
        listener.close()

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


for what, cert, chain, word in (
    (
        "another authority",
        c.dir + "/evil/n0",
        c.dir + "/evil/ca.crt",
        "not issued by the authority in the token",
    ),
    (
        "another authority that also shows the right one",
        c.dir + "/evil/n0",
        c.etc(0) + "/ca.crt",
        "refused",
    ),
    ("a member that has not invited", c.etc(1) + "/n1", c.etc(0) + "/ca.crt", "is not n0"),
):
    heard.clear()
    thread = impostor(cert, chain, ALPN)
    r = ehctl(2, "join", address(3), "--token", again, "--dir", c.etc(3), "--host", "n3")
    thread.join()
    refused(f"{what} answers", r, 3, word)
    ok(
        "it has not heard the token",
        len(heard) == 1
        and unpack(again)[:16].hex().encode()
        not in (heard[0] if isinstance(heard[0], bytes) else b""),
        heard,
    )

# ---- what a stranger may send ----


def stranger(alpn=ALPN):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([alpn])
    with c.net.enter(3):
        s = socket.socket()
    s.settimeout(60)
    s.connect((address(0), 7411))
    return context.wrap_socket(s)


def tell(s, data):
    """What comes back until the agent closes."""
    said = b""
    try:
        s.sendall(data)
        while more := s.recv(65536):
            said += more
    except OSError:
        pass
    s.close()
    return said


def error(said):
    return json.loads(said or b"{}").get("error", "")


def ask(text):
    """The error that the agent answers with, once it does not say that too many ask."""
    return until(
        lambda: (lambda e: e and not e.startswith("too many") and e)(error(tell(stranger(), text)))
    )


ok(
    "a request of a megabyte gets no answer",
    (saw := tell(stranger(), b"x" * (1 << 20))) == b"",
    saw,
)
ok(
    "the log says why",
    c.logged(
        0, r"refused 10\.77\.0\.4:\d+ \(CN unknown\): its request to be admitted is too large"
    ),
    c.log(0)[-1500:],
)
slow = [stranger() for i in range(8)]
for s in slow:
    s.sendall(b"{")
for what, text in (
    ("no JSON", b"hello\n"),
    ("a list", b"[]\n"),
    ("nothing", b"{}\n"),
    ("a NUL", b'{"secret":"\0"}\n'),
    ("a secret that is a number", b'{"secret":1}\n'),
    ("a deep one", b"[" * 4000 + b"\n"),
    ("a secret that is too short", b'{"secret":"00"}\n'),
):
    ok(
        f"{what}: it is told no more than that the token is wrong",
        "the token is wrong" in (saw := ask(text)),
        saw,
    )
ok(
    "HTTP/2 still needs a certificate",
    (saw := tell(stranger("h2"), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) == b"",
    saw,
)
secret = unpack(again)[:16].hex()
good = subprocess.run(
    [
        "openssl",
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "/dev/null",
        "-subj",
        "/CN=n3",
    ],
    capture_output=True,
    text=True,
).stdout
rsa = subprocess.run(
    [
        "openssl",
        "req",
        "-new",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "/dev/null",
        "-subj",
        "/CN=n3",
    ],
    capture_output=True,
    text=True,
).stdout
for what, host, request, word in (
    ("without a request", "n3", None, "missing or malformed"),
    ("with a request that is none", "n3", "x", "malformed"),
    ("for another name than the request's", "n4", good, "its subject is not the host"),
    ("with another kind of key", "n3", rsa, "not on the curve P-256"),
    ("for a name that is none", "a/b", good, "malformed"),
):
    said = ask(json.dumps({"secret": secret, "host": host, "request": request}).encode() + b"\n")
    ok(f"a good token {what}: refused", word in said, said)
over = threading.Event()


def flood():
    while not over.is_set():
        tell(stranger(), b"{}\n")


thread = threading.Thread(target=flood)
thread.start()
ok(
    "many in a second are told to wait",
    until(lambda: error(tell(stranger(), b"{}\n")).startswith("too many")),
)
r = ehctl(1, "join", "--token", bound, "--dir", c.etc(1) + "b", "--host", "other")
ok("a host elsewhere joins meanwhile", r.returncode == 0, r)
over.set()
thread.join()
ok("who says half a request is closed", all(closed(s) for s in slow))
for s in slow:
    s.close()
ok("members were served all the time", c.all_up([0, 1, 2]), c.log(0)[-1500:])

# ---- two at once ----

ask(b"{}\n")
requests = [
    json.dumps(
        {
            "secret": secret,
            "host": f"twin{i}",
            "request": subprocess.run(
                [
                    "openssl",
                    "req",
                    "-new",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                    "-nodes",
                    "-keyout",
                    "/dev/null",
                    "-subj",
                    f"/CN=twin{i}",
                ],
                capture_output=True,
                text=True,
            ).stdout,
        }
    ).encode()
    + b"\n"
    for i in range(2)
]
pair = [stranger(), stranger()]  # not before all is there that they say: they have little time
for s, text in zip(pair, requests):
    s.sendall(text)
answers = [json.loads(tell(s, b"") or b"{}") for s in pair]
ok(
    "of two with the same token one gets a certificate",
    sorted("certificate" in a for a in answers) == [False, True],
    answers,
)
ok(
    "the other is told that it was used",
    any("was used" in a.get("error", "") for a in answers),
    answers,
)

# ---- after a restart ----

left = invite()
c.end(0)
c.start(0, os.path.join(c.etc(0), "agent.conf"))
must("the agent is back", until(lambda: c.up(0)), c.log(0)[-2000:])
r = ehctl(3, "join", "--token", again, "--dir", c.etc(3), "--host", "n3")
refused("a used token after a restart of the agent", r, 3, "wrong, was used")
r = join(3, left)
ok("one that was not used is good after it", r.returncode == 0, r)
c.start(3, c.finish(3))
ok("all are members", c.all_up(range(4)), c.log(3)[-2000:])

# ---- its key ----

os.chmod(os.path.join(c.etc(0), "ca.key"), 0o644)
before = len(c.log(0))
c.agents[0].send_signal(signal.SIGHUP)
ok(
    "an authority's key that others can read is refused",
    until(lambda: "reload: rejected" in c.log(0)[before:])
    and "authority-key: " in c.log(0)[before:]
    and "chmod" in c.log(0)[before:],
    c.log(0)[before:],
)
ok("the agents end", all(c.end(i) == 0 for i in range(4)))
done()
