#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A view's two sides without agents: ehview and ehfiles, joined by a socket. A directory is changed
at home and through the view, at random, and both must show the same each time. EHS_SEED=N repeats a
walk, EHS_ROUNDS=N makes it longer."""

import errno, mmap, os, random, shutil, signal, stat, subprocess, sys, tempfile, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
from joined import View
from ktap import done, must, ok, skip_all
from mounts import libc, own_mounts
from seed import new_seed
from wait import until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
RENAMES = ("82", "264", "316", "38", "276")  # rename(), renameat(), renameat2() on x86-64 and arm64


def what(path):
    """All that there is to see of a file."""
    try:
        return what_there(path)
    except OSError as e:
        return errno.errorcode[e.errno]


def what_there(path):
    st = os.lstat(path)
    seen = [
        oct(st.st_mode),
        st.st_ino,
        st.st_nlink,
        st.st_uid,
        st.st_gid,
        st.st_mtime_ns,
        st.st_ctime_ns,
    ]
    if stat.S_ISLNK(st.st_mode):
        seen.append(os.readlink(path))
    elif stat.S_ISREG(st.st_mode):
        with open(path, "rb") as f:
            seen += [st.st_size, f.read()]
    elif stat.S_ISDIR(st.st_mode):
        seen.append(sorted(os.listdir(path)))
    return seen


def glance_at(fd):
    try:
        os.fstat(fd)
    except OSError as e:
        assert e.errno == errno.ESTALE


class Walk:
    """Random changes of a small tree, so that they meet."""

    def __init__(self, seed, at, view):
        self.random, self.at, self.view = random.Random(seed), at, view
        self.pick = self.random.choice

    def path(self):
        return "/".join(self.pick("abc") for _ in range(self.random.randint(1, 3)))

    def content(self):
        return bytes([self.random.randint(0, 255)]) * self.pick([1, 10, 4096, 5000, 70000, 200000])

    def step(self, top):
        self.top = top
        path, other = os.path.join(top, self.path()), os.path.join(top, self.path())
        do = self.pick(
            ["write"] * 4
            + [
                "append",
                "patch",
                "truncate",
                "map",
                "mkdir",
                "mkdir",
                "rename",
                "rename",
                "link",
                "symlink",
                "unlink",
                "rmdir",
                "chmod",
                "times",
                "replace",
            ]
        )
        try:
            getattr(self, do)(path, other)
        except OSError as e:
            return do, path[len(top) :], other[len(top) :], errno.errorcode[e.errno]
        return do, path[len(top) :], other[len(top) :], "done"

    def write(self, path, other):
        with open(path, "wb") as f:
            f.write(self.content())

    def append(self, path, other):
        with open(path, "ab") as f:
            f.write(self.content())

    def patch(self, path, other):
        with open(path, "r+b") as f:
            f.seek(self.random.randint(0, 9000))
            f.write(self.content())

    def map(self, path, other):
        with open(path, "r+b") as f:
            if not os.fstat(f.fileno()).st_size:
                return
            with mmap.mmap(f.fileno(), 0) as m:
                m[self.random.randrange(len(m))] = self.random.randint(0, 255)

    def truncate(self, path, other):
        if not os.path.islink(path):
            os.truncate(path, self.pick([0, 1, 5000]))

    def replace(self, path, other):
        with open(path + ".new", "wb") as f:
            f.write(self.content())
        try:
            os.rename(path + ".new", path)
        except OSError:
            os.unlink(path + ".new")
            raise

    def mkdir(self, path, other):
        os.mkdir(path)

    def rename(self, path, other):
        os.rename(path, other)

    def link(self, path, other):
        # home tells of a second name in a directory that it watches, as the view has looked into
        # it: docs/transparency.md
        self.view.sync()
        os.path.lexists(self.at + other[len(self.top) :])
        os.link(path, other, follow_symlinks=False)

    def symlink(self, path, other):
        os.symlink(self.pick(["nothing", "b"]), path)

    def unlink(self, path, other):
        os.unlink(path)

    def rmdir(self, path, other):
        os.rmdir(path)

    def chmod(self, path, other):
        if not os.path.islink(path):
            os.chmod(path, self.pick([0o600, 0o644, 0o755]))

    def times(self, path, other):
        os.utime(path, ns=(1, self.random.randint(1, 1 << 60)), follow_symlinks=False)


def all_paths(top):
    """What there is, and what there may have been."""
    found = [""]
    for folder, folders, files in os.walk(top):
        found += [
            os.path.join(folder, f)[len(top) + 1 :] for f in folders + files + ["a", "b", "c"]
        ]
    return sorted(set(found))


def compare(home, at, history):
    for path in all_paths(home):
        ours, theirs = what(os.path.join(home, path)), what(os.path.join(at, path))
        if ours != theirs:
            for line in history[-12:]:
                print("#", *line)
            print(f"# {path}: home has {str(ours)[:300]}, the view {str(theirs)[:300]}")
            return False
    return True


def walk(home, at, view, rounds, seed):
    w, history = Walk(seed, at, view), []
    for i in range(rounds):
        for _ in range(w.random.randint(1, 4)):
            there = w.random.random() < 0.5
            history.append(("view:" if there else "home:", *w.step(at if there else home)))
            if there and w.random.random() < 0.3:
                what(os.path.join(at, w.path()))  # so that it is kept
        view.sync(ended=True)
        view.sync()
        if not compare(home, at, history):
            return False
    return True


def close_to_open(home, at):
    """What is written and closed on one side is read by the next open on the other, without any
    word."""
    for i in range(300):
        text = f"{i % 7}" * (1 + i % 3)
        here, there = (home, at) if i % 2 else (at, home)
        with open(os.path.join(here, "told"), "w") as f:
            f.write(text)
        with open(os.path.join(there, "told")) as f:
            if f.read() != text:
                return False
    return True


def under_way(home, at, view):
    """Home replaces a directory while a request to rename it is on its way."""
    os.mkdir(os.path.join(home, "sent"))
    os.makedirs(os.path.join(home, "replacing/in"))
    view.sync()
    what(os.path.join(at, "sent"))
    os.path.lexists(os.path.join(at, "sent/in"))
    os.kill(view.files.pid, signal.SIGSTOP)
    mover = threading.Thread(
        target=os.rename, args=(os.path.join(at, "sent"), os.path.join(at, "arrived"))
    )
    mover.start()
    of = lambda name, word: open(f"/proc/self/task/{mover.native_id}/{name}").read().split()[word]
    must(
        "the request is on its way",
        until(lambda: of("syscall", 0) in RENAMES and of("stat", 2) in "DS"),
        (of("syscall", 0), of("stat", 2)),
    )
    os.rename(os.path.join(home, "replacing"), os.path.join(home, "sent"))
    os.kill(view.files.pid, signal.SIGCONT)
    mover.join()
    view.sync()
    return compare(home, at, [])


def exchanged(home, at, view):
    """Files, directories, and one of each, that are open change places here."""
    os.makedirs(os.path.join(home, "north/in"))
    os.mkdir(os.path.join(home, "south"))
    fill(home, left="left", right="the right one")
    view.sync()
    for pair in (("left", "right"), ("north", "south"), ("left", "south")):
        names = [os.path.join(at, name) for name in pair]
        for name in names:
            what(name), what(os.path.join(name, "in"))
        held = [os.open(name, os.O_RDONLY) for name in names]
        moved = libc.renameat2(-100, names[0].encode(), -100, names[1].encode(), 2) == 0
        for fd in held:
            glance_at(fd)
            os.close(fd)
        if not moved or not compare(home, at, [pair]):
            return False
    return True


def written_here(home, at, view):
    """What is open for writing here is replaced at home, and what replaces it changes."""
    fill(home, target="old", source="new one")
    with open(os.path.join(at, "target"), "a"):
        os.rename(os.path.join(home, "source"), os.path.join(home, "target"))
        view.sync()
        if not compare(home, at, []):
            return False
        os.chmod(os.path.join(home, "target"), 0o600)
        view.sync()
        return compare(home, at, [])


def fill(top, **files):
    for name, text in files.items():
        with open(os.path.join(top, name), "w") as f:
            f.write(text)


def mounted_in(home, at, view):
    """What is mounted in home's directory belongs to another server, or to none: /proc has the
    memory of processes. Only a file that is mounted is found, unless it is the kernel's."""
    os.mkdir(os.path.join(home, "mounts"))
    names = [os.path.join(home, "mounts", name) for name in ("proc", "tmp", "file", "status")]
    for name in names[:2]:
        os.mkdir(name)
    for name in names[2:]:
        open(name, "w").close()
    fill(home, bound="bound")
    made = not (
        libc.mount(b"proc", names[0].encode(), b"proc", 0, None)
        or libc.mount(b"tmpfs", names[1].encode(), b"tmpfs", 0, None)
        or libc.mount(os.path.join(home, "bound").encode(), names[2].encode(), None, 4096, None)
        or libc.mount(b"/proc/self/status", names[3].encode(), None, 4096, None)
    )
    try:
        fill(names[1], inside="x")
        view.sync()
        there = [
            os.path.join(at, "mounts", name)
            for name in ("proc/self/environ", "proc/1/mem", "proc/version", "tmp/inside", "status")
        ]
        with open(os.path.join(at, "mounts/file")) as f:
            return (
                made
                and f.read() == "bound"
                and all(what(path) in ("EACCES", "ENOENT") for path in there)
                and all(cannot_list(os.path.join(at, "mounts", name)) for name in ("proc", "tmp"))
                and all(
                    cannot_make(os.path.join(at, "mounts", name, "new")) for name in ("proc", "tmp")
                )
            )
    finally:
        for name in names:
            libc.umount2(name.encode(), 2)
        shutil.rmtree(os.path.join(home, "mounts"))


