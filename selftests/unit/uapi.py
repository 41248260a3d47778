#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The header, lib/wire/reason.c and syzkaller's description say what uapi/ehsched.yaml says: names,
order, numbers."""
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip_all
from tree import BUILD, TOP

try:
    import yaml
except ImportError:
    skip_all("python3-yaml is not installed")

with open(f"{TOP}/uapi/ehsched.yaml", encoding="utf-8") as f:
    spec = yaml.safe_load(f)
with open(f"{TOP}/uapi/linux/ehsched.h", encoding="utf-8") as f:
    header = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def check(name, want, got):
    """One result; a difference is shown."""
    ok(name, want == got, f"yaml   {want}\nthere  {got}")


def names(entries):
    """Entries of an enum in the specification are names, or have one."""
    return [e if isinstance(e, str) else e["name"] for e in entries]


def upper(prefix, name):
    """As C spells it."""
    return (prefix + name).replace("-", "_").upper()


# name -> number of every enumerator of the header; bounds (__X_MAX, X_MAX) aside
numbers = {}
for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", header, flags=re.S):
    value = 0
    for item in filter(None, (i.strip() for i in body.split(","))):
        name, _, given = (part.strip() for part in item.partition("="))
        if name.startswith("__") or name.endswith("_MAX"):
            continue
        if given:
            value = int(given, 0)
        numbers[name] = value
        value += 1


def check_list(what, prefix, entries, first):
    """The header has these, in this order, from this number, and no others of the prefix."""
    want = {upper(prefix, n): first + i for i, n in enumerate(entries)}
    got = {n: v for n, v in numbers.items() if n in want or n.startswith(upper(prefix, ""))}
    check(what, want, got)


for d in spec["definitions"]:
    if d["type"] == "const":
        found = re.search(rf"#define\s+{upper('ehs-', d['name'])}\s+(\w+)", header)
        check(f"constant {d['name']}", d["value"], found and int(found[1], 0))
    else:
        check_list(f"enum {d['name']}", d["name-prefix"], names(d["entries"]), 0)
for s in spec["attribute-sets"]:
    check_list(f"attributes {s['name']}", f"ehs-a-{s['name']}-", names(s["attributes"]), 1)

commands = [upper("ehs-cmd-", o["name"]) for o in spec["operations"]["list"]]
got = {n: v for n, v in numbers.items() if n.startswith("EHS_CMD_")}
check("commands", {n: i + 1 for i, n in enumerate(commands)}, got)

reason = next(d for d in spec["definitions"] if d["name"] == "reason")
listed = subprocess.run(
    [f"{BUILD}/selftests/unit/test_reason", "--list"], check=True, capture_output=True, text=True
).stdout.split()
check("names of lib/wire/reason.c", names(reason["entries"]), listed)

with open(f"{TOP}/selftests/fuzz/ehsched.txt", encoding="utf-8") as f:
    syzkaller = f.read()
check(
    "syzkaller: each command can be sent",
    sorted(commands),
    sorted(re.findall(r"^sendmsg\$(EHS_CMD_\w+)\(", syzkaller, flags=re.M)),
)
check(
    "syzkaller: each attribute is named once",
    sorted(
        upper(f"ehs-a-{s['name']}-", n)
        for s in spec["attribute-sets"]
        for n in names(s["attributes"])
    ),
    sorted(re.findall(r"\bnl(?:attr|nest)\[(EHS_A_\w+),", syzkaller)),
)
made = subprocess.run(
    [
        sys.executable,
        f"{TOP}/selftests/fuzz/netlink/grammar.py",
        "syzkaller",
        f"{TOP}/uapi/ehsched.yaml",
    ],
    check=True,
    capture_output=True,
    text=True,
).stdout
check(
    "syzkaller: the description is the generated one (make selftests/fuzz/ehsched.txt)",
    made,
    syzkaller,
)
done()
