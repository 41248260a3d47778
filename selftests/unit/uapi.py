#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The header, lib/wire/reason.c and syzkaller's description say what uapi/ehsched.yaml says: names, order, numbers. Prints TAP."""
import os
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("1..0 # SKIP python3-yaml is not installed")
    sys.exit(77)

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
build = os.path.join(top, os.environ.get("EHS_BUILD", "build"))
with open(f"{top}/uapi/ehsched.yaml", encoding="utf-8") as f:
    spec = yaml.safe_load(f)
with open(f"{top}/uapi/linux/ehsched.h", encoding="utf-8") as f:
    header = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)

count = failed = 0


def check(name, want, got):
    """One result; a difference is shown."""
    global count, failed
    count += 1
    if want == got:
        print(f"ok {count} - {name}")
        return
    failed += 1
    print(f"not ok {count} - {name}\n#   yaml   {want}\n#   there  {got}")


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
listed = subprocess.run([f"{build}/selftests/unit/test_reason", "--list"], check=True,
                        capture_output=True, text=True).stdout.split()
check("names of lib/wire/reason.c", names(reason["entries"]), listed)

with open(f"{top}/selftests/fuzz/ehsched.txt", encoding="utf-8") as f:
    syzkaller = f.read()
check("syzkaller: each command can be sent", sorted(commands),
      sorted(re.findall(r"^sendmsg\$(EHS_CMD_\w+)\(", syzkaller, flags=re.M)))
check("syzkaller: each attribute is named once",
      sorted(upper(f"ehs-a-{s['name']}-", n) for s in spec["attribute-sets"] for n in names(s["attributes"])),
      sorted(re.findall(r"\bnl(?:attr|nest)\[(EHS_A_\w+),", syzkaller)))
made = subprocess.run([sys.executable, f"{top}/selftests/fuzz/netlink/grammar.py", "syzkaller", f"{top}/uapi/ehsched.yaml"],
                      check=True, capture_output=True, text=True).stdout
check("syzkaller: the description is the generated one (make selftests/fuzz/ehsched.txt)", made, syzkaller)
print(f"1..{count}")
sys.exit(failed > 0)
