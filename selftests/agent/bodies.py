# SPDX-License-Identifier: GPL-2.0-or-later
"""Bodies of requests between agents, as an honest member would send them."""

import os


def place(id, **more):
    """For POST /v1/reserve, or FRAME_START: `true` of this machine, in its root directory."""
    program, directory = os.stat("/bin/true"), os.stat("/")
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read().strip()
    return {
        "id": id,
        "command": "true",
        "path": os.path.realpath("/bin/true"),
        "uid": 0,
        "user": "root",
        "size": 1000,
        "program": {
            "boot_id": boot,
            "dev": program.st_dev,
            "ino": program.st_ino,
            "size": program.st_size,
            "digest": "x",
        },
        "cwd": {
            "path": "/",
            "boot_id": boot,
            "dev": directory.st_dev,
            "ino": directory.st_ino,
            "mode": directory.st_mode,
            "uid": 0,
            "gid": 0,
            "mtime": directory.st_mtime_ns,
            "ctime": directory.st_ctime_ns,
            "shared": False,
        },
        **more,
    }


def report(code, host):
    """For POST /v1/control: a node without load reports to the controller of level 1."""
    return {
        "type": "report",
        "level": 1,
        "load": 0,
        "threshold": 2000,
        "length": 1000,
        "floor": 1000,
        "capacity": 1000,
        "nodes": 1,
        "rule": {"epoch": 0, "load": 0, "capacity": 0},
        "best": [],
        "seen": [],
        "node": {"code": code, "host": host, "load": 0.0, "state": "receiver", "agent": "up"},
    }
