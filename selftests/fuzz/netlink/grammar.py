#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""grammar.py c|syzkaller YAML: the netlink family as tables for the fuzzer (grammar.h), or as a
description for syzkaller."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kmod"))
from spec import attribute_set, limits, load, request, upper  # noqa: E402

# What a number stands for is not in its type: the fuzzer has live ones of these.
KINDS = {
    "cookie": "COOKIE",
    "pid": "PID",
    "stub": "PATH",
    "stub-fd": "STUB",
    "managed-cgroup-fd": "FD",
    "guest-cgroup-fd": "FD",
    "always-cgroup-fd": "FD",
    "program-fd": "STUB",
}


def kind(attr):
    return KINDS.get(attr["name"], "PLAIN")


def c(spec):
    """Attribute numbers count from 1, so that a table's entry 0 is empty."""
    out = ["/* Generated from uapi/ehsched.yaml by grammar.py. */", '#include "grammar.h"']
    sets = {s["name"]: i for i, s in enumerate(spec["attribute-sets"])}
    for attrs in spec["attribute-sets"]:
        out.append(f"\nstatic const struct attribute {attrs['name']}_attributes[] = {{\n\t{{}},")
        for a in attrs["attributes"]:
            has = limits(spec, a)
            nested = sets.get(a.get("nested-attributes"), -1)
            out.append(
                f'\t{{ "{a["name"]}", TYPE_{upper(a["type"])}, KIND_{kind(a)},'
                f' {has.get("min", 0)}u, {has.get("max", has.get("max-len", 0))}u, {nested} }},'
            )
        out.append("};")
    out.append("\nconst struct attribute_set sets[] = {")
    out += [f"\t{{ {s}_attributes, {len(attribute_set(spec, s)['attributes'])} }}," for s in sets]
    out.append("};\n\nconst struct command commands[] = {\n\t{},")
    for op in spec["operations"]["list"]:
        # the kernel's own messages have no set of their own, or none that anybody may send
        attrs = op.get("attribute-set") or "node"
        numbers = {a["name"]: i for i, a in enumerate(attribute_set(spec, attrs)["attributes"], 1)}
        takes = sum(1 << numbers[name] for name in request(op))
        out.append(
            f'\t{{ "{op["name"]}", {sets[attrs]}, {takes}u, {int("do" in op)},'
            f' {int("dump" in op)} }},'
        )
    out.append("};\nconst unsigned int nr_commands = sizeof(commands) / sizeof(*commands);")
    return "\n".join(out)


SYZ_HEAD = """# SPDX-License-Identifier: GPL-2.0-or-later
# For syzkaller, into its sys/linux/. Generated from uapi/ehsched.yaml by
# selftests/fuzz/netlink/grammar.py; a test compares the two. The constants are those of
# uapi/linux/ehsched.h (syz-extract takes them from there).

include <linux/net.h>
include <uapi/linux/netlink.h>
include <uapi/linux/genetlink.h>
include <uapi/linux/ehsched.h>

resource genl_ehsched_family_id[int16]

syz_genetlink_get_family_id$ehsched(name ptr[in, string["ehsched"]], fd sock_nl_generic) \
genl_ehsched_family_id

type msghdr_ehsched[CMD, POLICY] \
msghdr_netlink[netlink_msg_t[genl_ehsched_family_id, genlmsghdr_t[CMD], POLICY]]
"""


def syz_type(spec, a):
    if kind(a) == "FD":
        return "fd_dir"
    if kind(a) == "STUB":
        return "fd"
    if kind(a) == "PID":
        return "pid"
    if kind(a) == "PATH":
        return "filename"
    has = limits(spec, a)
    if a["type"] in ("u32", "u64"):
        plain = (1 << int(a["type"][1:])) - 1
        bounds = "" if (has["min"], has["max"]) == (0, plain) else f"[{has['min']}:{has['max']}]"
        return f"int{a['type'][1:]}{bounds}"
    if a["type"] == "string":
        return "string"
    if a["type"] == "nest":
        return f"array[ehsched_{a['nested-attributes']}_attr]"
    return "void"


def syz_attributes(spec, name, attrs):
    # the attributes that only the kernel sends are named too: it has to refuse them
    rows = []
    for a in attrs:
        macro = "nlnest" if a["type"] == "nest" else "nlattr"
        number = f"EHS_A_{upper(name)}_{upper(a['name'])}"
        rows.append(f"\t{a['name'].replace('-', '_')}\t{macro}[{number}, {syz_type(spec, a)}]")
    return f"ehsched_{name}_attr [\n" + "\n".join(rows) + "\n] [varlen]\n"


def syzkaller(spec):
    out = [SYZ_HEAD]
    for op in spec["operations"]["list"]:
        # node-ntf and place-request come from the kernel: to send them must be refused
        name, attrs = op["name"].replace("-", "_"), op.get("attribute-set") or "node"
        out.append(
            f"sendmsg$EHS_CMD_{upper(name)}(fd sock_nl_generic, msg ptr[in,"
            f" msghdr_ehsched[EHS_CMD_{upper(name)}, ehsched_{attrs}_attr]], f flags[send_flags])"
        )
    out.append("")
    out += [syz_attributes(spec, s["name"], s["attributes"]) for s in spec["attribute-sets"]]
    return "\n".join(out).rstrip("\n")


if len(sys.argv) != 3 or sys.argv[1] not in ("c", "syzkaller"):
    sys.exit(__doc__)
print({"c": c, "syzkaller": syzkaller}[sys.argv[1]](load(sys.argv[2])))
