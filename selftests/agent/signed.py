# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of the roster as a host signs them, with the key of its certificate (docs/protocol.md,
"Signatures")."""

import base64, os, subprocess


def statement(kind, entry, cluster="test", topology="2,1"):
    """The bytes that are signed."""
    parts = [
        f"ehsched {kind} 1",
        cluster,
        topology,
        entry["code"],
        entry["host"],
        entry["address"],
        str(entry["version"]),
        "left" if entry.get("left") else "here",
    ]
    return b"".join(part.encode() + b"\0" for part in parts)


def signature(folder, host, text):
    p = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", os.path.join(folder, f"{host}.key")],
        input=text,
        stdout=subprocess.PIPE,
        check=True,
    )
    return base64.b64encode(p.stdout).decode()


def certificate(folder, host):
    p = subprocess.run(
        ["openssl", "x509", "-in", os.path.join(folder, f"{host}.crt"), "-outform", "DER"],
        stdout=subprocess.PIPE,
        check=True,
    )
    return base64.b64encode(p.stdout).decode()


def signed(folder, entry, by=None, **how):
    """The entry, signed by its host, or with the key and the certificate of `by`."""
    by = by or entry["host"]
    return {
        **entry,
        "sign": signature(folder, by, statement("entry", entry, **how)),
        "cert": certificate(folder, by),
    }


def granted(folder, entry, by, **how):
    """The entry with the word of a host that gives it its code."""
    return {**entry, "by": by, "grant": signature(folder, by, statement("grant", entry, **how))}
