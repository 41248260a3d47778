# SPDX-License-Identifier: GPL-2.0-or-later
"""Which test programs there are, and how each is started. A directory's Makefile lists its
programs; its file settings has `timeout` (seconds for one), `guest` (options of vm/cluster: they
run in one guest, or three) and `parallel` (they run beside each other)."""

import os
import subprocess
from dataclasses import dataclass, field

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
LONG = os.environ.get("EHS_LONG", "0") != "0"  # storms of full size
SLOW = int(os.environ.get("EHS_SLOW", 1))  # how many times as long things take
# what a program in a guest hears of this environment
PASSED_ON = "EHS_SEED", "EHS_ROUNDS", "EHS_LONG", "EHS_FUZZ_SECONDS", "EHS_COPY_MIB"
GUEST_SECONDS = 36000  # vm/cluster has a limit of its own


class Unknown(Exception):
    """There is no such test, or no such number."""


@dataclass
class Program:
    name: str  # kmod/40-verdict.sh
    limit: int  # seconds
    kind: str  # "serial", "parallel", "guest"
    seed: str = None  # of its random choices

    @property
    def directory(self):
        return self.name.split("/")[0]

    def argv(self):
        path = os.path.join("selftests", self.name)
        if not os.path.exists(os.path.join(TOP, path)):
            path = os.path.join(os.environ["EHS_BUILD"], path)
        return seeded(self) + [path]


@dataclass
class Guest:
    """Programs of a directory that run one after another in one guest, or three."""

    directory: str
    options: list
    programs: list = field(default_factory=list)
    limit: int = GUEST_SECONDS
    kind: str = "guest"

    @property
    def name(self):
        return f"{self.directory} (guest)"

    def argv(self):
        words = ["selftests/vm/cluster"]
        if kernel := os.environ.get("EHS_KERNEL"):
            words += ["--kernel", kernel]
        smp = os.environ.get("EHS_SMP")
        if LONG or smp:
            words.append("--at-once")
        words += self.options
        # the last one counts
        if smp:
            words += ["--smp", smp]
        if limit := os.environ.get("EHS_TIMEOUT"):
            words += ["--timeout", limit]
        words += ["--", "env", *(f"{v}={os.environ[v]}" for v in PASSED_ON if os.environ.get(v))]
        words += [os.path.join(TOP, "selftests/run"), "--here"]
        for p in self.programs:
            words += seeded(p)[1:] + [p.name]
        return words


def seeded(program):
    return ["env", f"EHS_SEED={program.seed}"] if program.seed else []


def setting(directory, name, default=""):
    try:
        with open(os.path.join(TOP, "selftests", directory, "settings")) as f:
            for line in f:
                if line.startswith(name + "="):
                    return line.rstrip("\n").split("=", 1)[1]
    except FileNotFoundError:
        pass
    return default


def make(directory, target):
    """The words that a target of a Makefile prints."""
    return subprocess.run(
        [
            "make",
            "-s",
            "--no-print-directory",
            "-C",
            os.path.join(TOP, "selftests", directory),
            target,
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()


def named(name):
    """The program of that name, as a guest is told it."""
    directory = name.split("/")[0]
    return Program(name, int(setting(directory, "timeout", 300)) * SLOW, "serial")


def choose(names):
    """[Program or Guest] of these names: a directory (kmod), or how a program's name begins
    (kmod/40)."""
    chosen, guests = [], {}
    for name in names or make(".", "targets"):
        directory = name.split("/")[0]
        if not os.path.exists(os.path.join(TOP, "selftests", directory, "Makefile")):
            raise Unknown(f"{name}: no directory of tests")
        # those that are not for every run have to be named
        listed = make(directory, "list") + (make(directory, "list-extended") if "/" in name else [])
        found = [named(f"{directory}/{n}") for n in listed if f"{directory}/{n}".startswith(name)]
        if not found:
            raise Unknown(f"{name}: no test has a name that begins so")
        options = setting(directory, "guest").split()
        kind = (
            "guest"
            if options
            else "parallel"
            if setting(directory, "parallel") == "yes"
            else "serial"
        )
        for p in found:
            p.kind = kind
            if any(p.name == other.name for other in chosen):
                continue
            if options and directory not in guests:
                guests[directory] = Guest(directory, options)
                chosen.append(guests[directory])
            (guests[directory].programs if options else chosen).append(p)
    return chosen
