# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard input, output and error: what they are, what goes through them, in which order."""

import os, socket, tempfile
from scene import CLOSED, NULL, PIPE
from suite import MODULE, NATIVE, case, program, sh

TEXT = b"".join(b"line %d of the text\n" % i for i in range(3000))
BYTES = bytes(range(256)) * 999

sh("output and error apart", "echo out; echo err >&2; echo out again")
sh("no output", ":")
sh("output without an end of line", "printf 'no end'")
sh("zero bytes in it", r"printf 'a\0b\0\0'")
program("a pipe in and out, text", "/usr/bin/sort", "-r", data=TEXT)
program("a pipe in and out, all bytes", "/bin/cat", data=BYTES)
program("a megabyte each way", "/bin/cat", data=os.urandom(1) * (1 << 20))
sh(
    "output in one pipe with error: the order",
    "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done",
    stderr="stdout",
)
sh("an empty pipe as input", "cat; echo end", data=b"")
sh("input of one line, read twice", 'read a; read b; echo "$a/$b"', data=b"one\ntwo\nthree\n")
sh("/dev/null as input", "cat; echo $?", stdin=NULL)
sh("/dev/null as output", "echo unseen; echo seen >&2", stdout=NULL)
sh("closed input", "cat; echo $?", stdin=CLOSED)
sh("closed output", "echo lost || echo failed >&2", stdout=CLOSED)
sh("closed error", "echo lost >&2; echo $?", stderr=CLOSED)
sh(
    "all closed",
    "echo x >out-$?; cat >>log; ls /proc/self/fd >>list",
    stdin=CLOSED,
    stdout=CLOSED,
    stderr=CLOSED,
)
program(
    "what is open",
    "/usr/bin/python3",
    "-c",
    (
        "import os\nfor fd in range(3):\n try: os.fstat(fd); os.write(1, b'%d open\\n' % fd)\n"
        " except OSError: os.write(1, b'%d closed\\n' % fd)"
    ),
    stdin=CLOSED,
    stderr=CLOSED,
)


def with_file(
    name, flags, script, known=None, content=b"0123456789", before=b"", after=b"", at=None
):
    """Standard output into a file that the parent has opened, and writes to before and after."""

    @case(name, known=known)
    def play(s):
        path = s.write("out", content)
        fd = os.open(path, flags)
        if at is not None:
            os.lseek(fd, at, os.SEEK_SET)
        if before:
            os.write(fd, before)
        s.sh(script, stdout=fd)
        s.see("offset", os.lseek(fd, 0, os.SEEK_CUR))
        if after:
            os.write(fd, after)
        os.close(fd)


W = os.O_WRONLY
with_file("output into a file", W | os.O_TRUNC, "echo written")
with_file("output over a file", W, "printf abc")
with_file("output appended to a file", W | os.O_APPEND, "echo more; echo still more")
with_file("output from the middle of a file", W, "printf xyz", at=4)
with_file("output beyond the end: a hole", W, "printf end", at=100000)
with_file(
    "the offset is shared with the parent",
    W | os.O_TRUNC,
    "printf middle",
    before=b"first ",
    after=b" last",
)
with_file("a file for reading as output", os.O_RDONLY, "echo x; echo status $? >&2")
with_file(
    "sparse output by seeking",
    W | os.O_TRUNC,
    (
        'exec python3 -c "import os,sys\ntry: os.lseek(1, 5000, 0)\nexcept OSError as e:'
        " sys.stderr.write(e.strerror)\nos.write(1, b'x')\""
    ),
    known={
        "stderr": "standard output is a pipe there: it cannot be sought",
        "files": "standard output is a pipe there: it cannot be sought",
        "offset": "standard output is a pipe there: it cannot be sought",
    },
)


@case("two writers append to one file")
def two_append(s):
    fd = os.open(s.write("out", b""), W | os.O_APPEND)
    tasks = [
        s.start("/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9; do echo {n} $i; done", stdout=fd)
        for n in "ab"
    ]
    s.see("ends", [(s.collect(t)[1], t.wait()) for t in tasks])
    lines = s.content("out").splitlines()
    os.unlink(s.file("out"))
    s.see("of a", [line for line in lines if line[:1] == b"a"])
    s.see("of b", [line for line in lines if line[:1] == b"b"])
    s.see("lines", len(lines))


@case("two writers share an offset: nothing is overwritten")
def two_offset(s):
    fd = os.open(s.write("out", b""), W)
    tasks = [
        s.start("/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9; do echo {n} $i; done", stdout=fd)
        for n in "ab"
    ]
    for t in tasks:
        s.collect(t)
        t.wait()
    s.see("lines", sorted(s.content("out").splitlines()))
    os.unlink(s.file("out"))


