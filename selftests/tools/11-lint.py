#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The quick tools of lint (selftests/lint/run quick): no findings in the tree, and each finds."""
import os
import re
import shutil
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import run, TOP


def lint(top):
    """What each tool finds: name → lines; and the exit status of the whole."""
    p = run(f"{top}/selftests/lint/run", "quick")
    found, lines = {}, []
    for line in p.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith("  "):
            lines.append(line[2:])
        elif m := re.fullmatch(r"([a-z-]+): (\d+) findings", line):
            # a number that is not that of its lines is a finding, too
            found[m[1]] = lines if int(m[2]) == len(lines) else lines + [line]
            lines = []
    return found, p.returncode, (p.stdout + p.stderr).decode("utf-8", "replace")


# ---- the tree

TOOLS = ("layers", "format", "python", "codespell", "shellcheck")
found, status, said = lint(TOP)
ok("all of them were asked", tuple(found) == TOOLS, said)
for tool in TOOLS:
    lines = found.get(tool, ["was not asked"])
    ok(f"{tool} finds nothing", not lines, "\n".join(lines))
ok(
    "the exit status says whether there are findings",
    status == (1 if any(found.values()) else 0),
    f"{status}\n{said}",
)

# ---- a small tree, in which each has one finding

CLEAN = {
    "agent/base/good.c": '#include "base/good.h"\n\nint good(void)\n{\n\treturn 0;\n}\n',
    "agent/base/good.h": "int good(void);\n",
    "agent/home/late.h": "int late(void);\n",
    "kmod/made.c": "/* Do not edit directly, auto-generated from: */\nint  made ;\n",
    "selftests/good.sh": "# shellcheck shell=sh\necho good\n",
    "selftests/good": "#!/bin/sh\necho good\n",
    "selftests/good.h": "int good(void);\n",
    "selftests/good.py": "x = 1\n",
    "selftests/script": "#!/usr/bin/env python3\nx = 1\n",
    # no script of the shell
    "selftests/other": "#!/usr/bin/awk -f\n{ x = $1 }\n",
    "selftests/lint/layers.conf": "kmod:\nagent/base:\nagent/home: agent/base\n",
    "selftests/lint/ignore": "# none\n",
}
# in two parts: here it is none
WRONG = "t" + "eh"
FINDINGS = (
    (
        "layers",
        "an include that runs upward",
        "agent/base/good.c",
        '#include "home/late.h"\n',
        r"agent/base/good\.c:\d+: upward: agent/base may not include agent/home/late\.h",
    ),
    (
        "format",
        "a line that is not formatted",
        "agent/base/good.c",
        "\nint  two;\n",
        r"agent/base/good\.c:8: not formatted by \.clang-format: "
        r"clang-format-14 -i agent/base/good\.c",
    ),
    (
        "format",
        "one of a header",
        "agent/base/good.h",
        "int  two(void);\n",
        r"agent/base/good\.h:2: .*",
    ),
    (
        "format",
        "a function in a header of tests",
        "selftests/good.h",
        "\nint two(void)\n{\n\treturn 2;\n}\n",
        r"selftests/good\.h:4: a function in a header: its body belongs in a \.c file",
    ),
    (
        "python",
        "what black would write otherwise",
        "selftests/good.py",
        "y = 1;\n",
        r"selftests/good\.py:1: not formatted by pyproject\.toml: black selftests/good\.py",
    ),
    (
        "python",
        "a long line in a script known by its first line",
        "selftests/script",
        "# " + 99 * "y" + "\n",
        r"selftests/script:3: more than 100 columns",
    ),
    (
        "codespell",
        "a word",
        "selftests/words.md",
        f"{WRONG}\n",
        rf"\./selftests/words\.md:1: {WRONG} ==> .*",
    ),
    (
        "shellcheck",
        "a script with a name",
        "selftests/good.sh",
        "y=1\n",
        r"selftests/good\.sh:3:1: warning: y appears unused.*\[SC2034\]",
    ),
    (
        "shellcheck",
        "a script known by its first line",
        "selftests/good",
        "cd /srv\necho\n",
        r"selftests/good:3:1: warning: Use 'cd \.\.\. .*\[SC2164\]",
    ),
)


def write(top, name, text):
    """A file of the small tree."""
    os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
    with open(f"{top}/{name}", "w", encoding="utf-8") as f:
        f.write(text)


with tempfile.TemporaryDirectory() as small:
    os.makedirs(f"{small}/selftests/lib")
    os.makedirs(f"{small}/selftests/lint")
    for name in (
        ".clang-format",
        ".shellcheckrc",
        "pyproject.toml",
        "selftests/lib/includes.py",
        *(f"selftests/lint/{t}" for t in ("run", *TOOLS)),
    ):
        shutil.copy(f"{TOP}/{name}", f"{small}/{name}")
    for name, text in CLEAN.items():
        write(small, name, text)
    found, status, said = lint(small)
    ok("a small tree is clean", status == 0 and found == {t: [] for t in TOOLS}, said)

    for tool, what, name, more, wanted in FINDINGS:
        write(small, name, CLEAN.get(name, "") + more)
        found, status, said = lint(small)
        ok(
            f"{tool} finds {what}",
            status == 1 and len(found.get(tool, ())) == 1 and re.fullmatch(wanted, found[tool][0]),
            said,
        )
        ok(
            f"and no other tool does: {what}",
            not any(lines for other, lines in found.items() if other != tool),
            said,
        )
        if name in CLEAN:
            write(small, name, CLEAN[name])
        else:
            os.unlink(f"{small}/{name}")

    # one that cannot look says so, and is not counted as one that finds nothing
    write(small, ".clang-format", "BasedOnStyle: none of them\n")
    found, status, said = lint(small)
    ok(
        "a tool that could not look is a finding",
        status == 1
        and any("format failed: exit status" in line for line in found.get("format", ())),
        said,
    )
done()