def cannot_list(path):
    try:
        os.listdir(path)
    except PermissionError:
        return True
    return False


def cannot_make(path):
    try:
        open(path, "w").close()
    except PermissionError:
        return True
    return False


def replaced(home, at, view):
    """What is still open here is another file at home now: it says nothing about the name that it
    had."""
    os.makedirs(os.path.join(home, "dir"))
    os.makedirs(os.path.join(home, "newdir/in"))
    fill(home, file="old", newfile="new one", gone="old", moved="old")
    os.symlink("nothing", os.path.join(home, "link"))
    os.symlink("file", os.path.join(home, "newlink"))
    view.sync()
    if not compare(home, at, []):
        return False
    names = ["dir", "file", "link", "gone", "moved"]
    held = {
        name: os.open(
            os.path.join(at, name), os.O_PATH | os.O_NOFOLLOW if name == "link" else os.O_RDONLY
        )
        for name in names
    }
    try:
        for name in ("dir", "file", "link"):
            os.rename(os.path.join(home, "new" + name), os.path.join(home, name))
        os.unlink(os.path.join(home, "gone"))
        os.rename(os.path.join(home, "moved"), os.path.join(home, "there"))
        view.sync()
        for name, fd in held.items():
            glance_at(fd)
        if not compare(home, at, []):
            return False
        os.chmod(os.path.join(home, "there"), 0o600)
        view.sync()
        return stat.S_IMODE(os.fstat(held["moved"]).st_mode) == 0o600
    finally:
        for fd in held.values():
            os.close(fd)


