# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates that `ehctl cert` would not make: of a short validity, signed by openssl with an
authority that `ehctl` made."""

import os, time
from netns import sh


def certify(authority, folder, host, end, begin=None, cluster=None):
    """HOST.key and HOST.crt in a directory, with the authority's certificate; valid until `end`, in
    seconds since 1970."""
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, host)
    work = base + ".work"
    os.makedirs(work)
    for name, text in (
        ("index", ""),
        ("serial", os.urandom(8).hex() + "\n"),
        ("index.attr", "unique_subject = no\n"),
    ):
        with open(os.path.join(work, name), "w") as f:
            f.write(text)
    names = f"DNS:{host}" + (f",URI:urn:ehsched:{cluster}" if cluster else "")
    with open(os.path.join(work, "conf"), "w") as f:
        f.write(
            f"""[ca]
default_ca = a
[a]
database = {work}/index
serial = {work}/serial
new_certs_dir = {work}
default_md = sha256
policy = p
x509_extensions = e
[p]
commonName = supplied
[e]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = {names}
"""
        )

    def stamp(at):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(at))

    def run(*words):
        r = sh("openssl", *words)
        if r.returncode:
            raise RuntimeError(r)

    run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{base}.key")
    os.chmod(f"{base}.key", 0o600)
    run("req", "-new", "-key", f"{base}.key", "-subj", f"/CN={host}", "-out", f"{work}/csr")
    run(
        "ca",
        "-batch",
        "-notext",
        "-config",
        f"{work}/conf",
        "-cert",
        f"{authority}/ca.crt",
        "-keyfile",
        f"{authority}/ca.key",
        "-startdate",
        stamp(begin or time.time() - 3600),
        "-enddate",
        stamp(end),
        "-in",
        f"{work}/csr",
        "-out",
        f"{base}.crt",
    )
    if not os.path.exists(f"{folder}/ca.crt"):
        run("x509", "-in", f"{authority}/ca.crt", "-out", f"{folder}/ca.crt")
    return folder
