#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Of which kernels kmod/compat/bad.h stops the build, and what the error says."""
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import TOP

GOOD = ["6.1.0", "6.1.192", "6.10.14", "6.11.11", "6.12.2", "6.12.117", "6.13.0", "7.2.13"]
OLD = ["5.14.0", "5.15.255", "6.0.19"]
EXEC = ["6.11.0", "6.11.10", "6.12.0", "6.12.1"]


def errors(version, *options):
    """What the compiler says with headers of this version, of 64 bits unless an option says
    otherwise."""
    a, b, c = (int(n) for n in version.split("."))
    with tempfile.TemporaryDirectory() as headers:
        os.mkdir(f"{headers}/linux")
        with open(f"{headers}/linux/version.h", "w", encoding="ascii") as f:
            print(
                (
                    f"#define LINUX_VERSION_CODE {(a << 16) + (b << 8) + c}\n"
                    "#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))"
                ),
                file=f,
            )
        run = subprocess.run(
            [
                "gcc",
                "-fsyntax-only",
                "-I",
                headers,
                "-DCONFIG_64BIT=1",
                *options,
                "-x",
                "c",
                f"{TOP}/kmod/compat/bad.h",
            ],
            capture_output=True,
            text=True,
        )
    return [line for line in run.stderr.splitlines() if "error:" in line]


def stops(version, text, *options):
    """The build for this version stops with this one error."""
    found = errors(version, *options)
    ok(
        f"{' '.join([version, *options])} is refused",
        len(found) == 1 and text in found[0],
        "\n".join(found),
    )


def passes(version, *options):
    found = errors(version, *options)
    ok(f"{' '.join([version, *options])} is taken", not found, "\n".join(found))


for v in GOOD:
    passes(v)
for v in OLD:
    stops(v, "older than 6.1")
    stops(v, "older than 6.1", "-DEHS_HAVE_EXE_FILE_DENY", "-DEHS_BAD_ASK_AT_LOAD")
for v in EXEC:
    stops(v, "use 6.11.11, 6.12.2 or later")
    passes(v, "-DEHS_HAVE_EXE_FILE_DENY")
    passes(v, "-DEHS_BAD_ASK_AT_LOAD")
stops("6.12.2", "one of 32 bits", "-UCONFIG_64BIT")
stops(
    "7.2.13",
    "one of 32 bits",
    "-UCONFIG_64BIT",
    "-DEHS_HAVE_EXE_FILE_DENY",
    "-DEHS_BAD_ASK_AT_LOAD",
)
done()
