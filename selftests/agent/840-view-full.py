#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task has written in a view is at home, or the task is told: home's disk is full, and the
one who is told must be the one who asks. Without agents."""

import errno, mmap, os, shutil, signal, sys, tempfile, threading, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from joined import View
from ktap import done, ok, skip_all
from mounts import libc, own_mounts
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
PAGE, ROOM = 4096, 256 << 10
MOST = 32 << 20  # bytes that a program writes until it is told, at most


def told(act, *words):
    """The error that it gets; 0: none."""
    try:
        act(*words)
        return 0
    except OSError as e:
        return e.errno


def path(name):
    return os.path.join(at, name)


def fill(fd):
    """Writes more than there is room for. Whether it took less than a second: a write() that comes
    later is told the error, and nobody else then."""
    return not any(told(os.write, fd, b"x" * PAGE) for _ in range(2 * ROOM // PAGE))


def again():
    for name in os.listdir(home):
        os.unlink(os.path.join(home, name))
    view.sync()


def by_another():
    """A child has the same file open, and ends. None: this machine was too slow."""
    fd = os.open(path("shared"), os.O_RDWR | os.O_CREAT)
    in_time = fill(fd)
    child = os.fork()
    if not child:
        os._exit(told(os.close, fd) != errno.ENOSPC)
    os.waitpid(child, 0)
    got = told(os.fsync, fd), told(os.fsync, fd)
    os.close(fd)
    again()
    return got if in_time else None


def by_another_descriptor():
    """None: this machine was too slow."""
    fds = [os.open(path("two"), os.O_RDWR | os.O_CREAT) for _ in range(2)]
    in_time = fill(fds[0])
    got = told(os.fsync, fds[1]), told(os.close, fds[1]), told(os.close, fds[0])
    again()
    return got if in_time else None


def mapped():
    """The kernel writes pages through any descriptor of the file."""
    fds = [os.open(path("mapped"), os.O_RDWR | os.O_CREAT) for _ in range(2)]
    os.ftruncate(fds[0], 2 * ROOM)
    pages = mmap.mmap(fds[0], 2 * ROOM)
    for i in range(0, 2 * ROOM, PAGE):
        pages[i] = 1
    got = told(pages.flush), told(os.close, fds[0])
    told(os.close, fds[1])
    told(pages.close)
    again()
    return got


def goes_on(flags, pause=0):
    """It never closes its file. (The error of its write(), a second one, bytes until then)"""
    fd = os.open(path("goes-on"), os.O_WRONLY | os.O_CREAT | flags)
    n, error, end = 0, 0, time.monotonic() + WAIT
    while not error and n < MOST and time.monotonic() < end:
        error = told(os.write, fd, b"x" * (128 << 10))
        n += 128 << 10
        time.sleep(pause)
    told(os.close, fd)
    again()
    return error, n


def after_all(flags):
    """What a write() is refused with is not written, and can be written when there is room:
    once."""
    fd = os.open(path("after"), os.O_WRONLY | os.O_CREAT | flags)
    size = 64 << 10
    n = next((i for i in range(MOST // size) if told(os.write, fd, b"%8d" % i * (size // 8))), -1)
    os.truncate(os.path.join(home, "after"), 0)
    view.sync()
    if not flags & os.O_APPEND:
        os.lseek(fd, 0, os.SEEK_SET)
    got = n > 0, told(os.write, fd, b"once\n"), told(os.fsync, fd), told(os.close, fd)
    with open(os.path.join(home, "after"), "rb") as f:
        text = f.read()
    again()
    return got, text[:100]


def synchronous(flags):
    """Whether a write() to a file that is open for that waits for home."""
    fd = os.open(path("sync"), os.O_WRONLY | os.O_CREAT | flags)
    os.kill(view.files.pid, signal.SIGSTOP)
    writer = threading.Thread(target=os.write, args=(fd, b"text"))
    writer.start()
    writer.join(0.3)
    waits = writer.is_alive()
    os.kill(view.files.pid, signal.SIGCONT)
    writer.join()
    with open(os.path.join(home, "sync")) as f:
        there = f.read()
    fill(fd)
    error = told(os.write, fd, b"x" * PAGE)
    told(os.close, fd)
    again()
    return waits, there, error


work = tempfile.mkdtemp()
home, at = os.path.join(work, "home"), os.path.join(work, "view")
os.mkdir(home)
os.mkdir(at)
own_mounts()
libc.mount(b"home", home.encode(), b"tmpfs", 0, f"size={ROOM}".encode())
view = View(home, at)
try:
    full = errno.ENOSPC
    got = until(by_another)
    ok(
        "a child that closes a file leaves its error for the parent's fsync(), which tells it once",
        got == (full, 0),
        got,
    )
    got = until(by_another_descriptor)
    ok(
        "fsync() and close() of each descriptor that writes tell it",
        got and got[0] == full and got[2] == full,
        got,
    )
    got = mapped()
    ok(
        "msync() or close() tell it of pages that are written through another descriptor",
        full in got or errno.EIO in got,
        got,
    )
    for name, flags in ("a program", 0), ("one that appends", os.O_APPEND):
        got = goes_on(flags)
        ok(f"{name} and never closes is told by write()", got[0] == full, got)
        got = after_all(flags)
        ok(
            f"{name}: what was refused is not written, and what is written then is there, once",
            got == ((True, 0, 0, 0), b"once\n"),
            got,
        )
    got = goes_on(0, 0.2)
    ok("one that writes slowly is told sooner", got[0] == full and got[1] < 4 << 20, got)
    for name in "O_SYNC", "O_DSYNC":
        for more, flags in ("", 0), (" | O_APPEND", os.O_APPEND):
            got = synchronous(getattr(os, name) | flags)
            ok(
                f"{name}{more}: write() waits for home, and has its error",
                got == (True, "text", full),
                got,
            )
finally:
    for p in (view.view, view.files):
        p.kill()
    libc.umount2(at.encode(), 2)
    libc.umount2(home.encode(), 2)
    shutil.rmtree(work, ignore_errors=True)
done()
