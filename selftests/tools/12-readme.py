#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that README.md and CONTRIBUTING.md name: they are there, and install what they ask for.

None of them is run: make says what it would do (make -n), and starts no other make for it.
"""
import os
import re
import shlex
import shutil
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import run, TOP

OURS = re.compile(r"(\.ci|packaging|selftests|uapi|docs|tools)/[\w./-]+")


def text(name, top=TOP):
    """A file's text."""
    with open(f"{top}/{name}", encoding="utf-8") as f:
        return f.read()


# ---- what a document has people type


def blocks(document):
    """The blocks of commands of a document, each a list of lines without what explains them."""
    return [
        [re.sub(r"((^|\s+)# |\s{4,}).*", "", line) for line in block.splitlines()]
        for block in re.findall(r"^```\w*\n(.*?)^```", document, flags=re.S | re.M)
    ]


def typed(document):
    """All commands of a document: lines of its blocks, and what stands in backquotes.

    A path alone in backquotes is a name, not a command.
    """
    prose = re.sub(r"^```.*?^```", "", document, flags=re.S | re.M)
    spans = [" ".join(s.split()) for s in re.findall(r"`([^`]+)`", prose)]
    lines = [s for s in spans if " " in s or "/" not in s or s.startswith(".ci/")]
    return [c for line in lines + sum(blocks(document), []) for c in simple(line)]


def simple(line):
    """The simple commands of a line, as lists of words without what only says how to start them."""
    found = []
    for part in re.split(r"&&|\|\||[;|]", line):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and (
            words[0] in ("sudo", "exec", "set", "!", "do", "then", "{")
            or re.match(r"[A-Za-z_]\w*=", words[0])
        ):
            words = words[1:]
        if words:
            found.append(words)
    return found


def made(words):
    """Of a call of make: its directory, settings and targets."""
    where, settings, targets, rest = ".", [], [], iter(words[1:])
    for w in rest:
        if w == "-C":
            where = next(rest, ".")
        elif "=" in w:
            settings.append(w)
        elif not w.startswith("-") and re.fullmatch(r"[\w./-]+", w):
            targets.append(w)
    return where, settings, targets


# ---- whether it would work


class Look:
    """What a tree says about commands: `faults` are of those that would not work."""

    def __init__(self, top=TOP):
        self.top, self.faults, self._known, self._packages = top, [], {}, {}

    def make(self, where, *words):
        """make's answer; it starts no other make."""
        return run("make", "--no-print-directory", "-C", f"{self.top}/{where}", "MAKE=true", *words)

    def targets(self, where="."):
        """All targets of a directory."""
        if where not in self._known:
            database = self.make(where, "-pqR", "help").stdout.decode("utf-8", "replace")
            self._known[where] = set()
            for m in re.finditer(
                r"^(# Not a target:\n)?([^\s#:=%][^\s:=%]*):(?!=)", database, flags=re.M
            ):
                if not m[1]:
                    self._known[where].add(m[2])
        return self._known[where]

    def packages(self, *groups):
        """The packages of these groups: packaging/deps names all where it cannot ask dpkg."""
        if groups not in self._packages:
            p = run(
                "/bin/sh", f"{self.top}/packaging/deps", "-n", *groups, env={"PATH": "/nonexistent"}
            )
            said, named, needed = p.stderr.decode().partition("this is needed:")
            if p.returncode or not named:
                self.faults.append(said.strip())
            self._packages[groups] = set(needed.split())
        return self._packages[groups]

    def exists(self, words, where):
        """Whether a command is there: a target, a file that can be executed, a group."""
        if words[0] == "make":
            below, settings, targets = made(words)
            if os.path.isabs(below):
                return  # kbuild's
            if not os.path.isdir(f"{self.top}/{below}"):
                self.faults.append(f"{where}: {below} is no directory")
                return
            for t in set(targets) - self.targets(below):
                self.faults.append(f"{where}: make has no target {t}")
            names = [n for s in settings if s.startswith("T=") for n in s[2:].split()]
            p = run(f"{self.top}/selftests/run", "--list", *names) if names else None
            if p and p.returncode:
                self.faults.append(f"{where}: {p.stderr.decode().strip()}")
        elif OURS.fullmatch(words[0]):
            if not os.path.isfile(f"{self.top}/{words[0]}"):
                self.faults.append(f"{where}: {words[0]} is not there")
            elif not os.access(f"{self.top}/{words[0]}", os.X_OK):
                self.faults.append(f"{where}: {words[0]} is not executable")
            elif words[0] == "packaging/deps":
                self.packages(*[w for w in words[1:] if re.fullmatch(r"[a-z]+", w)])

    def steps(self, line, where, started=True):
        """What a line does about packages, in order: ("install" or "ask", groups).

        `started` is whether scripts of the tree and make are looked into, too.
        """
        found = []
        for words in simple(line):
            self.exists(words, where)
            if words[0] == "packaging/deps":
                groups = [w for w in words[1:] if re.fullmatch(r"[a-z]+", w)]
                found.append(("ask" if "-n" in words else "install", groups))
            elif words[0] == "make" and started:
                found += self.recipe(words, where)
            elif OURS.fullmatch(words[0]) and started and os.path.isfile(f"{self.top}/{words[0]}"):
                script = text(words[0], self.top)
                for inner in script.splitlines() if re.match(r"#!.*sh\b", script) else ():
                    if re.match(r"[^#]*\b(make|packaging/deps) ", inner):
                        found += self.steps(inner, f"{where}: {words[0]}")
        return found

    def recipe(self, words, where):
        """What a call of make would do."""
        below, settings, targets = made(words)
        if set(targets) - self.targets(below):
            return []
        p = self.make(below, "-n", *settings, *targets)
        if p.returncode:
            self.faults.append(f"{where}: make -n {' '.join(targets)}: {p.stderr.decode().strip()}")
        found = []
        for line in p.stdout.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
            line = re.sub(r"\btrue (?=--no-print-directory)", "make ", line)
            if re.match(r"(\w+=\S* )*(make|\.ci/|packaging/|selftests/)", line):
                found += self.steps(line, f"{where}: make {' '.join(targets)}", started=False)
        return found

    def line(self, line):
        """Whether a line works where no package is installed; its steps."""
        there, steps = set(), self.steps(line, line)
        for what, groups in steps:
            if what == "install":
                there |= self.packages(*groups)
            elif lacking := self.packages(*groups) - there:
                self.faults.append(
                    f"{line}: asks for {' '.join(groups)}, "
                    f"and has not installed {' '.join(sorted(lacking))}"
                )
        return steps