@case("standard output and error are one file")
def one_file(s):
    fd = os.open(s.write("out", b""), W)
    s.sh("echo a; echo b >&2; echo c; echo d >&2", stdout=fd, stderr=fd)


@case("the shell's own list: each command goes on where the last ended")
def in_turn(s):
    fd = os.open(s.write("out", b""), W)
    for word in "one", "two", "three":
        s.run("/bin/echo", word, stdout=fd, name=word)


def from_file(name, script, known=None, at=0, times=1):
    @case(name, known=known)
    def play(s):
        fd = os.open(s.write("in", b"".join(b"line %d\n" % i for i in range(20000))), os.O_RDONLY)
        os.lseek(fd, at, os.SEEK_SET)
        for i in range(times):
            s.run("/bin/sh", "-c", script, stdin=fd, name=f"run {i}")
            s.see(f"offset {i}", os.lseek(fd, 0, os.SEEK_CUR))


from_file("input from a file", "cksum")
from_file("input from the middle of a file", "cksum", at=70001)
from_file("a file at its end", "cat; echo end", at=10**7)
from_file("what is not read of a file is left for the next", "read a; read b; echo $a $b", times=4)
from_file("nothing is read of a file", ":", times=2)
from_file(
    "the size of a file that is standard input",
    "wc",
    known={
        NATIVE: {},
        MODULE: {
            "run 0: stdout": (
                "a file that is not the same there is a pipe: wc does not know how wide numbers are"
            )
        },
    },
)
from_file(
    "a file, read by sed, then by the next",
    "sed 2q",
    times=2,
    known={
        NATIVE: {},
        MODULE: {
            field: "a file that is not the same there is a pipe: what sed has read ahead is gone"
            for field in ("offset 0", "offset 1", "run 1: stdout")
        },
    },
)
from_file("a file, read by head, then by the next", "dd bs=7 count=3 status=none", times=3)


def left_over(
    name, script, socket_too=True, content=b"".join(b"line %d\n" % i for i in range(500000))
):
    """A task reads a part of a pipe or socket: the next reader finds the rest."""

    def play(s, r, w):
        s.write("content", content)
        writer = s.start("/bin/sh", "-c", "cat content; :", stdout=w, away=False)
        os.close(w)
        s.run("/bin/sh", "-c", script, stdin=r)
        rest = b""
        while more := os.read(r, 1 << 16):
            rest += more
        os.close(r)
        s.see("the rest", rest)
        s.collect(writer)
        s.see("the writer", writer.wait())

    @case(name + " (pipe)")
    def of_pipe(s):
        play(s, *os.pipe())

    @case(name + " (socket)")
    def of_socket(s):
        r, w = socket.socketpair()
        play(s, r.detach(), w.detach())


left_over("two lines are read, the rest is the next one's", "read a; read b; echo $a $b")
left_over(
    "three hundred lines are read byte by byte",
    "i=0; while [ $i -lt 300 ] && read a; do i=$((i + 1)); done; echo $a",
)
left_over("much is read, the rest is the next one's", "head -c 2000000 | cksum")
left_over("nothing is read", ":")


@case("a program that only polls without waiting")
def only_polls(s):
    task = s.start(
        "/usr/bin/python3",
        "-c",
        (
            "import os, select, time\np = select.poll()\np.register(0, select.POLLIN)\n"
            "while not p.poll(0): time.sleep(0.01)\nos.write(1, os.read(0, 99))"
        ),
        stdin=PIPE,
    )
    os.write(task.stdin, b"word")
    s.see("read", os.read(task.stdout, 99))
    s.collect(task)
    s.see("end", task.wait())


@case("a socket as input and output")
def sock(s):
    ours, theirs = socket.socketpair()
    task = s.start("/usr/bin/tr", "a-z", "A-Z", stdin=theirs.fileno(), stdout=theirs.fileno())
    theirs.close()
    ours.sendall(b"over a socket\n" * 2000)
    ours.shutdown(socket.SHUT_WR)
    got = b""
    while more := ours.recv(65536):
        got += more
    s.see("back", got)
    s.see("stderr", s.collect(task)[1])
    s.see("end", task.wait())


@case("an unnamed file as input")
def unnamed(s):
    with tempfile.TemporaryFile(dir=s.dir) as f:
        f.write(b"of a file without a name\n")
        f.flush()
        f.seek(0)
        s.run("/bin/cat", stdin=f.fileno())


