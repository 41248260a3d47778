#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl: wrong usage, help, no agent, and the programs that run and exec start."""

import json, os, re, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from replies import clean_error, ehctl, show, work
from tree import BUILD
from wait import WAIT

COMMANDS = [
    "status",
    "tree",
    "tasks",
    "why",
    "cancel",
    "run",
    "exec",
    "set",
    "get",
    "drain",
    "undrain",
    "owner",
    "watch",
    "doctor",
    "cert",
    "init",
    "invite",
    "join",
    "revoke",
    "leave",
    "reload",
    "history",
]

# ---- usage ----

r = ehctl()
ok(
    "no command is wrong usage",
    r.returncode == 2 and not r.stdout and b"usage" in r.stderr,
    show(r),
)
r = ehctl("frobnicate")
ok(
    "nor is an unknown one",
    r.returncode == 2 and not r.stdout and b"frobnicate" in r.stderr,
    show(r),
)
for word in "help", "--help", "version":
    r = ehctl(word)
    ok(word, r.returncode == 0 and r.stdout and not r.stderr, show(r))
r = ehctl("help")
ok("help lists all commands", all(f"\n  {c} " in r.stdout.decode() for c in COMMANDS), show(r))
for wrong, right in (
    ("stauts", "status"),
    ("undran", "undrain"),
    ("task", "tasks"),
    ("hlep", "help"),
    ("stat", "status"),
):
    r = ehctl(wrong)
    ok(
        f"{wrong}: {right} is suggested",
        r.returncode == 2 and not r.stdout and f"did you mean {right}?" in r.stderr.decode(),
        show(r),
    )
    r = ehctl("help", wrong)
    ok(
        f"help {wrong}: likewise",
        r.returncode == 2 and not r.stdout and f"did you mean {right}?" in r.stderr.decode(),
        show(r),
    )
for wrong in (
    ["help", "frobnicate"],
    ["help", "status", "tasks"],
    ["help", "--json"],
    ["--json", "help"],
    ["help", "status", "--json"],
    ["--jsn", "status"],
    ["--json"],
):
    r = ehctl(*wrong)
    ok(f"{' '.join(wrong)}: wrong usage", r.returncode == 2 and not r.stdout and r.stderr, show(r))
for words, right in (
    (["status", "--octl"], "--octal"),
    (["drain", "n1", "--resaon=x"], "--reason"),
    (["set", "treshold=3"], "threshold"),
    (["run", "--retyr", "--", "true"], "--retry"),
    (["exec", "--atuo", "--", "true"], "--auto"),
    (["tree", "--jsno"], "--json"),
):
    r = ehctl(*words)
    ok(
        f"{' '.join(words)}: {right} is suggested",
        clean_error(r, 2, words[0], f"did you mean {right}?"),
        show(r),
    )
for c in COMMANDS:
    r = ehctl("help", c)
    ok(
        f"help {c} is {c} --help",
        r.returncode == 0 and r.stdout and r.stdout == ehctl(c, "--help").stdout and not r.stderr,
        show(r),
    )
for words in (["version", "--json"], ["--json", "version"], ["--json", "--version"]):
    r = ehctl(*words)
    ok(f"{' '.join(words)}", r.returncode == 0 and json.loads(r.stdout)["ehctl"], show(r))
for c in COMMANDS:
    r = ehctl(c, "--help")
    ok(
        f"{c} --help",
        r.returncode == 0 and r.stdout.startswith(f"usage: ehctl {c} ".encode()) and not r.stderr,
        show(r),
    )
HELP = [c for c in re.findall(r"(?m)^  ([a-z]+) ", ehctl("help").stdout.decode()) if c != "help"]
for words in (
    [["help"]]
    + [[c, "--help"] for c in HELP]
    + [["plan", p, "--help"] for p in ("assign", "dag", "divide", "gang")]
):
    shown = subprocess.run(
        [f"{BUILD}/bin/ehctl", *words], capture_output=True, text=True, timeout=WAIT
    )
    ok(
        f"{' '.join(words)}: 80 columns will do",
        shown.returncode == 0
        and shown.stdout.startswith("usage: ehctl ")
        and max(map(len, shown.stdout.splitlines())) <= 80,
        shown.stdout,
    )
for wrong in (
    ["status", "extra"],
    ["status", "--octal", "x"],
    ["tree", "-x"],
    ["tasks", "7"],
    ["why"],
    ["why", "a", "b"],
    ["run"],
    ["run", "--"],
    ["run", "true"],
    ["run", "-n", "--", "true"],
    ["run", "--bad", "--", "true"],
    ["run", "--json", "--", "true"],
    ["exec"],
    ["exec", "0.1"],
    ["exec", "0.1", "--"],
    ["exec", "--", "true"],
    ["exec", "no de", "--", "true"],
    ["exec", "--node", "--", "true"],
    ["exec", "auto", "--", "true"],
    ["exec", "0.1", "0.2", "--", "true"],
    ["exec", "0.1" * 60, "--", "true"],
    ["exec", "--json", "0.1", "--", "true"],
    ["set"],
    ["set", "threshold"],
    ["set", "threshold="],
    ["set", "colour=red"],
    ["get", "colour"],
    ["get", "threshold=1"],
    ["get", "--all"],
    ["set", "dwell=1", "dwell=2"],
    ["set", b"load-index=\xff"],
    ["drain"],
    ["drain", "0.1", "0.2"],
    ["undrain"],
    ["owner", "mine"],
    ["owner", "on", "off"],
    ["owner", "off", "--now"],
    ["owner", "--now"],
    ["leave", "0.1"],
    ["leave", "--now", "x"],
    ["reload", "x"],
    ["watch", "x"],
    ["doctor", "x"],
    ["doctor", "--pairs", "x"],
    ["cert"],
    ["init"],
    ["join"],
    ["invite", "x"],
    ["invite", "--for", "1y"],
    ["revoke"],
    ["revoke", "a", "b"],
    ["revoke", "a", "--list"],
    ["revoke", "--host"],
    ["history", "x"],
    ["history", "-n"],
    ["history", "--since", "soon"],
    ["history", "--csv", "--json"],
    ["history", "--fialed"],
):
    r = ehctl(*wrong)
    name = " ".join(w if isinstance(w, str) else repr(w) for w in wrong)[:40]
    ok(f"wrong usage: {name}", clean_error(r, 2, wrong[0]), show(r))

