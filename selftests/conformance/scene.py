# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a case: the parent of its tasks, and what that parent sees. The same code plays it
here and transferred."""

import errno, fcntl, hashlib, os, resource, selectors, signal, stat, time

NULL, CLOSED, PIPE = "null", "closed", "pipe"
NAMES = {n.value: n.name for n in signal.Signals}


def signal_name(n):
    return NAMES.get(n, f"signal {n}")


def report(status):
    """What waitpid() says, in words."""
    if os.WIFSTOPPED(status):
        return "stopped " + signal_name(os.WSTOPSIG(status))
    if os.WIFCONTINUED(status):
        return "continued"
    if os.WIFSIGNALED(status):
        return (
            "killed "
            + signal_name(os.WTERMSIG(status))
            + (" with core" if os.WCOREDUMP(status) else "")
        )
    return f"exit {os.WEXITSTATUS(status)}"


class Task:
    """A child. `error` names the errno of its exec when that failed."""

    def __init__(self, pid, error, ends):
        self.pid, self.error = pid, error
        self.stdin, self.stdout, self.stderr = ends
        self.reports = []
        self.usage = None

    def wait(self, flags=0):
        """The next report; None with WNOHANG when there is none."""
        pid, status, usage = os.wait4(self.pid, flags)
        if not pid:
            return None
        self.reports.append(report(status))
        if not (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
            self.usage = usage
        return self.reports[-1]

    def kill(self, sig):
        os.kill(self.pid, sig)

    def close(self):
        for fd in self.stdin, self.stdout, self.stderr:
            if fd is not None:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = None


class Scene:
    """`away`: tasks are transferred, if they are not started with away=False."""

    def __init__(self, folder, place, away, bound):
        self.dir, self.place, self.away, self.bound = folder, place, away, bound
        self.probe = os.path.join(place.work, "probe")
        self.seen = {}
        self.tasks = []
        self.began = time.time()

    # ---- what is compared ----

    def see(self, field, value):
        self.seen[field] = value

    # ---- tasks ----

    def start(
        self,
        *words,
        path=None,
        stdin=NULL,
        stdout=PIPE,
        stderr=PIPE,
        before=None,
        env=None,
        away=True,
        ignore=(),
    ):
        """fork() and execve(). Descriptors: NULL, CLOSED, PIPE, a number; stderr may be
        "stdout"."""
        theirs, ours = [], []
        for i, what in enumerate((stdin, stdout, stderr)):
            end = None
            if what == PIPE:
                pair = os.pipe()
                what, end = (pair[0], pair[1]) if i == 0 else (pair[1], pair[0])
            elif what == NULL:
                what = os.open("/dev/null", os.O_RDONLY if i == 0 else os.O_WRONLY)
            elif what == "stdout":
                what = theirs[1]
            elif what != CLOSED:
                what = os.dup(what)
            theirs.append(what)
            ours.append(end)
        path = path or words[0]
        argv = list(words)
        goes = self.away and away
        if goes:
            path, argv = self.place.command(path, argv)
        if env is None:
            env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}
        told, tell = os.pipe()
        pid = os.fork()
        if not pid:
            self._become(path, argv, env, theirs, before, ignore, tell, goes)
        for fd in [tell] + [
            fd for i, fd in enumerate(theirs) if fd != CLOSED and fd not in theirs[:i]
        ]:
            os.close(fd)
        said = os.read(told, 64)
        os.close(told)
        task = Task(pid, said.decode() or None, ours)
        self.tasks.append((task, goes))
        return task

    def _become(self, path, argv, env, fds, before, ignore, tell, goes):
        try:
            if goes:
                self.place.enter()
            for n in range(1, 65):
                if n not in (9, 19, 32, 33):
                    signal.signal(n, signal.SIG_IGN if n in ignore else signal.SIG_DFL)
            tell = fcntl.fcntl(tell, fcntl.F_DUPFD_CLOEXEC, 20)
            high = [
                fd if fd == CLOSED else fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in fds
            ]
            for i, fd in enumerate(high):
                if fd == CLOSED:
                    os.close(i)
                else:
                    os.dup2(fd, i)
            os.chdir(self.dir)
            if before:
                before()
            os.execve(path, argv, env)
        except OSError as e:
            os.write(tell, errno.errorcode[e.errno].encode())
        finally:
            os._exit(120)

    def collect(self, task, data=b""):
        """Feeds and reads its pipes until they are closed; (stdout, stderr)."""
        got = {task.stdout: bytearray(), task.stderr: bytearray()}
        end = time.monotonic() + self.bound
        with selectors.DefaultSelector() as poll:
            for fd in task.stdout, task.stderr:
                if fd is not None:
                    poll.register(fd, selectors.EVENT_READ)
            if task.stdin is not None:
                os.set_blocking(task.stdin, False)
                poll.register(task.stdin, selectors.EVENT_WRITE)
            while poll.get_map() and time.monotonic() < end:
                for key, _ in poll.select(1):
                    fd = key.fd
                    if fd == task.stdin:
                        try:
                            data = data[os.write(fd, data[:65536]) :] if data else data
                        except BrokenPipeError:
                            self.see("the writer", "EPIPE")
                            data = b""
                        if data:
                            continue
                        task.stdin = None
                    else:
                        more = os.read(fd, 65536)
                        got[fd] += more
                        if more:
                            continue
                    poll.unregister(fd)
                    os.close(fd)
            if poll.get_map():
                self.see("bound", "its output did not end in time")
        out, err = (None if fd is None else bytes(got[fd]) for fd in (task.stdout, task.stderr))
        task.stdout = task.stderr = None
        return out, err

    def run(self, *words, data=None, name="", **more):
        """A task from start to end, with its output, end and exec error seen."""
        if data is not None:
            more["stdin"] = PIPE
        task = self.start(*words, **more)
        out, err = self.collect(task, data or b"")
        task.wait()
        mark = name and name + ": "
        if out is not None:
            self.see(mark + "stdout", out)
        if err is not None:
            self.see(mark + "stderr", err)
        self.see(mark + "end", task.reports)
        self.see(mark + "exec", task.error)
        return task

    def sh(self, script, *words, **more):
        return self.run("/bin/sh", "-c", script, "sh", *words, **more)

    # ---- waiting for something of it ----

    def until(self, what):
        end = time.monotonic() + self.bound
        while not (value := what()):
            if time.monotonic() > end:
                return value
            time.sleep(0.01)
        return value

    def file(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data, mode=None):
        path = self.file(name)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def content(self, name):
        try:
            with open(self.file(name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    # ---- the end ----

    def files(self):
        """All in its directory: kind, mode, owner, size or target, content, and whether its time is
        now."""
        all = {}
        for at, folders, names in os.walk(os.fsencode(self.dir)):
            for name in sorted(folders + names):
                path = os.path.join(at, name)
                st = os.lstat(path)
                what = [
                    stat.filemode(st.st_mode),
                    st.st_uid,
                    st.st_gid,
                    st.st_nlink if not stat.S_ISDIR(st.st_mode) else 0,
                ]
                if stat.S_ISREG(st.st_mode):
                    with open(path, "rb") as f:
                        what += [st.st_size, hashlib.sha256(f.read()).hexdigest()[:16]]
                elif stat.S_ISLNK(st.st_mode):
                    what.append(os.readlink(path))
                # clocks of two guests are not the same to the second
                near = self.began - 60 < st.st_mtime < time.time() + 60
                what.append("now" if near else st.st_mtime_ns)
                all[os.path.relpath(path, os.fsencode(self.dir))] = what
        return all

    def children_usage(self):
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime, u.ru_maxrss


def limit_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
