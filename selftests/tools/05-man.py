#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual pages: each command of ehctl has one, with the options of its help and no others; they
are well formed, and what they refer to is there."""

import glob, os, re, shutil, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from tree import BUILD, TOP, run

EHCTL = f"{BUILD}/bin/ehctl"
# pages of others; a word is added here when it has been looked up
OUTSIDE = {
    "execve(2)",
    "fnmatch(3)",
    "gnuplot(1)",
    "hostname(1)",
    "modprobe(8)",
    "passwd(5)",
    "ps(1)",
    "sh(1)",
    "ssh(1)",
    "ssh_config(5)",
    "systemd.socket(5)",
}
# options of all commands, which ehctl(1) has; a page has --json if the command's usage has it
OF_ALL = {"--help"}
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-zA-Z-]*")


def text(name):
    """A file of the tree."""
    with open(f"{TOP}/{name}", encoding="utf-8") as f:
        return f.read()


def plain(source):
    """Source of a page without fonts and escapes; a macro's words are one line."""
    source = (
        re.sub(r"\\f[BIRP]", "", source)
        .replace("\\-", "-")
        .replace("\\(dq", '"')
        .replace("\\(aq", "'")
        .replace("\\e", "\\")
    )

    def words(m):
        parts = re.findall(r'"((?:[^"]|"")*)"|(\S+)', m[2])
        return (" " if m[1] in ("B", "I") else "").join(a or b for a, b in parts)

    return re.sub(r"^\.(B|I|BR|RB|BI|IB|IR|RI) +(.*)$", words, source, flags=re.M)


