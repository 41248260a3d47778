# SPDX-License-Identifier: GPL-2.0-or-later
"""Workflows for tests of `ehctl dag`: WfFormat with commands that check what they are given."""

import json, os, random

# A task fails if an output of a parent is missing, and its own output says who its ancestors are.
# It is written last, under its name in one step, and `ran` gets a line.
SCRIPT = """name=$1 seconds=$2; shift 2
for p; do [ -f $p.out ] || { echo "$name: $p is missing" >&2; exit 9; }; done
sleep $seconds
{ echo $name; cat /dev/null $(for p; do echo $p.out; done); } | cksum >$name.part
mv $name.part $name.out
echo $name >>ran"""


class Workflow:
    """Tasks in a directory: add() them, then write()."""

    def __init__(self, folder):
        self.folder, self.parents, self.seconds, self.script = folder, {}, {}, {}
        os.makedirs(folder, exist_ok=True)

    def add(self, name, parents=(), seconds=0.01, script=SCRIPT):
        self.parents[name], self.seconds[name], self.script[name] = list(parents), seconds, script

    def words(self, name):
        return [
            "-c",
            f"cd {self.folder} && {self.script[name]}",
            "sh",
            name,
            str(self.seconds[name]),
            *self.parents[name],
        ]

    def write(self, said=None):
        """`said`: seconds that the file says of each task; else what is true. Returns the path."""
        children = {name: [] for name in self.parents}
        for name, parents in self.parents.items():
            for p in parents:
                children[p].append(name)
        tasks = [
            {"id": n, "name": n, "parents": p, "children": children[n]}
            for n, p in self.parents.items()
        ]
        ran = [
            {
                "id": n,
                "runtimeInSeconds": self.seconds[n] if said is None else said,
                "command": {"program": "sh", "arguments": self.words(n)},
            }
            for n in self.parents
        ]
        path = os.path.join(self.folder, "flow.json")
        with open(path, "w") as f:
            json.dump(
                {
                    "name": "test",
                    "schemaVersion": "1.5",
                    "workflow": {
                        "specification": {"tasks": tasks},
                        "execution": {"makespanInSeconds": 0, "tasks": ran},
                    },
                },
                f,
            )
        return path

    def ran(self):
        """Names of tasks in the order of their ends, once for each run."""
        try:
            return open(os.path.join(self.folder, "ran")).read().split()
        except FileNotFoundError:
            return []

    def outputs(self):
        return {
            n: open(os.path.join(self.folder, f"{n}.out")).read()
            for n in self.parents
            if os.path.exists(os.path.join(self.folder, f"{n}.out"))
        }


def montage(folder, wide, seed, least=0.01, most=0.2):
    """The shape of Montage: projections, differences of neighbours, a fit of all, backgrounds, then
    a chain. 5 * wide + 4 tasks or so."""
    r = random.Random(seed)
    w = Workflow(folder)

    def seconds():
        return round(r.uniform(least, most), 3)

    for i in range(wide):
        w.add(f"project{i}", [], seconds())
    pairs = [(i, (i + d) % wide) for i in range(wide) for d in ((1, 2, 3) if wide > 6 else (1,))]
    for a, b in pairs:
        w.add(f"diff{a}-{b}", [f"project{a}", f"project{b}"], seconds())
    w.add("concat", [f"diff{a}-{b}" for a, b in pairs], seconds())
    w.add("model", ["concat"], seconds())
    for i in range(wide):
        w.add(f"background{i}", [f"project{i}", "model"], seconds())
    w.add("table", [f"background{i}" for i in range(wide)], seconds())
    w.add("add", ["table"], seconds())
    return w