def ours(line):
    """Whether a line of a block starts something of the tree."""
    return any(w[0] == "make" or OURS.fullmatch(w[0]) for w in simple(line))


def attempt(readme):
    """The commands below "Try it"."""
    section = readme.partition("\n## Try it\n")[2].partition("\n## ")[0]
    return [line for line in blocks(section)[0] if line]


def tried(readme, top=TOP):
    """What is wrong with the commands below "Try it", each of which is to install what it needs."""
    look = Look(top)
    for line in attempt(readme):
        if not ours(line):
            look.faults.append(f"{line}: is nothing of this tree")
        elif not [s for s in look.line(line) if s[0] == "install"]:
            look.faults.append(f"{line}: installs nothing")
    return look.faults


def named(document, top=TOP):
    """What is wrong with all commands that a document names."""
    look = Look(top)
    for words in typed(document):
        look.exists(words, " ".join(words))
    return look.faults


# ---- the documents

readme = text("README.md")
ok("README has commands below Try it", len(attempt(readme)) > 1, attempt(readme))
for line in attempt(readme):
    faults = tried(f"\n## Try it\n```\n{line}\n```\n")
    ok(f"it works where only git, gcc and make are: {line}", not faults, "\n".join(faults))
look = Look()
for line in [line for block in blocks(readme) for line in block if ours(line)]:
    look.line(line)
ok(
    "README's other commands are there, and install what they ask for",
    not look.faults,
    "\n".join(look.faults),
)

look = Look()
check = look.line("make check")
ok("make check alone only asks", [s[0] for s in check] == ["ask"], check)
look = Look()
ci = look.line(".ci/run")
ok(
    ".ci/run installs what make check asks for, and calls it",
    not look.faults and check[0] in ci,
    f"{ci}\n" + "\n".join(look.faults),
)

DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "selftests/README.md",
    "selftests/vm/README.md",
    "docs/tour.md",
]
for name in DOCUMENTS:
    faults = named(text(name))
    ok(
        f"{name} names only targets, programs and packages that are there",
        not faults,
        "\n".join(faults),
    )
faults = named('`make check T="unit tools/gone"`')
ok(
    "a test that is not there is found",
    len(faults) == 1 and "tools/gone: no test" in faults[0],
    "\n".join(faults),
)
told = re.findall(r"^T:\t(.+)", text("MAINTAINERS"), flags=re.M)
faults = named("\n".join(f"`{t}`" for t in told))
ok("so does MAINTAINERS", told and not faults, "\n".join(faults))
look = Look()
help_text = look.make(".", "-s", "help").stdout.decode()
offered = re.findall(r"^  ([a-z][\w.-]*)(?:  |$)", help_text, flags=re.M)
ok(
    "make help offers only targets that are there",
    len(offered) > 20 and set(offered) <= look.targets(),
    f"{len(offered)}: {set(offered) - look.targets()}",
)

