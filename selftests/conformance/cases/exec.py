# SPDX-License-Identifier: GPL-2.0-or-later
"""The exec itself: scripts, and its errors at the caller. With the module the caller must not see
any difference."""

import os
from suite import KERNEL, MODULE, case


def made(
    name,
    file,
    content,
    words=None,
    mode=0o755,
    known=None,
    where="everywhere",
    stays=None,
    before=None,
    **more,
):
    """A file of this content is executed."""

    @case(name, known=known, where=where, stays=stays)
    def play(s):
        path = s.write(
            file, content.replace("DIR", s.dir) if isinstance(content, str) else content, mode
        )
        s.run(
            words[0].replace("DIR", s.dir) if words else path,
            *(words or [file])[1:],
            path=path,
            before=before and (lambda: before(s)),
            **more,
        )


made("a script", "script", "#!/bin/sh\necho script $0 $1 $#\n", ["DIR/script", "one", "two"])
made("a script with an option", "script", "#!/bin/sh -e\nfalse\necho not reached\n")
made(
    "a script whose interpreter has options in one word",
    "script",
    "#!/usr/bin/env -S sh -c 'echo $0 $*'\n",
    ["DIR/script", "a"],
)
made(
    "a script of python",
    "script",
    "#!/usr/bin/python3\nimport sys\nprint(sys.argv)\n",
    ["DIR/script", "x y", ""],
)
made(
    "a script of awk",
    "script",
    "#!/usr/bin/awk -f\nBEGIN { print ARGC, ARGV[1] }\n",
    ["DIR/script", "z"],
)
made("a script with spaces behind #!", "script", "#!  \t /bin/sh\necho spaced\n")
made("a script without an end of line", "script", "#!/bin/echo")
made("argv[0] of a script is not kept", "script", "#!/bin/sh\necho $0\n", ["some other name"])
made(
    "a script that is read by its interpreter while it runs",
    "script",
    "#!/bin/sh\necho 'echo appended' >>$0\n",
)


@case("a script whose interpreter is a script")
def nested(s):
    s.write("inner", "#!/bin/sh\necho inner $0 $*\n", 0o755)
    s.run(s.write("outer", f"#!{s.file('inner')} option\nignored\n", 0o755), "word")


@case("a relative interpreter")
def relative(s):
    os.symlink("/bin/sh", s.file("sh"))
    s.run(s.write("script", "#!sh\necho relative\n", 0o755))


# natively the stub was executed already, whatever becomes of the program
ERROR = {
    "native": dict.fromkeys(
        ("exec", "end", "stderr"),
        "`ehctl exec` itself was executed: it tells the error as the node's",
    ),
    "module": {},
}


def failing(name, make, path, before=None, known=None, **more):
    @case(name, known=known or ERROR, **more)
    def play(s):
        make(s)
        s.run(
            s.file(path) if path else path, path=s.file(path), before=before and (lambda: before(s))
        )


def user(s):
    os.setgroups([])
    os.setresgid(2001, 2001, 2001)
    os.setresuid(2001, 2001, 2001)


failing("no such file: ENOENT", lambda s: None, "missing")
failing("a file as a directory: ENOTDIR", lambda s: s.write("file", "x"), "file/program")
failing(
    "no permission to execute: EACCES", lambda s: s.write("plain", "#!/bin/sh\n", 0o644), "plain"
)
failing(
    "no permission for this user: EACCES",
    lambda s: s.write("mine", "#!/bin/sh\n", 0o700),
    "mine",
    before=user,
)
failing("a directory: EACCES", lambda s: os.mkdir(s.file("folder")), "folder")
failing(
    "a directory that may not be searched: EACCES",
    lambda s: (os.mkdir(s.file("d"), 0o700), s.write("d/p", "#!/bin/sh\n", 0o755)),
    "d/p",
    before=user,
)
failing(
    "links in a circle: ELOOP",
    lambda s: (os.symlink("b", s.file("a")), os.symlink("a", s.file("b"))),
    "a",
)
failing(
    "a link that leads nowhere: ENOENT", lambda s: os.symlink("nowhere", s.file("link")), "link"
)
failing("a name of 300 bytes: ENAMETOOLONG", lambda s: None, "n" * 300)
failing("no format: ENOEXEC", lambda s: s.write("data", "no format\n", 0o755), "data", where=MODULE)
failing(
    "a text without #!: ENOEXEC",
    lambda s: s.write("text", "echo hello\n", 0o755),
    "text",
    where=MODULE,
)
failing("an empty file: ENOEXEC", lambda s: s.write("empty", b"", 0o755), "empty", where=MODULE)
failing(
    "a truncated program: ENOEXEC",
    lambda s: s.write("cut", b"\x7fELF\x02\x01\x01" + bytes(9), 0o755),
    "cut",
    where=MODULE,
)
failing(
    "a program of another machine: ENOEXEC",
    lambda s: s.write(
        "other", b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xf3\0" + bytes(200), 0o755
    ),
    "other",
    where=MODULE,
)
failing(
    "a script whose interpreter is missing: ENOENT",
    lambda s: s.write("s", "#!/no/such/interpreter\n", 0o755),
    "s",
)
failing(
    "a script whose interpreter may not be executed: EACCES",
    lambda s: s.write("s", "#!/etc/passwd\n", 0o755),
    "s",
)
failing("#! and nothing: ENOEXEC", lambda s: s.write("s", "#!\n", 0o755), "s", where=MODULE)


@case("a program that is open for writing: ETXTBSY", known=ERROR)
def busy(s):
    with open("/bin/true", "rb") as f:
        path = s.write("busy", f.read(), 0o755)
    with open(path, "r+b"):
        s.run(path)


DEEP = (
    "how deep interpreters go shows only when they are executed: the caller has become the stub by"
    " then"
)


@case(
    "scripts of scripts, too deep: ELOOP",
    stays="start-failed",
    known={**ERROR, "module": dict.fromkeys(("exec", "end", "stderr"), DEEP)},
)
def deep(s):
    s.write("s0", "#!/bin/sh\n", 0o755)
    for i in range(6):
        s.write(f"s{i + 1}", f"#!{s.file(f's{i}')}\n", 0o755)
    s.run(s.file("s6"))


@case("a program that set-user-id would change", stays=KERNEL, where=MODULE)
def setuid(s):
    with open("/bin/cat", "rb") as f:
        path = s.write("suid", f.read(), 0o755)
    os.chown(path, 2001, 2001)
    os.chmod(path, 0o4755)
    s.run(path, "/proc/self/status", stdout="null", before=lambda: os.setresuid(2002, 2002, 2002))


@case("after a failed exec the caller goes on as before", where=MODULE)
def goes_on(s):
    """A task at home in the session tries; its own standard streams, signals and directory are
    untouched."""
    text = (
        "import os, signal\nfor p in '/no/such', '/etc/passwd', '/etc':\n try: os.execv(p, [p])\n"
        " except OSError as e: print(p, e.errno, os.getcwd() != '/', signal.pthread_sigmask(0, []))"
    )
    s.run("/usr/bin/python3", "-c", text)
