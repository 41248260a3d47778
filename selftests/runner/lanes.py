# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs side by side: lanes, each a process that runs one after another."""

import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import time

import scene
from attempt import Attempt
from proc import send
from programs import Unknown

ENDED = re.compile(r"(not )?ok \d+ - (\S+) # ([\d.]+) s, ([\d.]+) s of processor time(?:: (.*))?$")
BEGUN = re.compile(r" {4}# Subtest: (\S+/\S+)$")
COMPLAINT = re.compile(r"(--- |cluster: )kernel log of guest")
SKIPPED = re.compile(r"ok \d+ - (\S+) # SKIP (.*)$")
LEAVING = 90  # seconds for a lane to end what it runs


class Lost(Exception):
    """A lane has ended before its work; says what it ran."""


class InGuest(Attempt):
    """One program's run in a guest, as the runner there tells it."""

    own_why = own_skip = None

    def why(self):
        return self.own_why

    def skipped(self):
        return self.own_skip


class OfGuest(Attempt):
    """The run of a guest: what its programs do is theirs."""

    excused = False  # one of them failed, and so did the command that it was told to run

    def why(self):
        """It has not carried all through, or its kernel has complained."""
        if self.complained():
            return "its kernel complained"
        if self.cut:
            return self.cut
        said = next((line for line in self.lines if line.startswith("cluster: ")), None)
        if self.status and (said or not self.excused):
            return said or f"exit status {self.status}"
        return f"left {self.left[0]}" if self.left else None

    def complained(self):
        return any(COMPLAINT.match(line) for line in self.lines)


def run_guest(guest, where, tell):
    """Runs it, and tells ("begins", program) and ("ends", program, attempt) of each of its
    programs, then of itself."""
    programs = {p.name: p for p in guest.programs}
    of_all = OfGuest(guest.name)
    now = None

    def take(line):
        nonlocal now
        if (m := BEGUN.match(line)) and m[1] in programs:
            now = InGuest(m[1])
            tell("begins", programs[m[1]])
        elif now and line.startswith("    "):
            now.take(line[4:])
        elif now and (
            (m := ENDED.match(line))
            and m[2] == now.name
            or (s := SKIPPED.match(line))
            and s[1] == now.name
        ):
            if m:
                now.status, now.took, now.busy, now.own_why = (
                    int(bool(m[1])),
                    float(m[3]),
                    float(m[4]),
                    m[5],
                )
            else:
                now.status, now.took, now.busy, now.own_skip = 0, 0.0, 0.0, s[2]
            of_all.excused |= now.failed() > 0
            tell("ends", programs.pop(now.name), now)
            now = None
        else:
            of_all.lines.append(line)

    of_all.run(guest, where, take=take)
    for p in programs.values():
        lost = now if now and now.name == p.name else InGuest(p.name)
        lost.status, lost.took, lost.busy = 1, 0.0, 0.0
        lost.own_why = (
            "the guest ended before it did" if lost is now else "the guest ended before it began"
        )
        tell("ends", p, lost)
    tell("ends", guest, of_all)


def run(what, where, tell):
    tell("begins", what)
    if what.kind == "guest":
        run_guest(what, where, tell)
    else:
        attempt = Attempt(what.name)
        attempt.run(what, where)
        tell("ends", what, attempt)


def count():
    """How many lanes. Guests compute, and tests of agents mostly wait: so there are two more than
    processors. Six at most: there are 128 inotify instances for all agents together
    (agent/cluster.py)."""
    given = os.environ.get("EHS_LANES") or str(min(len(os.sched_getaffinity(0)) + 2, 6))
    if not given.isdecimal():
        raise Unknown(f"EHS_LANES={given}: not a number of lanes")
    return int(given)


def orders(chosen):
    """For each lane the order in which it takes what no other has taken. Two have guests at most,
    for the memory; where processors are few the second only when it has nothing else: several
    emulated guests at once have each other's caches, take twice the time of a processor, and leave
    none to tests that count on some. Tests that are serial never meet each other."""
    if count() < 2:
        return [chosen]
    guests, serial, parallel = (
        [w for w in chosen if w.kind == kind] for kind in ("guest", "serial", "parallel")
    )
    second = (
        [*serial, *parallel, *guests]
        if len(os.sched_getaffinity(0)) < 4
        else [*serial, *guests, *parallel]
    )
    more = min(count() - 2, len(parallel))
    return [[*guests, *parallel], second, *([parallel] * more)]


class Claims:
    """What is taken by a lane, of so many."""

    def __init__(self, count):
        self.taken = multiprocessing.Array("b", count)

    def take(self, number):
        with self.taken:
            free = not self.taken[number]
            self.taken[number] = 1
        return free


def lane(chosen, order, claims, run_of, first, out):
    scene.begin()
    for number in order:
        if claims.take(number):
            run(chosen[number], scene.Scene(run_of, first + number), lambda *event: out.send(event))
    out.send(("over",))


def run_all(chosen, tell, one_by_one=False, first=0):
    """Runs all. Tells ("begins", what) and ("ends", what, attempt), and ("waits",) every second.
    Programs are numbered from `first` on. The lanes end with this process."""
    numbers = {id(what): number for number, what in enumerate(chosen)}
    claims = Claims(len(chosen))
    lanes, outs, now = [], [], {}
    try:
        for order in [chosen] if one_by_one else orders(chosen):
            out, into = multiprocessing.Pipe(duplex=False)
            lanes.append(
                multiprocessing.Process(
                    target=lane,
                    args=(
                        chosen,
                        [numbers[id(w)] for w in order],
                        claims,
                        os.getpid(),
                        first,
                        into,
                    ),
                )
            )
            lanes[-1].start()
            into.close()
            outs.append(out)
        while outs:
            ready = multiprocessing.connection.wait(outs, timeout=1)
            for out in ready:
                try:
                    event = out.recv()
                except (EOFError, ConnectionResetError):
                    raise Lost(now.get(out, "nothing")) from None
                if event[0] == "over":
                    outs.remove(out)
                else:
                    now[out] = event[1].name
                    tell(*event)
            if not ready:
                tell("waits")
    finally:
        for process in lanes:
            if outs:
                process.terminate()
                send(process.pid, signal.SIGCONT)
        until = time.monotonic() + LEAVING
        for process in lanes:
            process.join(max(0, until - time.monotonic()))
            process.kill()