# ---- a copy of what is looked at, in which something is wrong

NEEDED = (
    "Makefile",
    "VERSION",
    "uapi/uapi.mk",
    "kmod/module.mk",
    "docs/docs.mk",
    "packaging/install.mk",
    "packaging/deps",
    "selftests/selftests.mk",
    "selftests/bench/bench.mk",
    "selftests/Makefile",
    "selftests/lib.mk",
    "selftests/run",
    "selftests/suites/run",
    "selftests/demo/announce",
    "selftests/demo/run",
    ".ci/run",
)

with tempfile.TemporaryDirectory() as copy:
    for name in NEEDED:
        os.makedirs(os.path.dirname(f"{copy}/{name}"), exist_ok=True)
        shutil.copy(f"{TOP}/{name}", f"{copy}/{name}")
    before = tried(readme, copy)
    ok("a copy is as good or bad", before == tried(readme), "\n".join(before))

    def finds(name, wanted, path=None, edit=None, document=readme):
        """What is said of the copy with one file changed, or of another README."""
        if path:
            was, mode = text(path, copy), os.stat(f"{copy}/{path}").st_mode
            if edit is None:
                os.chmod(f"{copy}/{path}", 0o644)
            else:
                with open(f"{copy}/{path}", "w", encoding="utf-8") as f:
                    f.write(edit(was))
        found = [fault for fault in tried(document, copy) if fault not in before]
        if path:
            with open(f"{copy}/{path}", "w", encoding="utf-8") as f:
                f.write(was)
            os.chmod(f"{copy}/{path}", mode)
        ok(name, found and all(re.search(wanted, f) for f in found), "\n".join(found))

    def with_line(line):
        """A README whose Try it has one line."""
        return f"# x\n\n## Try it\n\n```\n{line}   # said to work\n```\n"

    finds(
        "a target that is not there is found",
        r"make has no target check-gone",
        document=with_line("packaging/deps test && make check-gone"),
    )
    finds(
        "so is one that is gone",
        r"make has no target demo|make demo: installs",
        "Makefile",
        lambda was: re.sub(r"^demo:", "shown:", was, flags=re.M).replace(" demo bench", ""),
    )
    finds(
        "a program that is not there is found",
        r"\.ci/gone(: .*)? is not there|installs nothing",
        document=with_line(".ci/gone"),
    )
    finds("a program that is not executable is found", r"\.ci/run is not executable", ".ci/run")
    finds("so is one of a recipe", r"selftests/demo/run is not executable", "selftests/demo/run")
    finds(
        "a group that is not there is found",
        r"gone: no such group|has not installed",
        document=with_line("packaging/deps build gone && make check-suites"),
    )
    finds(
        "a command that does not install what it asks for is found",
        r"make check-suites: (asks for .*, and has not installed .*\bperl\b|installs nothing)",
        document=with_line("make check-suites"),
    )
    finds(
        "one that installs something else, too",
        r"has not installed .*\bqemu-system-x86\b",
        document=with_line("packaging/deps build page && make check-suites"),
    )
    finds(
        ".ci/run that installs too little is found",
        r"\.ci/run: asks for .*, and has not installed .*\bqemu-system-x86\b",
        ".ci/run",
        lambda was: re.sub(r"packaging/deps .*", "packaging/deps build", was),
    )
    finds(
        "so is make check that asks for more",
        r"\.ci/run: asks for .* page, and has not installed chromium",
        "Makefile",
        lambda was: re.sub(r"(?<=\ncheck:\n)(.*)", r"\1 page", was),
    )
    finds(
        "make demo that only asks is found",
        r"make demo: (asks for|installs nothing)",
        "Makefile",
        lambda was: was.replace("@packaging/deps build", "@packaging/deps -n build"),
    )
    for name, document, wanted in (
        ("a target in backquotes", "see `make gone`", "make has no target gone"),
        ("one of several", "`make SAN=1 tools gone`", "make has no target gone"),
        ("one of a block", "```\nsudo make gone   # x\n```\n", "make has no target gone"),
        ("a group in backquotes", "`packaging/deps build gone`", "gone: no such group"),
        (
            "a program in backquotes",
            "`selftests/gone/run --list`",
            "selftests/gone/run is not there",
        ),
    ):
        faults = named(document, copy)
        ok(
            f"a document's fault is found: {name}",
            len(faults) == 1 and wanted in faults[0],
            "\n".join(faults),
        )
    ok(
        "what is for others' makes is left alone",
        not named("`ehctl run -- make gone` `make -j8` `make CC=gcc`", copy),
    )
done()
