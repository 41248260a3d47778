# SPDX-License-Identifier: GPL-2.0-or-later
"""What uapi/ehsched.yaml says, in numbers: for those who compare it or generate from it."""
import re

import yaml


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def upper(name):
    return name.upper().replace("-", "_")


def constant(spec, value):
    for definition in spec["definitions"]:
        if definition["name"] == value:
            return definition["value"]
    largest = re.fullmatch(r"([su])(\d+)-max", str(value))
    if largest:
        return (1 << int(largest[2]) - (largest[1] == "s")) - 1
    return value


def entries(definition):
    """Names of an enum's values."""
    return [e if isinstance(e, str) else e["name"] for e in definition["entries"]]


def limits(spec, attr):
    """Type and limits of an attribute, as the kernel's policy has to say them."""
    checks = {k: constant(spec, v) for k, v in attr.get("checks", {}).items()}
    for definition in spec["definitions"]:
        if definition["name"] == attr.get("enum"):
            checks["max"] = len(definition["entries"]) - 1
    want = {"type": attr["type"]}
    if attr["type"] in ("u32", "u64"):
        want["min"] = checks.get("min", 0)
        want["max"] = checks.get("max", (1 << int(attr["type"][1:])) - 1)
    if attr["type"] == "string" and "max-len" in checks:
        want["max-len"] = checks["max-len"]
    return want


def attribute_set(spec, name):
    return next(s for s in spec["attribute-sets"] if s["name"] == name)


def request(op):
    """Names of the attributes that a request of this operation may have."""
    return op.get("do", {}).get("request", {}).get("attributes", [])
