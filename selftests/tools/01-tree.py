#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of the tree: licence texts, MAINTAINERS, numbers of tests, links of the documents,
decisions."""
import os
import re
import sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip_all
from tree import run, TOP

listed = run("git", "-C", TOP, "ls-files", "-z")
if listed.returncode:
    skip_all("not a checkout of git: " + listed.stderr.decode().strip())
FILES = [
    f
    for f in listed.stdout.decode("utf-8", "surrogateescape").split("\0")
    if f and os.path.exists(f"{TOP}/{f}")
]


def text(name):
    """A file's text."""
    with open(f"{TOP}/{name}", encoding="utf-8", errors="replace") as f:
        return f.read()


# ---- licences

IDENTIFIER = re.compile(
    r"SPDX-License-Identifier: *(\(*[\w.+-]+\)*(?: (?:WITH|OR|AND) \(*[\w.+-]+\)*)*)"
)
# as the kernel's ynl writes it
OTHER_NAMES = {"GPL-2.0": "GPL-2.0-only"}
DATA = re.compile(
    r"selftests/(fuzz/corpus|unit/(golden|data))/|\.(md|svg|json|txt)$|"
    r"^\.(git|clang|editor)|^(LICENSES/|VERSION$|NEWS$|MAINTAINERS$)"
)


def licences(files, read):
    """Identifier → a file that has it, and files of code that have none."""
    found, without = {}, []
    for f in files:
        m = IDENTIFIER.search(read(f)[:1000])
        if m:
            for part in re.split(r" WITH | OR | AND ", re.sub(r"[()]", "", m[1])):
                found.setdefault(OTHER_NAMES.get(part, part), f)
        elif re.search(r"\.([ch]|py|sh|mk|t|[1-8])$", f) or read(f)[:2] == "#!":
            without.append(f)
    return found, without


used, bare = licences([f for f in FILES if not DATA.search(f)], text)
texts = {f.split("/")[1].removesuffix(".txt") for f in FILES if f.startswith("LICENSES/")}
ok("every file of code has an SPDX line", not bare, bare)
ok(
    "LICENSES has the text of each licence that is used, and no other",
    set(used) == texts,
    f"{used} {texts}",
)
ok(
    "a file without an SPDX line is found",
    (saw := licences(["a.c"], lambda f: "int x;\n")[1]) == ["a.c"],
    saw,
)
ok(
    "a licence without a text would be found",
    (saw := set(licences(["a.c"], lambda f: "// SPDX-License-Identifier: MIT\n")[0])) == {"MIT"},
    saw,
)
ok(
    "of a choice of licences, each is found",
    set(
        licences(["a.h"], lambda f: "/* SPDX-License-Identifier: ((GPL-2.0 WITH N) OR MIT) */\n")[0]
    )
    == {"GPL-2.0-only", "N", "MIT"},
)
for name in sorted(texts):
    body = text(f"LICENSES/{name}.txt")
    ok(
        f"LICENSES/{name}.txt is that text",
        ("syscall" in name and "normal system calls" in " ".join(body.split()))
        or (
            name.startswith("BSD-3")
            and "Redistribution and use" in body
            and "3. Neither the name" in body
        )
        or ("GNU GENERAL PUBLIC LICENSE" in body and "Version 2, June 1991" in body),
        body[:200],
    )

# ---- MAINTAINERS


def matches(pattern, name):
    """F: and X: as the kernel's get_maintainer.pl has them."""
    if pattern.endswith("/"):
        return re.match(re.escape(pattern).replace(r"\*", "[^/]*"), name) is not None
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), name) is not None


def parts(maintainers):
    """Name of a part → {letter: [values]}."""
    found, name = {}, None
    for line in maintainers.splitlines():
        if re.match(r"[A-Z][A-Z ,()]+$", line):
            name = line
            found[name] = {}
        elif name and (m := re.match(r"([A-Z]):\t(.+)", line)):
            found[name].setdefault(m[1], []).append(m[2])
    return found


