# SPDX-License-Identifier: GPL-2.0-or-later
"""A FUSE file system that answers until it is told to be silent: then it takes requests, and answers none of them."""

import atexit, ctypes, errno, os, signal, stat, struct, time

libc = ctypes.CDLL(None, use_errno=True)
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, IOCTL, BATCH_FORGET = \
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 34, 39, 42
CLONE_NEWNS = 0x20000
ROOT, SIZE, BORN = 1, 1000, int(time.time())
FILES = {b"prog": 2, b"data": 3}


def attr(node):
    mode = stat.S_IFDIR | 0o777 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("<6Q10I", node, SIZE, 1, BORN, BORN, BORN, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class Silent:
    """Mounted at `at`, in the mount namespace of process `ns` if that is given. Served by a child."""

    def __init__(self, at, ns=None, ioctls=None):
        """ioctls: what its files return, by number."""
        self.at, self.ioctls = at, ioctls or {}
        ready, told = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(ready)
            os._exit(self.run(ns, told))
        os.close(told)
        self.up = os.read(ready, 1) == b"y"
        self.told = ready
        self.owner = os.getpid()
        atexit.register(self.end)

    def run(self, ns, told):
        try:
            fd = os.open("/dev/fuse", os.O_RDWR)
            if ns:
                space = os.open(f"/proc/{ns}/ns/mnt", os.O_RDONLY)
                if libc.setns(space, CLONE_NEWNS):
                    return 1
            options = f"fd={fd},rootmode=40777,user_id=0,group_id=0,allow_other".encode()
            if libc.mount(b"silent", self.at.encode(), b"fuse", 6, options):
                return 1
            silent = []
            signal.signal(signal.SIGUSR1, lambda *_: (silent.append(LOOKUP), silent.append(GETATTR), os.write(told, b"s")))
            signal.signal(signal.SIGUSR2, lambda *_: (silent.append(FLUSH), os.write(told, b"s")))
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            while True:
                request = os.read(fd, 1 << 17)
                if not silent:
                    self.answer(fd, request)
                    if struct.unpack_from("<I", request, 4)[0] == INIT:
                        os.write(told, b"y")
                elif struct.unpack_from("<I", request, 4)[0] in silent:
                    os.write(told, b"r")
        except BaseException:
            return 1

    def answer(self, fd, request):
        _, op, unique, node = struct.unpack_from("<IIQQ", request)
        err, body = 0, b""
        if op in (FORGET, BATCH_FORGET):
            return
        if op == INIT:
            body = struct.pack("<IIIIHHII", 7, 19, 65536, 0, 16, 12, 65536, 1) + bytes(36)
        elif op == LOOKUP:
            found = FILES.get(request[40:].rstrip(b"\0"))
            if found:
                body = struct.pack("<QQQQII", found, 0, 0, 0, 0, 0) + attr(found)
            else:
                err = errno.ENOENT
        elif op == GETATTR:
            body = struct.pack("<QII", 0, 0, 0) + attr(node)
        elif op in (OPEN, OPENDIR):
            body = struct.pack("<QII", 7, 1, 0)
        elif op == IOCTL:
            result = self.ioctls.get(struct.unpack_from("<I", request, 52)[0], -errno.ENOTTY)
            body = struct.pack("<iIII", result, 0, 0, 0)
        elif op == STATFS:
            body = bytes(80)
        elif op not in (ACCESS, RELEASE, RELEASEDIR):    # FLUSH, too: a process that forks closes many
            err = errno.ENOSYS
        os.write(fd, struct.pack("<IiQ", 16 + len(body), -err, unique) + body)

    def silence(self, flush=False):
        """No request is answered from now on; `flush`: it is that of who closes a file which tells asked()."""
        os.kill(self.pid, signal.SIGUSR2 if flush else signal.SIGUSR1)
        return os.read(self.told, 1) == b"s"

    def asked(self):
        """Waits until somebody waits for a path."""
        return os.read(self.told, 1) == b"r"

    def end(self):
        """All that wait get errors."""
        if not self.pid or os.getpid() != self.owner:
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0
        libc.umount2(self.at.encode(), 2)
