#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What includes what (selftests/lint/layers), what calls what (selftests/lint/calls), and
docs/architecture.md: its drawings, and what it names."""
import os
import re
import shutil
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import BUILD, run, TOP

DOCUMENT = "docs/architecture.md"


def said(*command, **how):
    """What a program prints, and its status."""
    p = run(*command, **how)
    return (p.stdout + p.stderr).decode(), p.returncode


def text(name):
    """A file's text."""
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


# ---- the rule, on the tree and on a copy that breaks it

found, status = said(f"{TOP}/selftests/lint/run", "layers")
ok(
    "no include of the tree runs upward, no files include each other in a circle",
    status == 0,
    found,
)

with tempfile.TemporaryDirectory() as copy:
    for name in ("agent", "helpers", "kmod", "lib", "tools", "uapi", "selftests/lint", "docs"):
        shutil.copytree(f"{TOP}/{name}", f"{copy}/{name}", symlinks=True)
    shutil.copytree(f"{TOP}/selftests/lib", f"{copy}/selftests/lib")
    layers, before = f"{copy}/selftests/lint/layers", set()

    def finds(name, wanted, path, edit):
        """What the rule says of the copy with one file changed: one finding more, this one."""
        with open(f"{copy}/{path}", encoding="utf-8") as f:
            was = f.read()
        with open(f"{copy}/{path}", "w", encoding="utf-8") as f:
            f.write(edit(was))
        out, code = said(layers)
        with open(f"{copy}/{path}", "w", encoding="utf-8") as f:
            f.write(was)
        new = set(out.splitlines()) - before
        ok(name, code == 0 and len(new) == 1 and re.fullmatch(wanted, new.pop()), out)

    before = set(said(layers)[0].splitlines())
    finds(
        "an include that runs upward is found",
        r"agent/net/link\.c:\d+: upward: agent/net may not include agent/home/record\.h",
        "agent/net/link.c",
        lambda was: was + '#include "home/record.h"\n',
    )
    finds(
        "so is one of the library",
        r"lib/eh/seek\.c:\d+: upward: lib/eh may not include agent/base/log\.h",
        "lib/eh/seek.c",
        lambda was: was + '#include "base/log.h"\n',
    )
    finds(
        "a circle of files is found",
        r"agent/home/\w+: circle: agent/home/.*agent/home/record → agent/home/placement.*",
        "agent/home/record.c",
        lambda was: was + '#include "home/placement.h"\n',
    )
    finds(
        "a .c that does not include its own header first is found",
        r"agent/base/clock\.c: does not include agent/base/clock\.h first",
        "agent/base/clock.c",
        lambda was: "#include <stdio.h>\n" + was,
    )
    finds(
        "the inside of another directory is found",
        r"agent/ctl/doctor\.c:\d+: agent/net/h2_inside\.h is for its own directory",
        "agent/ctl/doctor.c",
        lambda was: was + '#include "net/h2_inside.h"\n',
    )
    finds(
        "a directory without a line is found",
        r"tools/ehsim: no line in selftests/lint/layers\.conf",
        "selftests/lint/layers.conf",
        lambda was: re.sub(r"tools/ehsim: .*\n", "", was),
    )

    # ---- the drawings

    out, status = said(f"{copy}/docs/draw", "check")
    ok("the drawings are of the tree as it is (make docs)", status == 0 and not out, out)
    with open(f"{copy}/agent/node/extra.h", "w", encoding="utf-8") as f:
        f.write("")
    out, status = said(f"{copy}/docs/draw", "check")
    ok("drawings of another tree are found", status == 1 and out.count("run make docs") == 2, out)

# ---- calls, in the tree and in a small one

found, status = said(f"{TOP}/selftests/lint/run", "calls", env={**os.environ, "EHS_BUILD": BUILD})
ok("no files of a directory call each other in a circle", status == 0, found)

SMALL = {
    "one": "int two(void);\nint one(void);\nint one(void) { return two(); }\n",
    "two": "int three;\nint two(void);\nint two(void) { return three; }\n",
    # there are calls of its own, and of what is not in the tree
    "three": (
        "#include <stdlib.h>\nvoid own(void);\nvoid own(void) { abort(); }\nvoid four(void) {"
        " own(); }\n"
    ),
}


