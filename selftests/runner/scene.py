# SPDX-License-Identifier: GPL-2.0-or-later
"""Where one program runs, and what it leaves there: processes, network namespaces, cgroups, mounts,
files.

What a test makes that has a name outside of it is named after EHS_NAME, and its files are in
TMPDIR: so tests that run beside each other, and two runs, do not meet, and what is left is known to
be its own. All processes that it starts are children of this one in the end (a subreaper)."""

import ctypes
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from proc import children, send, stat, words
from programs import TOP

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
DYING = 5  # seconds for what is about to end by itself
KILLED = 30  # seconds for all that is killed to be gone
NAMES = "ehs{}x"  # of the run with that process
COMM = "ehs-run"  # what such a process is called
ENDS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
CGROUPS = "/sys/fs/cgroup/unified", "/sys/fs/cgroup"
NAMESPACES = "/run/netns"
SHARED = "/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"
USERS = "/etc/passwd", "/etc/group"
OF_RUN = NAMES.format(r"\d+")
libc = ctypes.CDLL(None, use_errno=True)
wake_up = None  # can be read when a child has ended


def prctl(option, value):
    """As prctl(2)."""
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def ended(number, frame):
    """What runs is ended on the way out."""
    for other in ENDS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def begin_run():
    """This process is that of a run, in the top directory. What it is told to end by ends all that
    it has started."""
    os.chdir(TOP)
    os.environ.setdefault("EHS_BUILD", "build")
    os.environ["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    prctl(PR_SET_NAME, ctypes.c_char_p(COMM.encode()))
    for number in ENDS:
        signal.signal(number, ended)


def begin():
    """This process ends with its parent, and inherits the orphans of what it starts."""
    global wake_up
    wake_up, into = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(into, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def reap(child=None):
    """Takes the status of orphans that are over: tests look whether their processes are gone.
    Returns that of `child` and what it used, if that is over; else None."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return None
        if not found:
            return None
        pid, status, usage = os.wait4(found.si_pid, 0)
        if pid == child:
            return status, usage


def named(pattern):
    """(cgroups, network namespaces) whose names begin so."""
    cgroups = [
        os.path.join(m, n)
        for m in CGROUPS
        if os.path.exists(f"{m}/cgroup.procs")
        for n in listed(m)
        if re.match(pattern, n)
    ]
    return cgroups, [n for n in listed(NAMESPACES) if re.match(pattern, n)]


def mounts(pattern):
    """Places of mounts that have such a name in their path, the last first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        # the kernel writes blanks as \040
        places = [
            re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split(" ")[4]) for line in f
        ]
    return [place for place in places if re.search("/" + pattern, place)][::-1]


def remove(cgroups, namespaces, pattern, folders):
    """All that is so named, and these folders; not the files below a mount that stays. Returns a
    line for each mount, and for each folder that stays."""
    for path in cgroups:
        end_cgroup(path)
    for name in namespaces:
        # as ip(8) does, which is not everywhere
        subprocess.run(
            ["umount", "-l", f"{NAMESPACES}/{name}"], stderr=subprocess.DEVNULL, check=False
        )
        if name in listed(NAMESPACES):
            os.unlink(f"{NAMESPACES}/{name}")
    there = mounts(pattern)
    for place in there:
        subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)
    stay = mounts(pattern)
    left = [
        f"mount {place}" + (", which cannot be unmounted" if place in stay else "")
        for place in there
    ]
    for folder in folders:
        if not stay:
            shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            left.append(f"folder {folder}, which cannot be removed")
    return left