work = tempfile.mkdtemp()
os.chmod(work, 0o755)
home, at = os.path.join(work, "home"), os.path.join(work, "view")
os.mkdir(home)
os.mkdir(at)
own_mounts()
try:
    view = View(home, at)
    seed = new_seed()
    rounds = int(os.environ.get("EHS_ROUNDS", 300))
    ok(
        f"{rounds} rounds of changes on both sides look the same on both",
        walk(home, at, view, rounds, seed),
    )
    ok("what is closed on one side the next open on the other reads", close_to_open(home, at))

    ok("files that are open here and replaced at home", replaced(home, at, view))
    ok("a directory that is replaced at home while it is renamed here", under_way(home, at, view))
    ok("two that change places here", exchanged(home, at, view))
    ok("a file that is open for writing here, replaced and changed", written_here(home, at, view))
    ok("what is mounted in it at home is not there", mounted_in(home, at, view))

    shutil.rmtree(os.path.join(at, "a"), ignore_errors=True)
    os.makedirs(os.path.join(at, "big/sub"))
    for i in range(1500):
        open(os.path.join(home, "big", str(i)), "w").close()
    view.sync()
    ok(
        "a directory that is too large for a list",
        sorted(os.listdir(os.path.join(at, "big"))) == sorted(os.listdir(os.path.join(home, "big")))
        and not os.path.exists(os.path.join(at, "big/new"))
        and os.path.exists(os.path.join(at, "big/7")),
    )
    open(os.path.join(home, "big/new"), "w").close()
    view.sync()
    ok("and a new name in it", os.path.exists(os.path.join(at, "big/new")))

    # More news than the queue holds: nothing that is kept may be believed any more.
    limit = int(open("/proc/sys/fs/inotify/max_queued_events").read())
    os.path.exists(os.path.join(at, "big/sub/gone"))
    fill(os.path.join(home, "big/sub"), file="old", newfile="new one", removed="old")
    view.sync()
    held = [os.open(os.path.join(at, "big/sub", name), os.O_RDONLY) for name in ("file", "removed")]
    os.kill(view.files.pid, signal.SIGSTOP)
    for i in range(limit + 10):
        os.chmod(os.path.join(home, "big", str(i % 2)), 0o600 + i % 64)
    with open(os.path.join(home, "big/sub/gone"), "w") as f:
        f.write("here")
    os.rename(os.path.join(home, "big/sub/newfile"), os.path.join(home, "big/sub/file"))
    os.unlink(os.path.join(home, "big/sub/removed"))
    os.kill(view.files.pid, signal.SIGCONT)
    view.sync()
    os.path.exists(os.path.join(at, "big/sub/other"))
    for fd in held:
        glance_at(fd)
    ok(
        "a lost list of news",
        os.path.exists(os.path.join(at, "big/sub/gone")) and compare(home, at, []),
    )
    for fd in held:
        os.close(fd)

    # One holds a directory's lock and waits for home, who is silent; then all ends.
    os.kill(view.files.pid, signal.SIGSTOP)
    waiting = [
        subprocess.Popen(["touch", os.path.join(at, f"big/w{i}")], stderr=subprocess.DEVNULL)
        for i in range(4)
    ]
    states = lambda: [open(f"/proc/{p.pid}/stat").read().split()[2] for p in waiting]
    must("all wait", until(lambda: all(s in "DS" for s in states())), states())
    os.kill(view.view.pid, signal.SIGKILL)
    ok(
        "without ehview what waits gets errors",
        until(lambda: all(p.poll() is not None for p in waiting))
        and all(p.returncode for p in waiting),
    )
    view.view.wait()
    view.files.kill()
    ok("and nothing holds it", (saw := libc.umount2(at.encode(), 0)) == 0, saw)
finally:
    for p in (view.view, view.files):
        p.kill()
    libc.umount2(at.encode(), 2)
    shutil.rmtree(work)
done()
