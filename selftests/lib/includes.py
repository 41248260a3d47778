# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file of the tree includes which, and what selftests/lint/layers.conf allows.

A unit is what has one name: X.c and X.h of a directory. A unit uses another when one of its files
includes the other's header."""

import os
import re
from collections import defaultdict, deque

CONF = "selftests/lint/layers.conf"
PATHS = ("uapi", "lib", "helpers", "agent", "")  # -I, as in Makefile
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">\n]+)[">]', re.M)


def unit(path):
    """agent/home/record.c → agent/home/record"""
    return path.rsplit(".", 1)[0]


def room(path):
    """The directory of a file or unit."""
    return os.path.dirname(path)


def circles(uses):
    """A shortest circle of each unit that is on one, each circle once. `uses`: unit → units."""
    seen, found = set(), []
    for start in sorted(uses):
        way = way_back(uses, start)
        if way and not seen & set(way):
            found.append(way)
            seen |= set(way)
    return found


def way_back(uses, start):
    """A shortest way from a unit to itself, or nothing."""
    came, queue = {}, deque([start])
    while queue:
        at = queue.popleft()
        for to in sorted(uses.get(at, ())):
            if to == start:
                way = [at]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return way[::-1]
            if to not in came:
                came[to] = at
                queue.append(to)
    return None


class Layers:
    """layers.conf: `above` has of each directory all that it may include; `order` has them as they
    are written."""

    def __init__(self, top):
        self.order, self.above, self.direct, self.wrong = [], {}, {}, []
        self.calling = []  # directories with circles of calls
        with open(os.path.join(top, CONF), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.split("#")[0].strip()
                if not line:
                    continue
                left, colon, right = line.partition(":")
                if not colon:
                    self.wrong.append(f"{CONF}:{number}: no colon")
                    continue
                if left == "circles of calls":
                    self.calling += right.split()
                else:
                    self.add(left.split(), right.split(), f"{CONF}:{number}")

    def add(self, left, right, where):
        """One line."""
        allowed = set(right)
        for name in right:
            if name not in self.above:
                self.wrong.append(f"{where}: {name} has no line above this one")
            allowed |= self.above.get(name, set())
        for name in left:
            if name in self.above:
                self.wrong.append(f"{where}: {name} has a line already")
            self.order.append(name)
            self.direct[name] = right
            self.above[name] = allowed | {name}


class Tree:
    """The C files below the first directories that layers.conf names, and their includes."""

    def __init__(self, top):
        self.top = top
        self.layers = Layers(top)
        self.files = sorted(self.find())
        known = set(self.files)
        self.includes = []  # (file, line, included file)
        self.first = {}  # of each .c, the first file of the tree that it includes
        self.missing = []  # (file, line, name)
        for path in self.files:
            with open(os.path.join(top, path), encoding="utf-8") as f:
                text = f.read()
            for m in INCLUDE.finditer(text):
                line = text.count("\n", 0, m.start()) + 1
                near = (room(path),) if m[1] == '"' else ()
                tries = (os.path.normpath(os.path.join(d, m[2])) for d in near + PATHS)
                found = next((t for t in tries if t in known), None)
                self.first.setdefault(path, found)
                if found:
                    self.includes.append((path, line, found))
                elif m[1] == '"':
                    self.missing.append((path, line, m[2]))
        self.units = sorted({unit(f) for f in self.files})
        self.uses = defaultdict(set)
        for path, _, found in self.includes:
            if unit(path) != unit(found):
                self.uses[unit(path)].add(unit(found))

    def find(self):
        """All C files."""
        for first in sorted({name.split("/")[0] for name in self.layers.order}):
            for where, _, names in os.walk(os.path.join(self.top, first)):
                where = os.path.relpath(where, self.top)
                yield from (f"{where}/{name}" for name in names if name.endswith((".c", ".h")))

    def findings(self):
        """What breaks the rule, a line each."""
        above = self.layers.above
        found = list(self.layers.wrong)
        for name in sorted({room(f) for f in self.files} - set(above)):
            found.append(f"{name}: no line in {CONF}")
        for path, line, name in self.missing:
            found.append(f"{path}:{line}: {name} is not in the tree")
        for path, line, other in self.includes:
            if room(path) in above and room(other) not in above[room(path)]:
                found.append(f"{path}:{line}: upward: {room(path)} may not include {other}")
            elif other.endswith("_inside.h") and room(path) != room(other):
                found.append(f"{path}:{line}: {other} is for its own directory")
        for path in self.files:
            own = unit(path) + ".h"
            if path.endswith(".c") and own in self.files and self.first.get(path) != own:
                found.append(f"{path}: does not include {own} first")
        for circle in circles(self.uses):
            found.append(f"{circle[0]}: circle: {' → '.join(circle + circle[:1])}")
        return found
