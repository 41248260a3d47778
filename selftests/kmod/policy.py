#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""policy.py YAML HEADER: compares the netlink specification with the header and
with the family that runs (CTRL_CMD_GETFAMILY, CTRL_CMD_GETPOLICY). Prints each
difference; exit 1 if there is any."""
import os
import re
import socket
import struct
import sys

from spec import attribute_set, entries, limits, load, request, upper

NETLINK_GENERIC, GENL_ID_CTRL = 16, 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
GETFAMILY, GETPOLICY = 3, 10
DO, DUMP, UNS_ADMIN_PERM = 2, 4, 0x10
TYPES = {1: "flag", 4: "u32", 5: "u64", 12: "string", 13: "nest"}

differences = 0


def differ(text):
    global differences
    differences += 1
    print("# " + text)


def attributes(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3 :]


def number(data):
    return int.from_bytes(data, sys.byteorder)


def talk(command, flags, attrs):
    """Generator of the attributes of all answers of the generic-netlink controller."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.bind((0, 0))
    body = struct.pack("=BBH", command, 2, 0) + attrs
    sock.send(
        struct.pack("=IHHII", 16 + len(body), GENL_ID_CTRL, NLM_F_REQUEST | flags, 1, 0) + body
    )
    while True:
        data = sock.recv(65536)
        while data:
            length, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                error = struct.unpack_from("=i", data, 16)[0]
                if error:
                    sys.exit("controller: " + os.strerror(-error))
                return
            yield from attributes(data[20:length])
            data = data[(length + 3) & ~3 :]


def family(name):
    """Flags by command, and the names of the multicast groups."""
    name = name.encode() + b"\0"
    attr = struct.pack("=HH", 4 + len(name), 2) + name + b"\0" * (-len(name) % 4)
    commands, groups = {}, []
    for kind, data in talk(GETFAMILY, NLM_F_ACK, attr):
        if kind == 6:
            for _, op in attributes(data):
                op = dict(attributes(op))
                commands[number(op[1])] = number(op[2])
        elif kind == 7:
            groups += [dict(attributes(g))[1].rstrip(b"\0").decode() for _, g in attributes(data)]
    return commands, groups


def policies(name):
    """For each command and mode the attributes it takes, as {number: {field: value}}."""
    name = name.encode() + b"\0"
    attr = struct.pack("=HH", 4 + len(name), 2) + name + b"\0" * (-len(name) % 4)
    ops, tables = {}, {}
    for kind, data in talk(GETPOLICY, NLM_F_DUMP, attr):
        if kind == 9:
            for command, modes in attributes(data):
                ops[command] = {m: number(index) for m, index in attributes(modes)}
        elif kind == 8:
            for index, table in attributes(data):
                for at, fields in attributes(table):
                    tables.setdefault(index, {})[at] = {f: number(v) for f, v in attributes(fields)}
    return {c: [tables.get(i, {}) for i in modes.values()] for c, modes in ops.items()}


def found(fields):
    names = {4: "min", 5: "max", 7: "max-len"}
    have = {names[f]: v for f, v in fields.items() if f in names}
    have["type"] = TYPES.get(fields[1], fields[1])
    return have


def check_header(spec, text):
    enums = [
        re.findall(r"^\t(EHS_\w+)( = \d+)?,", e, re.M)
        for e in re.findall(r"enum [\w ]*\{(.*?)\};", text, re.S)
    ]
    enums = [[n for n, _ in e if not re.search(r"_MAX$", n)] for e in enums]

    def compare(what, names):
        if names not in enums:
            differ(f"header: {what}: no enum with exactly {' '.join(names)}")

    for definition in spec["definitions"]:
        if definition["type"] == "const":
            define = re.search(rf"#define EHS_{upper(definition['name'])}\s+(\d+)", text)
            if not define or int(define[1]) != definition["value"]:
                differ(f"header: constant {definition['name']}")
        else:
            compare(
                definition["name"],
                [upper(definition["name-prefix"] + e) for e in entries(definition)],
            )
    for attr_set in spec["attribute-sets"]:
        compare(
            attr_set["name"],
            [f"EHS_A_{upper(attr_set['name'])}_{upper(a['name'])}" for a in attr_set["attributes"]],
        )
    compare("operations", ["EHS_CMD_" + upper(o["name"]) for o in spec["operations"]["list"]])


def check_operation(spec, op, command, flags, running):
    if "notify" in op or "event" in op:
        if command in flags:
            differ(f"{op['name']}: is a message of the kernel, but can be called")
        return
    have = flags.get(command)
    if have is None:
        differ(f"{op['name']}: not in the running family")
        return
    for key, flag in (("do", DO), ("dump", DUMP)):
        if (key in op) != bool(have & flag):
            differ(f"{op['name']}: {key} in only one of specification and family")
    if ("uns-admin-perm" in op.get("flags", [])) != bool(have & UNS_ADMIN_PERM):
        differ(f"{op['name']}: rights differ")
    want = {
        i: limits(spec, a)
        for i, a in enumerate(attribute_set(spec, op["attribute-set"])["attributes"], 1)
        if a["name"] in request(op)
    }
    tables = running.get(command, [])
    if want and not tables:
        differ(f"{op['name']}: the running family shows no policy")
    for table in tables:
        have = {i: found(f) for i, f in table.items()}
        for i in sorted(set(want) | set(have)):
            if want.get(i) != have.get(i):
                differ(
                    f"{op['name']}: attribute {i}: specification {want.get(i)}, kernel"
                    f" {have.get(i)}"
                )


def main():
    spec = load(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        check_header(spec, file.read())
    flags, groups = family(spec["name"])
    running = policies(spec["name"])
    ops = spec["operations"]["list"]
    for command, op in enumerate(ops, 1):
        check_operation(spec, op, command, flags, running)
    for command in set(flags) - set(range(1, len(ops) + 1)):
        differ(f"operation {command} is not in the specification")
    if groups != [g["name"] for g in spec["mcast-groups"]["list"]]:
        differ(f"multicast groups {groups}")
    sys.exit(bool(differences))


main()