def listed(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def surroundings():
    """What a run must leave as it is: names of files in places that all use, mounts, cgroups, and
    the lists of users. What is named after a run is not looked at: that is told by its name, and
    others run beside this one."""
    found = {f"mount {place}" for place in mounts("") if not re.search("/" + OF_RUN, place)}
    for folder in {tempfile.gettempdir(), *SHARED, NAMESPACES, *CGROUPS}:
        found |= {f"file {folder}/{name}" for name in listed(folder) if not re.match(OF_RUN, name)}
    for path in USERS:
        with open(path) as f:
            found |= {f"line of {path}: {line.rstrip()}" for line in f}
    return found


def end_cgroup(path):
    """Ends what is in it, and removes it."""
    for folder, _, _ in os.walk(path, topdown=False):
        end = time.monotonic() + DYING
        while time.monotonic() < end:
            try:
                with open(f"{folder}/cgroup.procs") as f:
                    for pid in f.read().split():
                        if pid != "0":  # of another PID namespace
                            os.kill(int(pid), signal.SIGKILL)
                reap()
                os.rmdir(folder)
                break
            except ProcessLookupError:
                continue
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.05)


def over(pid):
    """Whether that child has ended, with all its threads: a zombie's first thread may have ended
    alone."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


class Scene:
    """Of the run with process `run`; `number` tells programs apart. `keeps`: processes that may
    stay, by their words."""

    def __init__(self, run, number, keeps=None):
        self.name = f"{NAMES.format(run)}{number}"
        self.keeps = re.compile(keeps) if keeps else None
        self.folder = os.path.join(tempfile.gettempdir(), self.name)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o1777)  # other users of the test, too
        # to other runs this one lives, also to those that do not see its process
        self.lock = os.open(self.folder, os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_SH)
        self.environment = {**os.environ, "EHS_NAME": self.name, "TMPDIR": self.folder}

    def clear(self):
        """Ends and removes what is left. Returns what that was, a line each."""
        left = self._processes()
        pattern = self.name + r"(?!\d)"
        cgroups, namespaces = named(pattern)
        left += [f"cgroup {path}" for path in cgroups] + [
            f"network namespace {name}" for name in namespaces
        ]
        files = [f"file {self.folder}/{name}" for name in listed(self.folder)]
        left += remove(cgroups, namespaces, pattern, [self.folder]) + files
        os.close(self.lock)
        return left

    def _children(self):
        """[(pid, words)] of those that may not stay."""
        reap()
        found = [
            (pid, words(pid) or "(no command line)")
            for pid in children(os.getpid())
            if not over(pid)
        ]
        return [(pid, line) for pid, line in found if not (self.keeps and self.keeps.match(line))]

    def _processes(self):
        end = time.monotonic() + DYING
        while self._children() and time.monotonic() < end:
            time.sleep(0.02)
        left = {}
        end = time.monotonic() + KILLED
        while (found := self._children()) and time.monotonic() < end:
            for pid, line in found:
                left.setdefault(pid, f"process {pid}: {line}")
                send(pid, signal.SIGKILL)
            time.sleep(0.02)
        return list(left.values())


def is_run(pid):
    """Whether that is the process of a run, and not another one that has its number now."""
    its = stat(pid)
    return its is not None and its[0] == COMM


def is_lost(path):
    """Whether it is this user's, and no run that lives has locked it."""
    try:
        if os.lstat(path).st_uid != os.geteuid():
            return False
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def clear_earlier():
    """What runs left that were killed in the middle. Returns lines that say so."""
    top, runs, said = tempfile.gettempdir(), {}, []
    cgroups, namespaces = named(OF_RUN)
    for path in [
        *(f"{top}/{name}" for name in listed(top)),
        *cgroups,
        *(f"{NAMESPACES}/{name}" for name in namespaces),
    ]:
        if m := re.match(r"ehs(\d+)x", os.path.basename(path)):
            runs.setdefault(m[1], []).append(path)
    for run, paths in sorted(runs.items()):
        # this one has made nothing yet
        if is_run(run) and int(run) != os.getpid() or not all(map(is_lost, paths)):
            continue
        prefix = NAMES.format(run)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"EHS_NAME={prefix}".encode() in f.read():
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        left = remove(
            *named(prefix), prefix, [path for path in paths if os.path.dirname(path) == top]
        )
        stays = [line for line in left if ", which cannot " in line]
        said.append(
            f"what an earlier run (process {run}) left was removed"
            + "".join(f", but not {line}" for line in stays)
        )
    return said
