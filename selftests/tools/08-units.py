#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The units of systemd, as `systemd-analyze security` rates them: 0 is closed, 10 open. A setting
that is lost shows here."""

import os, re, shutil, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from tree import TOP

# What ehlaunch leaves open, and why, is in its unit.
MOST = {"ehagent": 2.0, "ehlaunch": 9.6, "ehmetrics": 2.0}

for name, most in MOST.items():
    unit = os.path.join(TOP, "packaging/systemd", f"{name}.service")
    what = f"{name}.service is rated {most} at most"
    if not shutil.which("systemd-analyze"):
        skip(what, "systemd-analyze is missing")
        continue
    said = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if "unrecognized option" in said.stdout:
        skip(what, "this systemd-analyze rates no files")
        continue
    rated = re.search(r"exposure level for \S+: ([0-9.]+)", said.stdout)
    ok(what, rated and float(rated[1]) <= most, said.stdout)
done()
