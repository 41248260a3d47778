#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl cert: what it makes, and what it refuses."""
import json
import os
import stat
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import BUILD, run

CERT = f"{BUILD}/bin/ehctl", "cert"


def mode(path):
    """Permissions as a number."""
    return stat.S_IMODE(os.stat(path).st_mode)


def refused(name, status, *arguments):
    """It ends with this status and a message, and leaves the directory as it was."""
    before = {f: os.stat(f).st_mtime_ns for f in os.listdir()}
    r = run(*CERT, *arguments)
    ok(
        name,
        r.returncode == status
        and not r.stdout
        and b"ehctl cert: " in r.stderr
        and before == {f: os.stat(f).st_mtime_ns for f in os.listdir()},
        f"{r.returncode} {r.stderr} {os.listdir()}",
    )


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    refused("no authority yet", 1, "node", ".", "n0")
    r = run(*CERT, "init", ".")
    ok("an authority", r.returncode == 0 and not r.stderr, r.stderr)
    ok("it tells the next step", b"next: ehctl cert node . HOST" in r.stdout, r.stdout)
    r = run(*CERT, "node", ".", "n0", "host-1.example.org")
    ok("two hosts", r.returncode == 0 and not r.stderr, r.stderr)
    ok("it tells the next step, too", b"next: copy HOST.crt" in r.stdout, r.stdout)
    ok(
        "nothing else is left",
        sorted(os.listdir())
        == [
            "ca.crt",
            "ca.key",
            "host-1.example.org.crt",
            "host-1.example.org.key",
            "n0.crt",
            "n0.key",
        ],
        os.listdir(),
    )
    ok(
        "keys are for the owner only",
        all(mode(k) == 0o600 for k in os.listdir() if k.endswith("key")),
    )
    for purpose in "sslserver", "sslclient":
        r = run(
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            purpose,
            "-verify_hostname",
            "n0",
            "-CAfile",
            "ca.crt",
            "n0.crt",
        )
        ok(f"n0 may be a {purpose[3:]}", r.returncode == 0, r.stdout + r.stderr)
    r = run(
        "openssl",
        "x509",
        "-in",
        "host-1.example.org.crt",
        "-noout",
        "-subject",
        "-ext",
        "subjectAltName,extendedKeyUsage",
    )
    ok(
        "its names",
        b"CN = host-1.example.org\n" in r.stdout and b"DNS:host-1.example.org\n" in r.stdout,
        r.stdout,
    )
    ok(
        "it is for both sides of TLS",
        b"TLS Web Server Authentication, TLS Web Client Authentication" in r.stdout,
        r.stdout,
    )
    a, b = (
        run("openssl", *c).stdout
        for c in (
            ("x509", "-in", "n0.crt", "-noout", "-pubkey"),
            ("pkey", "-in", "n0.key", "-pubout"),
        )
    )
    ok("key and certificate belong together", a == b and a)
    r = run("openssl", "verify", "-CAfile", "n0.crt", "-partial_chain", "host-1.example.org.crt")
    ok("a host cannot certify another", r.returncode != 0, r.stdout)
    refused("an authority is not overwritten", 1, "init", ".")
    refused("a host is not overwritten", 1, "node", ".", "n0")
    for bad in "", "a b", "../n9", "-x", "n/9", "ä", "x" * 65:
        refused(f"'{bad[:8]}' is no host", 2, "node", ".", bad)
    refused("no command", 2)
    refused("an unknown command", 2, "sign", ".")
    refused("no directory", 2, "init")
    refused("no host", 2, "node", ".")
    refused("a directory that cannot be made", 1, "init", "ca.crt/below")

    # A cluster with a name: all certificates have it.
    r = run(*CERT, "init", "--cluster", "lab_1", "named")
    ok(
        "an authority of a cluster",
        r.returncode == 0 and not r.stderr and b"lab_1" in r.stdout,
        r.stderr,
    )
    ok("a host of it", (saw := run(*CERT, "node", "named", "n7").returncode) == 0, saw)
    for name in "ca", "n7":
        r = run("openssl", "x509", "-in", f"named/{name}.crt", "-noout", "-ext", "subjectAltName")
        ok(f"{name}.crt names the cluster", b"URI:urn:ehsched:lab_1" in r.stdout, r.stdout)
    for bad in "", "a b", "a/b", "-x", "ä", "x" * 65:
        refused(f"'{bad[:8]}' is no cluster", 2, "init", "--cluster", bad, "other")

    # What there is, and what is wrong with it.
    os.chmod("n0.key", 0o644)
    os.unlink("host-1.example.org.key")
    r = run(*CERT, "list", ".", "--json")
    found = {c["file"]: c for c in json.loads(r.stdout)["certificates"]}
    ok(
        "list",
        r.returncode == 0 and sorted(found) == ["ca.crt", "host-1.example.org.crt", "n0.crt"],
        r.stdout + r.stderr,
    )
    ok("which is the authority", [f for f in found if found[f]["authority"]] == ["ca.crt"], found)
    ok(
        "an open key, a missing one, a good one",
        [found[f]["key"] for f in sorted(found)] == ["ok", "not here", "exposed"],
        found,
    )
    ok("all are valid", all(c["state"] == "valid" for c in found.values()), found)
    print_ = run("openssl", "x509", "-in", "n0.crt", "-noout", "-fingerprint", "-sha256").stdout
    ok(
        "the fingerprint is openssl's",
        found["n0.crt"]["fingerprint"]
        == print_.decode().strip().split("=")[1].replace(":", "").lower(),
        print_,
    )
    r = run(*CERT, "list", "named")
    ok(
        "list for people has the cluster",
        r.returncode == 0 and b"lab_1" in r.stdout and b"n7.crt" in r.stdout,
        r.stdout,
    )
    r = run(*CERT, "node", "named", "n8", env={**os.environ, "EHCERT_DAYS": "7"})
    r = run(*CERT, "list", "named", "--json")
    ok(
        "one that ends within a month",
        [c["state"] for c in json.loads(r.stdout)["certificates"]]
        == ["valid", "valid", "expires soon"],
        r.stdout,
    )
    refused("no directory to list", 1, "list", "nowhere")
done()
