# SPDX-License-Identifier: GPL-2.0-or-later
"""Argument lists, environments, names."""

import os
from suite import case, program, sh

ENV = {"PATH": "/usr/bin:/bin"}

program("none but argv[0]", "/bin/echo")
program(
    "words, spaces, none", "/usr/bin/printf", "<%s>\n", "one", "two words", "", " ", "\t", "a\nb"
)
program(
    "characters of the shell",
    "/usr/bin/printf",
    "%s\n",
    "$HOME",
    "`id`",
    "*",
    "a;b",
    "a|b",
    "'",
    '"',
    "\\",
    "-n",
    "--",
)
program("all bytes", "/usr/bin/printf", "%s", bytes(range(1, 256)))
program("options that look like the stub's", "/bin/echo", "--retry", "@0.1", "--", "-c")
program("another argv[0]", "another name", "args", path="probe")
program("argv[0] of a login shell", "-sh", "-c", "echo $0", path="/bin/sh")
program("an empty environment", "probe", "args", env={})
program(
    "values: empty, lines, all bytes",
    "probe",
    "args",
    env={**ENV, "EMPTY": "", "LINES": "a\nb\n", b"BYTES": bytes(range(1, 256)), b"\xff": b"\xfe"},
)
program("names that are none", "probe", "args", env={"a b": "1", "1": "2", "x-y": "3", "\t": "4"})
program("a thousand variables", "probe", "args", env={f"V{i}": "x" * (i % 50) for i in range(1000)})
program(
    "LD_LIBRARY_PATH stays",
    "probe",
    "args",
    env={**ENV, "LD_LIBRARY_PATH": "/usr/lib", "LD_BIND_NOW": "1"},
)
program("ten thousand arguments", "/usr/bin/printf", "%s\n", *map(str, range(10000)))
program("one argument of 128 KiB less one", "/usr/bin/printf", "%s", "x" * (128 * 1024 - 1))


@case("one argument of 128 KiB: E2BIG")
def too_long(s):
    task = s.start("/bin/echo", "x" * (128 * 1024), away=s.place.kind == "module")
    s.collect(task)
    task.wait()
    s.see("exec", task.error)


def total(size):
    """So many bytes of arguments and environment."""
    room = size - 4096
    words = ["x" * 100000] * (room // 200000)
    env = {f"V{i}": "y" * 100000 for i in range(room // 200000)}
    return words, env


for mib in 1, 2:

    @case(f"{mib} MiB of arguments and environment (of ARG_MAX)")
    def large(s, mib=mib):
        words, env = total(mib * 1024 * 1024 - 200000)
        s.run(
            "/usr/bin/python3",
            "-c",
            (
                "import os, sys; print(len(sys.argv), sum(map(len, sys.argv)), "
                "sum(len(k) + len(v) for k, v in os.environb.items() if k[:1] == b'V'))"
            ),
            *words,
            env={**env, "LC_ALL": "C"},
        )


@case("6 MiB of arguments, the most a kernel takes")
def most(s):
    import resource

    def stack():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))

    s.run("/usr/bin/wc", "--version", *["z" * 131000] * 44, before=stack)


@case("more than ARG_MAX: E2BIG")
def e2big(s):
    task = s.start("/bin/echo", *["z" * 131000] * 60, away=s.place.kind == "module")
    s.collect(task)
    task.wait()
    s.see("exec", task.error)


@case("file names with any byte")
def names(s):
    for b in bytes(range(1, 47)) + bytes(range(48, 256)):
        with open(os.path.join(os.fsencode(s.dir), b"n" + bytes([b]) + b"e"), "w") as f:
            f.write("x")
    s.sh('for f in n*; do printf \'%s\\n\' "$f" && cat "$f" >"$f.copy"; done')


@case("a directory whose name has spaces, an end of line and letters")
def odd_folder(s):
    path = os.path.join(os.fsencode(s.dir), " a\n\u00e4 folder".encode())
    os.mkdir(path)
    s.sh("pwd; echo here >file; ls -l | wc -l", before=lambda: os.chdir(path))


NOT_UTF8 = (
    "agents tell each other paths as UTF-8: a program or directory whose own path is not stays at"
    " home"
)
REFUSED = {field: NOT_UTF8 for field in ("end", "stdout", "stderr")}


@case(
    "a directory whose path is not UTF-8",
    known={"native": {**REFUSED, "files": NOT_UTF8}, "module": {}},
    stays="files-differ",
)
def byte_folder(s):
    path = os.path.join(os.fsencode(s.dir), b"\xff")
    os.mkdir(path)
    s.sh("pwd; echo here >file", before=lambda: os.chdir(path))


@case(
    "a program whose path is not UTF-8",
    known={"native": REFUSED, "module": {}},
    stays="files-differ",
)
def odd_program(s):
    path = os.path.join(os.fsencode(s.dir), b"prog \xfe\n*")
    with open("/bin/echo", "rb") as f, open(path, "wb") as out:
        out.write(f.read())
    os.chmod(path, 0o755)
    s.run(path, "it ran")


@case("a long path")
def long_path(s):
    at = s.dir
    while len(at) < 3500:
        at += "/" + "d" * 200
        os.mkdir(at)
    s.run("/bin/pwd", before=lambda: os.chdir(at))


@case("a program by a relative path")
def relative(s):
    os.mkdir(s.file("bin"))
    os.symlink("/bin/echo", s.file("bin/say"))
    s.run("bin/say", "said")


@case("a program by a link")
def by_link(s):
    os.symlink(s.probe, s.file("link"))
    s.run(s.file("link"), "args", env={})


sh("$$ is a process of the place it runs in", "kill -0 $$ && echo alive")
sh(
    "locale and time zone",
    "date -d @0; sort -c /dev/null; echo $LC_ALL",
    env={**ENV, "LC_ALL": "C", "TZ": "Asia/Tokyo"},
)
