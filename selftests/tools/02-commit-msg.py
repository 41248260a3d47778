#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook .githooks/commit-msg, by itself and in a commit."""
import os
import shutil
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import run, TOP

HOOK = f"{TOP}/.githooks/commit-msg"
work = tempfile.mkdtemp()


def hook(message):
    """Exit status and complaints of the hook."""
    with open(f"{work}/message", "w", encoding="utf-8") as f:
        f.write(message)
    result = run(HOOK, f"{work}/message")
    return result.returncode, result.stderr.decode()


BODY = "\n\nIt was wrong before, and that was seen.\n"
for name, message in (
    ("a good one", "kmod/task: free the record" + BODY),
    (
        "comments, and the diff below the scissors",
        "# a hint\n\nkmod: free it"
        + BODY
        + "# "
        + "x" * 90
        + "\n# ------------------------ >8 ------------------------\n"
        + "y" * 200
        + "\n",
    ),
    ("a subject of 71 characters", "a: " + "b" * 68 + BODY),
    (
        "quoted output and links may be long",
        "a: b" + BODY + "    " + "q" * 90 + "\nhttps://example.org/" + "l" * 90 + "\n",
    ),
    ("a merge needs no body", "Merge branch 'x' into y\n"),
    ("nor has a fixup one", "fixup! kmod: free it\n"),
):
    ok(f"taken: {name}", hook(message) == (0, ""), hook(message))
for name, message, why in (
    ("nothing", "", "empty"),
    ("comments only", "# nothing\n", "empty"),
    ("a subject of 72 characters", "a: " + "b" * 69 + BODY, "72 characters"),
    ("no area", "free the record" + BODY, "area"),
    ("a period at its end", "kmod: free it." + BODY, "period"),
    ("no empty line", "kmod: free it\nIt was wrong before.\n", "not empty"),
    ("no body", "kmod: free it\n", "no body"),
    ("only a trailer as body", "kmod: free it\n\nSigned-off-by: A <a@example.org>\n", "no body"),
    ("a line of the body of 73 characters", "a: b\n\n" + "c" * 73 + "\n", "73 characters"),
):
    status, said = hook(message)
    ok(
        f"refused: {name}",
        status == 1 and why in said and said.startswith("commit-msg: "),
        f"{status} {said}",
    )

who = {
    **os.environ,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}
for v in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
    who.pop(v, None)
tree = f"{work}/tree"
run("git", "init", "-q", tree, env=who)
shutil.copytree(f"{TOP}/.githooks", f"{tree}/.githooks")
run("git", "-C", tree, "config", "core.hooksPath", ".githooks", env=who)


def commit(message, *more):
    """Whether git takes an empty commit with it."""
    return (
        run(
            "git", "-C", tree, "commit", "-q", "--allow-empty", "-m", message, *more, env=who
        ).returncode
        == 0
    )


ok("git asks it once it is switched on", not commit("no area") and commit("a: b" + BODY))
ok("--no-verify leaves it out", commit("no area", "--no-verify"))
shutil.rmtree(work)
done()