def faults(maintainers, files):
    """What is wrong with MAINTAINERS."""
    wrong, covered = [], set()
    for name, part in parts(maintainers).items():
        for letter in "MSF":
            if letter not in part:
                wrong.append(f"{name}: no {letter}:")
        for pattern in part.get("F", []) + part.get("X", []):
            mine = {f for f in files if matches(pattern, f)}
            if not mine:
                wrong.append(f"{name}: nothing matches {pattern}")
            if name != "THE REST" and pattern in part["F"]:
                covered |= mine
        for document in " ".join(part.get("D", [])).split():
            if document not in files:
                wrong.append(f"{name}: {document} is not there")
    return wrong + [f"{f} belongs to no part" for f in files if f not in covered]


maintained = text("MAINTAINERS")
order = list(parts(maintained))
ok(
    "MAINTAINERS: each pattern matches, each file belongs to a part",
    not faults(maintained, FILES),
    "\n".join(faults(maintained, FILES)),
)
ok(
    "its parts are in the order of the alphabet, the rest last",
    order == sorted(order[:-1]) + ["THE REST"],
    order,
)
ok(
    "a pattern that matches nothing is found",
    any("nothing matches gone/" in f for f in faults(maintained + "F:\tgone/\n", FILES)),
)
ok(
    "a file that belongs to no part is found",
    (saw := faults(maintained, FILES + ["new/file.c"])) == ["new/file.c belongs to no part"],
    saw,
)
known = run("git", "-C", TOP, "log", "--format=%an <%ae>").stdout.decode().splitlines()
named = {m for part in parts(maintained).values() for m in part["M"]}
ok("it names nobody who has no commit", named <= set(known), named - set(known))

# ---- numbers of tests


def twice(files):
    """Numbers of tests that their directory has twice."""
    numbers = [m[1] for f in files if (m := re.match(r"(selftests/\w+/\d+)-[^/]+$", f))]
    return sorted({n for n in numbers if numbers.count(n) > 1})


ok("no directory has a number of a test twice", not twice(FILES), twice(FILES))
ok(
    "a number that is there twice is found",
    (saw := twice(FILES + ["selftests/agent/700-another.py"])) == ["selftests/agent/700"],
    saw,
)

# ---- documents


def broken(name, body):
    """Links of a document that lead nowhere in the tree."""
    body = re.sub(r"```.*?```|`[^`\n]*`", "", body, flags=re.S)
    there = [
        link.split("#")[0]
        for link in re.findall(r"\]\(([^)\s]+)\)", body)
        if not re.match(r"\w+:|#", link)
    ]
    return [
        link for link in there if not os.path.exists(os.path.join(TOP, os.path.dirname(name), link))
    ]


dead = [f"{f}: {link}" for f in FILES if f.endswith(".md") for link in broken(f, text(f))]
ok("links of all documents lead somewhere", not dead, "\n".join(dead))
ok(
    "a link that leads nowhere is found",
    (saw := broken("README.md", "[a](gone.md) [b](NEWS)")) == ["gone.md"],
    saw,
)

pages = sorted(f.split("/")[-1] for f in FILES if re.match(r"docs/decisions/\d{4}-", f))
index = re.findall(r"^\| \[(\d{4})\]\((\S+)\)", text("docs/decisions/README.md"), flags=re.M)
ok(
    "the index of decisions has each page once, in order",
    [p for _, p in index] == pages and pages,
    f"{index} {pages}",
)
ok(
    "their numbers are those of their headings",
    all(text(f"docs/decisions/{p}").startswith(f"# {n}: ") and p.startswith(n) for n, p in index),
)
template = re.findall(r"^## .*", text("docs/decisions/template.md"), flags=re.M)
unlike = [
    p for p in pages if re.findall(r"^## .*", text(f"docs/decisions/{p}"), flags=re.M) != template
]
ok("each page has the template's headings", not unlike, unlike)

done()