@case("a named pipe as input")
def fifo(s):
    os.mkfifo(s.file("fifo"))
    both = os.open(s.file("fifo"), os.O_RDWR)
    reading = os.open(s.file("fifo"), os.O_RDONLY)
    os.write(both, b"through a named pipe\n")
    os.close(both)
    s.run("/bin/cat", stdin=reading)


@case("/dev/full as output")
def full(s):
    fd = os.open("/dev/full", W)
    s.run("/bin/echo", "lost", stdout=fd)


@case("/dev/zero as input")
def zero(s):
    fd = os.open("/dev/zero", os.O_RDONLY)
    s.run("/usr/bin/head", "-c", "100000", stdin=fd)


@case(
    "a directory as input",
    known={
        NATIVE: {},
        MODULE: {
            field: "a directory that is not the same there is at its end there, not EISDIR"
            for field in ("stdout", "stderr", "cat: stderr", "cat: end")
        },
    },
)
def folder(s):
    fd = os.open(s.dir, os.O_RDONLY)
    s.sh("cat; echo $?", stdin=fd)
    s.run("/bin/cat", stdin=fd, name="cat")


@case("output that nobody reads any more: SIGPIPE")
def sigpipe(s):
    task = s.start("/usr/bin/yes", stderr=NULL)
    s.see("first", os.read(task.stdout, 2))
    task.close()
    s.see("end", task.wait())


@case("SIGPIPE ignored: EPIPE")
def epipe(s):
    import signal

    task = s.start(
        "/bin/sh",
        "-c",
        "while echo y; do :; done 2>/dev/null; echo stopped >&2",
        ignore=(signal.SIGPIPE,),
    )
    os.read(task.stdout, 2)
    os.close(task.stdout)
    task.stdout = None
    s.see("stderr", s.collect(task)[1])
    s.see("end", task.wait())


@case("a task that closes its input: the writer gets EPIPE")
def closes_input(s):
    task = s.start("/bin/sh", "-c", "exec <&-; echo closed; exec sleep 30", stdin=PIPE)
    os.read(task.stdout, 7)
    import signal

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        for _ in range(1 << 20):
            os.write(task.stdin, b"x" * 4096)
        s.see("writer", "never refused")
    except BrokenPipeError:
        s.see("writer", "EPIPE")
    task.kill(9)
    s.see("end", task.wait())


@case("a task that closes its output: the reader sees the end at once")
def closes_output(s):
    task = s.start("/bin/sh", "-c", "echo last; exec >&-; read wait; exit 4", stdin=PIPE)
    got = b""
    while more := os.read(task.stdout, 100):
        got += more
    s.see("read", got)
    os.write(task.stdin, b"\n")
    s.see("end", task.wait())


@case("output comes while the task runs")
def live(s):
    task = s.start(
        "/bin/sh", "-c", "echo prompt; read a; echo got $a; read b; echo got $b", stdin=PIPE
    )
    for word in b"one", b"two":
        s.see(word.decode(), os.read(task.stdout, 100))
        os.write(task.stdin, word + b"\n")
    s.see("rest", s.collect(task)[0])
    s.see("end", task.wait())


@case("one line at a time is one read there")
def lines(s):
    task = s.start(
        "/usr/bin/python3",
        "-u",
        "-c",
        "import os\nwhile d := os.read(0, 99): os.write(1, b'%d\\n' % len(d))",
        stdin=PIPE,
    )
    for word in b"a\n", b"bcd\n", b"ef\n":
        os.write(task.stdin, word)
        s.see(word.decode(), os.read(task.stdout, 100))
    s.collect(task)
    s.see("end", task.wait())


@case("a pipe that nobody reads is full at its size")
def room(s):
    task = s.start("/bin/sh", "-c", "echo up; exec sleep 30", stdin=PIPE)
    os.read(task.stdout, 3)
    os.set_blocking(task.stdin, False)
    filled = 0

    def fill():
        nonlocal filled
        try:
            filled += os.write(task.stdin, b"x" * 4096)
            return False
        except BlockingIOError:
            return True

    # both ends are quiet: what was taken on has been
    for _ in range(3):
        s.until(fill)
        import time

        time.sleep(0.1)
    s.see("room", filled == 65536)
    task.kill(9)
    s.see("end", task.wait())


@case("a non-blocking output stays as it was for the others")
def nonblocking(s):
    r, w = os.pipe()
    s.sh("echo text", stdout=w)
    s.see("blocking", os.get_blocking(w))
    s.see("read", os.read(r, 100))
