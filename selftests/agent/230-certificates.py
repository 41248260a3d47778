#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose certificate is of this cluster, on both sides of a connection; and keys that others can
read."""

import os, re, signal, socket, ssl, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import AGENT, EHCTL
from ktap import done, ok
from netns import address, sh
from wait import until

c = Cluster(3)
named = os.path.join(c.dir, "named")
sh(EHCTL, "cert", "init", "--cluster", "test", named)
sh(EHCTL, "cert", "node", named, "n0", "n1", "n2")


def sign(folder, authority, host, names, usage="serverAuth,clientAuth"):
    """A certificate as openssl makes it, of an authority in another directory."""
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, host)
    sh(
        "openssl",
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-out",
        f"{base}.key",
    )
    os.chmod(f"{base}.key", 0o600)
    with open(f"{base}.ext", "w") as f:
        f.write(
            "basicConstraints = critical,CA:FALSE\nkeyUsage ="
            f" critical,digitalSignature\nsubjectAltName = {names}\n"
        )
        if usage:
            f.write(f"extendedKeyUsage = {usage}\n")
    sh(
        "openssl",
        "req",
        "-new",
        "-key",
        f"{base}.key",
        "-subj",
        f"/CN={host}",
        "-out",
        f"{base}.csr",
    )
    sh(
        "openssl",
        "x509",
        "-req",
        "-in",
        f"{base}.csr",
        "-CA",
        f"{authority}/ca.crt",
        "-CAkey",
        f"{authority}/ca.key",
        "-days",
        "9",
        "-set_serial",
        "7",
        "-extfile",
        f"{base}.ext",
        "-out",
        f"{base}.crt",
    )
    sh("cp", f"{authority}/ca.crt", f"{folder}/ca.crt")
    return folder


def served(cert, host="n1", node="0.1", i=1):
    try:
        return http2.Client(http2.connect(c.net, i, address(0), cert, host)).hello(node=node) == 200
    except (OSError, EOFError):
        return False


def check(conf):
    r = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
    return r.returncode, r.stderr


# ---- an authority with a name ----

good = c.conf(0, cert=named)
ok("a configuration of a cluster with a name passes -t", check(good) == (0, ""), check(good))
code, errors = check(c.conf(2, cert=named, cluster="lab"))
ok(
    "another name in the configuration is refused",
    code == 2 and re.search(r"certificate: .*to another cluster.*\"lab\"", errors),
    errors,
)
c.start(0, c.conf(0, cert=named))
ok("a member is served", served(named))
for what, names, usage, why in (
    (
        "without a name",
        "DNS:n1",
        "serverAuth,clientAuth",
        "it does not name a cluster, although its authority does",
    ),
    (
        "of another cluster",
        "DNS:n1,URI:urn:ehsched:lab",
        "serverAuth,clientAuth",
        "it belongs to another cluster",
    ),
    (
        "of two clusters",
        "DNS:n1,URI:urn:ehsched:test,URI:urn:ehsched:lab",
        "serverAuth,clientAuth",
        "malformed",
    ),
    (
        "with a name that is none",
        "DNS:n1,URI:urn:ehsched:test%20",
        "serverAuth,clientAuth",
        "malformed",
    ),
    (
        "with a name in another case",
        "DNS:n1,URI:urn:ehsched:Test",
        "serverAuth,clientAuth",
        "it belongs to another cluster",
    ),
    ("without a usage", "DNS:n1,URI:urn:ehsched:test", None, "its extended key usage"),
    ("for clients only", "DNS:n1,URI:urn:ehsched:test", "clientAuth", "its extended key usage"),
):
    before = len(c.log(0))
    bad = sign(os.path.join(c.dir, what.replace(" ", "-")), named, "n1", names, usage)
    ok(f"a client's certificate {what} is refused", not served(bad), c.log(0)[before:])
    ok(
        "the log says why",
        until(
            lambda: re.search(
                rf"refused \S+ \(CN n1\): certificate refused: .*{why}", c.log(0)[before:]
            )
        ),
        c.log(0)[before:],
    )
    code, errors = check(c.conf(1, cert=bad))
    ok("a host that has it is told by -t", code == 2 and why in errors, errors)

# The other side: a server at n2's address. An agent would refuse such a certificate of its own.
lab = sign(os.path.join(c.dir, "lab"), named, "n2", "DNS:n2,URI:urn:ehsched:lab")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{lab}/n2.crt", f"{lab}/n2.key")
context.set_alpn_protocols(["h2"])
with c.net.enter(2):
    listener = socket.create_server((address(2), 7411))
listener.settimeout(60)
with listener.accept()[0] as s:
    try:
        context.wrap_socket(s, server_side=True).recv(1)
    except OSError:
        pass
listener.close()
ok(
    "a server of another cluster is refused",
    c.logged(0, r"no connection to 0\.2 .*certificate refused: it belongs to another cluster"),
    c.log(0)[-2000:],
)
c.start(2, c.conf(2, cert=named))
ok("one of this cluster is accepted", c.all_up([0, 2]), c.log(0)[-2000:])
c.end(2)
c.end(0)

# ---- an authority without a name, as all were before ----

plain = os.path.join(c.dir, "plain")
os.mkdir(plain)
sh(
    "openssl",
    "genpkey",
    "-algorithm",
    "EC",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-out",
    f"{plain}/ca.key",
)
sh(
    "openssl",
    "req",
    "-x509",
    "-new",
    "-key",
    f"{plain}/ca.key",
    "-days",
    "9",
    "-subj",
    "/CN=ehsched cluster authority",
    "-addext",
    "basicConstraints=critical,CA:TRUE,pathlen:0",
    "-addext",
    "keyUsage=critical,keyCertSign,cRLSign",
    "-out",
    f"{plain}/ca.crt",
)
old = sign(os.path.join(c.dir, "old"), plain, "n0", "DNS:n0")
sign(old, plain, "n1", "DNS:n1")
sh(EHCTL, "cert", "node", plain, "n2")
c.start(0, c.conf(0, cert=old))
c.start(1, c.conf(1, cert=old))
c.start(2, c.conf(2, cert=plain))
ok(
    "certificates of before work, beside one that ehctl cert adds",
    c.all_up([0, 1, 2]),
    c.log(0)[-2000:],
)
ok(
    "but not one of another cluster",
    not served(sign(os.path.join(c.dir, "stray"), plain, "n1", "DNS:n1,URI:urn:ehsched:lab")),
)
ok("nor one of an authority with a name", not served(named))

# ---- keys that others can read ----

key = os.path.join(old, "n0.key")
conf = c.conf(0, cert=old)
for mode in 0o644, 0o640, 0o601:
    os.chown(key, 1, 1 if mode == 0o640 else 0)
    os.chmod(key, mode)
    code, errors = check(conf)
    ok(
        f"a key with mode {mode:o}: -t refuses it, and says what to do",
        code == 2
        and re.search(rf"^{conf}:\d+: key: .* (has|have) access to it: `chmod 600 {key}`", errors),
        errors,
    )
r = subprocess.run([AGENT, "-c", conf], capture_output=True, text=True, timeout=60)
ok(
    "the agent does not start with it",
    r.returncode == 2 and f"`chmod 600 {key}`" in r.stderr,
    r.stderr,
)
os.chmod(key, 0o644)
before = len(c.log(0))
c.agents[0].send_signal(signal.SIGHUP)
ok(
    "a reload is rejected",
    until(lambda: "reload: rejected" in c.log(0)[before:]) and "chmod 600" in c.log(0)[before:],
    c.log(0)[before:],
)
os.chown(key, 0, 1)
os.chmod(key, 0o640)
ok("root's key may be read by a group, which is the agent's", check(conf) == (0, ""), check(conf))
os.chmod(key, 0o600)
ok("and by nobody else", check(conf) == (0, ""), check(conf))
ok("the agents end", all(c.end(i) == 0 for i in range(3)))
done()