# ---- no agent ----

for c in (
    ["status"],
    ["tree", "--json"],
    ["tasks"],
    ["why", "0.0:1"],
    ["set", "dwell=5"],
    ["get"],
    ["doctor", "--pairs"],
    ["drain", "0.1"],
    ["undrain", "0.1"],
    ["owner"],
    ["leave"],
    ["reload"],
    ["watch"],
    ["invite"],
    ["revoke", "n3"],
    ["revoke", "--list"],
    ["history"],
):
    r = ehctl(*c)
    ok(f"no agent: {c[0]} says what to do", clean_error(r, 1, c[0], "agent", "systemctl"), show(r))
r = ehctl("doctor")
ok(
    "no agent: doctor looks for itself",
    r.returncode == 1 and b"error   agent" in r.stdout and b"fix: " in r.stdout,
    show(r),
)
r = ehctl("doctor", "--json")
document = json.loads(r.stdout)
ok(
    "no agent: doctor --json",
    r.returncode == 1
    and document["version"] == 1
    and all(set(c) == {"name", "ok", "level", "what", "fix", "mend"} for c in document["checks"]),
    show(r),
)
r = ehctl("run", "--", "sh", "-c", "cat; exit 7", input=b"in\0put", stdin=None)
ok(
    "no agent: run runs it here, and warns",
    r.returncode == 7 and r.stdout == b"in\0put" and r.stderr.startswith(b"ehctl run: "),
    show(r),
)
r = ehctl("run", "--", "sh", "-c", "kill -TERM $$")
ok("it dies of the same signal", r.returncode == -signal.SIGTERM, show(r))

# ---- the programs run and exec start ----

for c in (["run"], ["exec", "0.1"]):
    r = ehctl(*c, "--", "no-such-program-here")
    ok(
        f"{c[0]}: not found is 127",
        r.returncode == 127 and not r.stdout and b"no-such-program-here" in r.stderr,
        show(r),
    )
    r = ehctl(*c, "--", "/etc/passwd")
    ok(
        f"{c[0]}: not executable is 126",
        r.returncode == 126 and b"/etc/passwd" in r.stderr,
        show(r),
    )
    r = ehctl(*c, "--", "/etc")
    ok(f"{c[0]}: a directory is 126", r.returncode == 126, show(r))
    r = ehctl(*c, "--", "/etc/passwd/x")
    ok(f"{c[0]}: below a file is 126 or 127", r.returncode in (126, 127), show(r))
    r = ehctl(*c, "--", "")
    ok(f"{c[0]}: an empty name is 127", r.returncode == 127, show(r))
os.mkdir(f"{work}/one")
os.mkdir(f"{work}/two")
for folder, bits in ("one", 0o644), ("two", 0o755):
    with open(f"{work}/{folder}/prog", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho found in two: $0 $1\n")
    os.chmod(f"{work}/{folder}/prog", bits)
path = {**os.environ, "PATH": f"{work}/one:{work}/two:/nonexistent"}
r = ehctl("run", "--", "prog", "x", env=path)
ok(
    "PATH is searched past what cannot run",
    r.stdout == f"found in two: {work}/two/prog x\n".encode(),
    show(r),
)
r = ehctl("exec", "0.12", "--", "prog", "--help", "--", "a b", "", env=path)
ok(
    "exec becomes the stub",
    r.returncode == 9
    and r.stdout.decode() == f"<@0.12><{work}/two/prog><prog><--help><--><a b><>\n",
    show(r),
)
r = ehctl("exec", "--auto", "--", "prog", "--json", env=path)
ok("exec --auto", r.stdout.decode() == f"<@auto><{work}/two/prog><prog><--json>\n", show(r))
r = ehctl("exec", "0.1", "--", "prog", env={**path, "PATH": ":"}, cwd=f"{work}/two")
ok(
    "an empty entry of PATH is the current directory",
    r.stdout.decode() == "<@0.1><./prog><prog>\n",
    show(r),
)
many = ["x" * 1000] * 1000
r = ehctl("exec", "0.1", "--", "/bin/true", *many)
ok("a million bytes of arguments", r.returncode == 9 and len(r.stdout) > 1000000)
os.unlink(f"{work}/ehstub")
r = ehctl("exec", "0.1", "--", "true")
ok("no stub installed", clean_error(r, 1, "exec", "ehstub"), show(r))

done()