def calls(small, **files):
    """What the rule says of a tree with these files in lib/, and its status."""
    for name, code in {**SMALL, **files}.items():
        with open(f"{small}/lib/{name}.c", "w", encoding="utf-8") as f:
            f.write(code)
        run(
            "gcc", "-c", "-o", f"{small}/build/lib/{name}.o", f"{small}/lib/{name}.c"
        ).check_returncode()
    return said(f"{TOP}/selftests/lint/calls", small, env={**os.environ, "EHS_BUILD": "build"})


with tempfile.TemporaryDirectory() as small:
    for name in ("lib", "build/lib", "selftests/lint"):
        os.makedirs(f"{small}/{name}")
    conf = f"{small}/selftests/lint/layers.conf"
    with open(conf, "w", encoding="utf-8") as f:
        f.write("lib:\n")
    out, status = said(
        f"{TOP}/selftests/lint/calls", small, env={**os.environ, "EHS_BUILD": "build"}
    )
    ok("without objects it has not looked", status == 1 and "no objects" in out, out)
    out, status = calls(small)
    ok("files that call one way are good", status == 0 and not out, out)
    wrong = {
        "three": (
            "int one(void);\nint three = 1;\nint call(void);\nint call(void) { return one(); }\n"
        ),
        "two": SMALL["two"].replace("int three;", "extern int three;"),
    }
    out, status = calls(small, **wrong)
    ok(
        "a circle is found, with a name of each step, also of a variable",
        status == 0
        and out == "lib/one: circle of calls: lib/one → lib/two (two), lib/two → lib/three (three),"
        " lib/three → lib/one (one)\n",
        out,
    )
    with open(conf, "a", encoding="utf-8") as f:
        f.write("circles of calls: lib\n")
    out, status = calls(small, **wrong)
    ok("in a directory that layers.conf names it may be there", status == 0 and not out, out)
    out, status = calls(small)
    ok(
        "and is to be there",
        status == 0 and out == "selftests/lint/layers.conf: lib has no circle of calls\n",
        out,
    )

# ---- what docs/architecture.md names


def names(document):
    """Paths and functions of a document, as they stand in backquotes."""
    words = re.findall(r"`([^`\n]+)`", document)
    roots = "|".join(
        sorted({f.split("/")[0] for f in os.listdir(TOP) if os.path.isdir(f"{TOP}/{f}")} - {".git"})
    )
    paths = {w for w in words if re.fullmatch(rf"({roots})/[\w./-]*", w)}
    return paths, {w[:-2] for w in words if re.fullmatch(r"[a-z]\w+\(\)", w)}


def code():
    """All words that the sources have before a parenthesis."""
    found = set()
    for first in ("agent", "helpers", "kmod", "lib", "tools"):
        for where, _, files in os.walk(f"{TOP}/{first}"):
            for f in files:
                if f.endswith((".c", ".h")):
                    found |= set(re.findall(r"\b(\w+)\(", text(os.path.join(where, f))))
    return found


def wrong(document):
    """Names of a document that the tree does not have."""
    paths, functions = names(document)
    # "`function()` (`file`": it is in that file
    pairs = re.findall(r"`(\w+)\(\)`\s+(?:in\s+|\()`([^`\n]+\.[ch])`", document)
    elsewhere = {
        f"{f} in {p}"
        for f, p in pairs
        if os.path.exists(f"{TOP}/{p}") and not re.search(rf"\b{f}\(", text(p))
    }
    return (
        sorted(p for p in paths if not os.path.exists(f"{TOP}/{p}"))
        + sorted(functions - code() - {"exec"})
        + sorted(elsewhere)
    )


architecture = text(DOCUMENT)
paths, functions = names(architecture)
ok(
    f"{DOCUMENT} names only what the tree has",
    not wrong(architecture) and len(paths) > 50 and len(functions) > 40,
    f"{wrong(architecture)}, {len(paths)} paths, {len(functions)} functions",
)
ok(
    "files and functions that are gone, and a function of another file, are found",
    wrong("`agent/gone.c` and `gone_away()`, `agent/main.c`, `node_set()` (`agent/main.c`)")
    == ["agent/gone.c", "gone_away", "node_set in agent/main.c"],
)
rooms = {f for f in os.listdir(f"{TOP}/agent") if os.path.isdir(f"{TOP}/agent/{f}")}
ok("it has a row for each room", all(f"\n| `agent/{r}/` |" in architecture for r in rooms), rooms)
done()
