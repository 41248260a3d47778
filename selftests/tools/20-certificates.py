#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/ehcert: what it makes, and what it refuses."""
import os
import stat
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import BUILD, TOP, run

CERT = f"{TOP}/tools/ehcert"


def mode(path):
    """Permissions as a number."""
    return stat.S_IMODE(os.stat(path).st_mode)


def refused(name, status, *arguments):
    """It ends with this status and a message, and leaves the folder as it was."""
    before = {f: os.stat(f).st_mtime_ns for f in os.listdir()}
    r = run(CERT, *arguments)
    ok(name, r.returncode == status and not r.stdout and b"ehcert: " in r.stderr and
       before == {f: os.stat(f).st_mtime_ns for f in os.listdir()},
       f"{r.returncode} {r.stderr} {os.listdir()}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    refused("no authority yet", 1, "node", ".", "n0")
    r = run(CERT, "init", ".")
    ok("an authority", r.returncode == 0 and not r.stderr, r.stderr)
    r = run(f"{BUILD}/bin/ehctl", "cert", "node", ".", "n0", "host-1.example.org")
    ok("two hosts, by ehctl cert", r.returncode == 0 and not r.stderr, r.stderr)
    ok("nothing else is left", sorted(os.listdir()) == [
        "ca.crt", "ca.key", "host-1.example.org.crt", "host-1.example.org.key", "n0.crt", "n0.key"],
       os.listdir())
    ok("keys are for the owner only", all(mode(k) == 0o600 for k in os.listdir() if k.endswith("key")))
    for purpose in "sslserver", "sslclient":
        r = run("openssl", "verify", "-x509_strict", "-purpose", purpose, "-verify_hostname", "n0",
                "-CAfile", "ca.crt", "n0.crt")
        ok(f"n0 may be a {purpose[3:]}", r.returncode == 0, r.stdout + r.stderr)
    r = run("openssl", "x509", "-in", "host-1.example.org.crt", "-noout", "-subject", "-ext",
            "subjectAltName")
    ok("its names", b"CN = host-1.example.org\n" in r.stdout and b"DNS:host-1.example.org\n" in r.stdout,
       r.stdout)
    a, b = (run("openssl", *c).stdout for c in (("x509", "-in", "n0.crt", "-noout", "-pubkey"),
                                                 ("pkey", "-in", "n0.key", "-pubout")))
    ok("key and certificate belong together", a == b and a)
    r = run("openssl", "verify", "-CAfile", "n0.crt", "-partial_chain", "host-1.example.org.crt")
    ok("a host cannot certify another", r.returncode != 0, r.stdout)
    refused("an authority is not overwritten", 1, "init", ".")
    refused("a host is not overwritten", 1, "node", ".", "n0")
    for bad in "", "a b", "../n9", "-x", "n/9", "ä", "x" * 65:
        refused(f"'{bad[:8]}' is no host", 2, "node", ".", bad)
    refused("no command", 2)
    refused("an unknown command", 2, "sign", ".")
    refused("no folder", 2, "init")
    refused("no host", 2, "node", ".")
    refused("a folder that cannot be made", 1, "init", "ca.crt/below")
done()