def sections(name):
    """Heading → source of a page."""
    parts = re.split(r"^\.SH \"?(.*?)\"?$", text(f"tools/man/{name}"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def options_of_page(page):
    """Those of its synopsis, and of the tags that explain options. Each must be explained."""
    tags = "\n".join(re.findall(r"^\.TP\n(.*)$", page.get("OPTIONS", ""), flags=re.M))
    return set(OPTION.findall(plain(page["SYNOPSIS"]))), set(OPTION.findall(plain(tags)))


def options_of_help(command, *more):
    """Those that the help names, but of other commands."""
    said = run(EHCTL, *([command, *more, "--help"] if more else ["help", command])).stdout.decode()
    said = re.sub(r"`[^`]*`", "", said)
    return set(OPTION.findall(said))


# ---- one for each command ----

listed = dict(re.findall(r"^  ([a-z]+) +(.*)$", run(EHCTL, "help").stdout.decode(), flags=re.M))
pages = {os.path.basename(p) for p in glob.glob(f"{TOP}/tools/man/*.[1-8]")}
ok("ehctl lists its commands", len(listed) > 20, listed)
ok(
    "each command has a page",
    {f"ehctl-{c}.1" for c in listed} <= pages,
    {f"ehctl-{c}.1" for c in listed} - pages,
)
ok(
    "and each page is of a command",
    {p for p in pages if p.startswith("ehctl-")} <= {f"ehctl-{c}.1" for c in listed},
    {p for p in pages if p.startswith("ehctl-")} - {f"ehctl-{c}.1" for c in listed},
)
overview = dict(
    re.findall(
        r"^\.TP\n\.BR ehctl\\-([a-z]+) \(1\)\n(.*)\.$", text("tools/man/ehctl.1"), flags=re.M
    )
)
ok(
    "ehctl(1) lists them, with the words of ehctl help",
    overview == {c: h[0].upper() + h[1:] for c, h in listed.items()},
    set(overview.items()) ^ {(c, h[0].upper() + h[1:]) for c, h in listed.items()},
)

WANTED = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
known = {}  # command → its options
for c, says in listed.items():
    if f"ehctl-{c}.1" not in pages:
        continue
    page = sections(f"ehctl-{c}.1")
    ok(f"ehctl-{c}(1): its sections", [h for h in page if h in WANTED] == WANTED, list(page))
    ok(
        f"ehctl-{c}(1): its NAME is what ehctl help says",
        plain(page["NAME"]).strip() == f"ehctl-{c} - {says}",
        page["NAME"],
    )
    synopsis, tags = options_of_page(page)
    helped = set() if c == "help" else options_of_help(c) - OF_ALL
    if c == "plan":
        for planner in "assign", "gang", "divide", "dag":
            helped |= options_of_help(c, planner)
        helped -= OF_ALL
    ok(f"ehctl-{c}(1): has the options of the help", helped <= tags, helped - tags)
    ok(f"ehctl-{c}(1): and no others", synopsis | tags <= helped, (synopsis | tags) - helped)
    known[c] = tags | {"--json", "--help"}

# ---- the daemons ----

for name in "ehagent", "ehlaunch":
    r = run(f"{BUILD}/bin/{name}", "--help")
    said = r.stdout.decode() + r.stderr.decode()
    usage = set(OPTION.findall(said[said.index("usage:") :]))
    synopsis, tags = options_of_page(sections(f"{name}.8"))
    ok(
        f"{name}(8): has the options of its usage, and no others",
        usage and usage == synopsis == tags,
        (usage, synopsis, tags),
    )

# ---- examples ----


def foreign(page):
    """Commands and options of ehctl in examples that there are not."""
    wrong = []
    for line in re.findall(
        r"(?<!-)\behctl ([a-z]+\b.*)",
        plain(page.get("EXAMPLES", "")) + plain(page.get("GETTING STARTED", "")),
    ):
        mine = re.split(r" -- | [|>&#]| '", line)[0]
        words = mine.split()
        if words[0] not in known:
            wrong.append(line)
        else:
            wrong += [
                f"{line}: {o}"
                for o in OPTION.findall(" ".join(words[1:]))
                if o not in known[words[0]] and words[0] != "help"
            ]
    return wrong


for name in sorted(pages):
    wrong = foreign(sections(name))
    ok(f"{name}: examples use what there is", not wrong, wrong)
ok(
    "an example with a wrong option is found",
    foreign({"EXAMPLES": "ehctl status \\-\\-ocatl\n"}) and foreign({"EXAMPLES": "ehctl stauts\n"}),
)

# those that need no agent
for name in "sim", "plan":
    for line in plain(sections(f"ehctl-{name}.1")["EXAMPLES"]).replace("\n  ", " ").splitlines():
        if line.startswith("ehctl sim") or line.startswith("echo "):
            r = run("sh", "-c", line.replace("ehctl ", f"{EHCTL} "))
            ok(
                f"it works: {line}",
                r.returncode == 0 and r.stdout and not r.stderr,
                f"{r.returncode} {r.stderr.decode()}",
            )

# ---- what they refer to ----

REFERENCE = re.compile(r"(?<![\w./-])([a-z][a-z0-9_.-]*)\(([1-8])\)")


def dangling(said):
    """References to pages that there are not."""
    return {
        f"{n}({s})"
        for n, s in REFERENCE.findall(said)
        if f"{n}.{s}" not in pages and (n.startswith("eh") or f"{n}({s})" not in OUTSIDE)
    }


for name in sorted(pages):
    lost = dangling(re.sub(r'"? ?\((\d)\)', r"(\1)", plain(text(f"tools/man/{name}"))))
    ok(f"{name}: what it refers to is there", not lost, lost)
ok(
    "a reference to no page is found",
    (saw := dangling("see ehctl-frob(1) and frob(8)")) == {"ehctl-frob(1)", "frob(8)"},
    saw,
)
lost = {}
for pattern in (
    "tools/*/*.c",
    "helpers/*/*.c",
    "agent/*/*.c",
    "docs/*.md",
    "*.md",
    "packaging/**/*",
    "debian/*",
):
    for path in glob.glob(f"{TOP}/{pattern}", recursive=True):
        if os.path.isfile(path):
            name = os.path.relpath(path, TOP)
            gone = {r for r in dangling(text(name)) if r.startswith("eh")}
            if gone:
                lost[name] = gone
ok("so are those of programs and documents", not lost, lost)

# ---- their form ----

for name in sorted(pages):
    path = f"{TOP}/tools/man/{name}"
    if shutil.which("groff"):
        r = run("groff", "-ww", "-man", "-Tutf8", "-z", path)
        ok(f"{name}: groff has no warning", r.returncode == 0 and not r.stderr, r.stderr.decode())
    else:
        skip(f"{name}: groff has no warning", "groff is missing")
    if shutil.which("mandoc"):
        r = run("mandoc", "-Tlint", "-Wwarning", path)
        ok(
            f"{name}: mandoc has no warning",
            r.returncode == 0 and not r.stdout + r.stderr,
            (r.stdout + r.stderr).decode(),
        )
    else:
        skip(f"{name}: mandoc has no warning", "mandoc is missing")
done()
