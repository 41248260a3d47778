# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file of a directory needs a function or a variable of which other one, as its object says.

It sees what includes do not: a header that declares what several files define."""

import glob
import os
import subprocess
from collections import defaultdict

from includes import circles, CONF, Layers, room

# where the Makefile and kbuild have the objects of the tree
PLACES = ("", "stub", "kmod-*")
AT_ONCE = 500


class Calls:
    """The objects of a build whose source is in the tree, and what they need of each other."""

    def __init__(self, top, build):
        self.layers = Layers(top)
        # of several objects of a source that which was made last: make leaves the others as they
        # were
        last = {
            name: path
            for path, name in sorted(self.find(build), key=lambda found: os.path.getmtime(found[0]))
        }
        self.units = {
            path: name
            for name, path in last.items()
            if os.path.exists(os.path.join(top, f"{name}.c"))
        }
        self.has = defaultdict(dict)  # directory → name → unit
        needs = defaultdict(set)
        for name, kind, symbol in self.symbols():
            if kind in "Uvw":
                needs[name].add(symbol)
            else:
                self.has[room(name)][symbol] = name
        self.uses = defaultdict(dict)  # unit → unit → the first name that it needs of it
        for name, symbols in needs.items():
            for symbol in sorted(symbols):
                of = self.has[room(name)].get(symbol, name)
                if of != name:
                    self.uses[name].setdefault(of, symbol)

    def find(self, build):
        """All objects, with their source's name without .c."""
        directories = set(self.layers.order)
        for place in PLACES:
            for base in glob.glob(os.path.join(build, place)):
                for directory in directories:
                    for path in glob.glob(os.path.join(base, directory, "*.o")):
                        yield path, os.path.relpath(path, base)[:-2]

    def symbols(self):
        """(unit, kind, symbol) for each global symbol, see nm(1)."""
        paths = sorted(self.units)
        for i in range(0, len(paths), AT_ONCE):
            said = subprocess.run(
                ["nm", "-A", "-P", "-g", *paths[i : i + AT_ONCE]],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
            for line in said.splitlines():
                path, rest = line.split(": ", 1)
                symbol, kind = rest.split()[:2]
                yield self.units[path], kind, symbol

    def findings(self):
        """The circles, a line each, and directories that are said to have some."""
        found, seen = [], set()
        for circle in circles(self.uses):
            seen.add(room(circle[0]))
            if room(circle[0]) not in self.layers.calling:
                steps = (
                    f"{at} → {to} ({self.uses[at][to]})"
                    for at, to in zip(circle, circle[1:] + circle[:1])
                )
                found.append(f"{circle[0]}: circle of calls: {', '.join(steps)}")
        # of the module's there may be no objects
        built = {room(name) for name in self.units.values()}
        for name in self.layers.calling:
            if name in built - seen or name not in self.layers.above:
                found.append(f"{CONF}: {name} has no circle of calls")
        return found
