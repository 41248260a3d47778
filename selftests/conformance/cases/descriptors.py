# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors above 2: what they are there, what goes through them, and files on any of them."""

import fcntl, os, socket
from suite import NATIVE, case

# In the virtual cluster files of the share are not known to be the same (9p has no server's name).
DIFFERS = "files-differ"


def at(*pairs):
    """Before the exec: each descriptor under its number."""

    def before():
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 300) for fd, _ in pairs]
        for fd, (_, number) in zip(high, pairs):
            os.dup2(fd, number)

    return before


def read_all(fd):
    data = b""
    while more := os.read(fd, 1 << 16):
        data += more
    os.close(fd)
    return data


@case("pipes under their numbers, and duplicates")
def pipes(s):
    r, w = os.pipe()
    back, out = os.pipe()
    os.write(w, b"first\nsecond\nthird\n")
    os.close(w)
    s.run(
        "/bin/bash",
        "-c",
        (
            "read a <&7; read b </dev/fd/63; cat /proc/self/fd/7; echo $a $b >&5; echo five"
            " >/dev/fd/5;echo six >&6; ls /proc/$$/fd"
        ),
        before=at((r, 7), (r, 63), (out, 5), (1, 6)),
    )
    os.close(r)
    os.close(out)
    s.see("five", read_all(back))


@case("thirty-two descriptors")
def many(s):
    ends = [os.pipe() for _ in range(32)]
    s.run(
        "/bin/bash",
        "-c",
        "for i in {3..34}; do echo $i >&$i; done",
        before=at(*((w, 3 + i) for i, (_, w) in enumerate(ends))),
    )
    for i, (r, w) in enumerate(ends):
        os.close(w)
        s.see(f"of {3 + i}", read_all(r))


@case("what is not read of a pipe is left to the next reader")
def rest(s):
    r, w = os.pipe()
    os.write(w, b"".join(b"line %d\n" % i for i in range(500)))
    os.close(w)
    for i in range(3):
        s.run(
            "/bin/sh",
            "-c",
            "read a <&8; read b <&8; echo $a $b",
            before=at((r, 8)),
            name=f"run {i}",
        )
    s.see("rest", read_all(r))


@case("a pipe that does not wait: EAGAIN")
def again(s):
    r, w = os.pipe()
    os.set_blocking(r, False)
    s.run(
        "/usr/bin/python3",
        "-c",
        (
            "import os, select\ntry: os.read(9, 1)\nexcept BlockingIOError as e:"
            " print(e.strerror)\nprint(os.get_blocking(9)); os.write(10, b'x'); select.select([9],"
            " [], []); print(os.read(9, 9))"
        ),
        before=at((r, 9), (w, 10)),
    )


@case("a socket in both directions")
def both(s):
    ours, theirs = socket.socketpair()
    task = s.start(
        "/bin/bash",
        "-c",
        "echo question >&4; read answer <&4; echo $answer; cat <&4; echo over >&4",
        before=at((theirs.fileno(), 4)),
    )
    theirs.close()
    with ours.makefile("rb", 0) as f:
        s.see("asked", f.readline())
        ours.sendall(b"answer\n" + b"more\n" * 1000)
        ours.shutdown(socket.SHUT_WR)
        s.see("rest", f.read())
    s.see("ends", (s.collect(task), task.wait()))


@case("a FIFO that is open for both")
def two_ways(s):
    os.mkfifo(s.file("fifo"))
    fd = os.open(s.file("fifo"), os.O_RDWR)
    os.write(fd, b"one\n")
    s.run(
        "/bin/sh",
        "-c",
        "read a <&3; echo two >&3; read b <&3; echo $a $b; echo three >&3",
        before=at((fd, 3)),
    )
    s.see("left", os.read(fd, 100))
    os.unlink(s.file("fifo"))


@case("devices of memory")
def devices(s):
    full, zero = os.open("/dev/full", os.O_WRONLY), os.open("/dev/zero", os.O_RDONLY)
    s.sh("echo x >&5; echo $?; head -c 9999 <&6 | cksum", before=at((full, 5), (zero, 6)))


@case("a reader of a process substitution that is not read to its end")
def half(s):
    r, w = os.pipe()
    writer = s.start("/usr/bin/yes", stdout=w, stderr="null", away=False)
    os.close(w)
    s.run("/usr/bin/head", "-n", "2", "/dev/fd/63", before=at((r, 63)))
    os.close(r)
    s.see("the writer", writer.wait())


# ---- files ----


@case("a log that is appended to", stays=DIFFERS)
def log(s):
    fd = os.open(s.write("log", b"old\n"), os.O_WRONLY | os.O_APPEND)
    s.sh("echo x >&5; echo y >&6; stat -Lc %s /proc/self/fd/5", before=at((fd, 5), (fd, 6)))
    s.see("offset", os.lseek(fd, 0, os.SEEK_CUR))


@case("a lock that a task takes for its parent", stays=DIFFERS)
def lock(s):
    fd, other = os.open(s.write("lock", b""), os.O_WRONLY), os.open(s.file("lock"), os.O_RDONLY)
    s.run("/usr/bin/flock", "9", before=at((fd, 9)))
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        s.see("locked", False)
    except BlockingIOError:
        s.see("locked", True)
    s.run("/usr/bin/flock", "-n", "9", before=at((other, 9)), name="another")


@case("a file that is sought and overwritten", stays=DIFFERS)
def sought(s):
    fd = os.open(s.write("in", b"0123456789"), os.O_RDONLY)
    os.lseek(fd, 3, os.SEEK_SET)
    s.run(
        "/usr/bin/python3",
        "-c",
        (
            "import os\nprint(os.lseek(7, 0, 1), os.read(7, 2), os.fstat(7).st_size); os.lseek(7,"
            " 9, 0)"
        ),
        before=at((fd, 7)),
    )
    s.see("offset", os.lseek(fd, 0, os.SEEK_CUR))


@case("grep of the file that it appends to", where=NATIVE)
def grep(s):
    fd = os.open(s.write("out", b"1\n2\n"), os.O_WRONLY | os.O_APPEND)
    s.run("/bin/grep", "1", s.file("out"), stdout=fd)
    s.see("content", s.content("out"))


@case("dd into the middle of its output", where=NATIVE)
def dd(s):
    s.write("out", b"0123456789")

    def before():
        fd = os.open(s.file("out"), os.O_RDWR)
        os.dup2(fd, 1)

    s.run("/bin/dd", "bs=1", "seek=4", "conv=notrunc", "status=none", data=b"xyz", before=before)


@case("a file without a name", where=NATIVE)
def unnamed(s):
    path = s.write("gone", b"here\n")
    fd = os.open(path, os.O_RDONLY)
    os.unlink(path)
    s.run("/bin/sh", "-c", "cat <&3", before=at((fd, 3)))
