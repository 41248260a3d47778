# SPDX-License-Identifier: GPL-2.0-or-later
"""FUSE file systems: one that answers until it is told to be silent, and then takes requests and
answers none of them; and a disk, which keeps what is written until it is told to hold that up, or
to fail."""

import atexit, ctypes, errno, mmap, os, signal, stat, struct, time

libc = ctypes.CDLL(None, use_errno=True)
(
    LOOKUP,
    FORGET,
    GETATTR,
    OPEN,
    READ,
    STATFS,
    RELEASE,
    FLUSH,
    INIT,
    OPENDIR,
    RELEASEDIR,
    ACCESS,
    IOCTL,
    BATCH_FORGET,
) = (1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 34, 39, 42)
SETATTR, UNLINK, RENAME, WRITE, FSYNC, FSYNCDIR, CREATE = 4, 10, 12, 16, 20, 30, 35
ATTR_MODE, ATTR_SIZE = 1, 8
CLONE_NEWNS = 0x20000
ROOT, SIZE, BORN = 1, 1000, int(time.time())
FILES = {b"prog": 2, b"data": 3}


def attr(node):
    mode = stat.S_IFDIR | 0o777 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack(
        "<6Q10I", node, SIZE, 1, BORN, BORN, BORN, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


class Silent:
    """Mounted at `at`, in the mount namespace of process `ns` if that is given. Served by a
    child."""

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

    def mount(self, ns):
        """The descriptor of its requests."""
        fd = os.open("/dev/fuse", os.O_RDWR)
        if ns:
            space = os.open(f"/proc/{ns}/ns/mnt", os.O_RDONLY)
            if libc.setns(space, CLONE_NEWNS):
                raise OSError(ctypes.get_errno(), "setns")
        options = f"fd={fd},rootmode=40777,user_id=0,group_id=0,allow_other".encode()
        if libc.mount(b"silent", self.at.encode(), b"fuse", 6, options):
            raise OSError(ctypes.get_errno(), "mount")
        return fd

    def run(self, ns, told):
        try:
            fd = self.mount(ns)
            silent = []
            signal.signal(
                signal.SIGUSR1,
                lambda *_: (silent.append(LOOKUP), silent.append(GETATTR), os.write(told, b"s")),
            )
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
        elif op not in (
            ACCESS,
            RELEASE,
            RELEASEDIR,
        ):  # FLUSH, too: a process that forks closes many
            err = errno.ENOSYS
        os.write(fd, struct.pack("<IiQ", 16 + len(body), -err, unique) + body)

    def silence(self, flush=False):
        """No request is answered from now on; `flush`: it is that of who closes a file which tells
        asked()."""
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


class Disk(Silent):
    """Mounted at `at`: files in memory, of whoever creates them. Asked in vain, it answers nobody
    else meanwhile, as a disk."""

    def __init__(self, at):
        self.told_it = mmap.mmap(
            -1, 16
        )  # errno of writes, errno of fsync(), whether fsync() is held up, how often that was asked
        self.files = {}  # name: node
        self.nodes = {}  # node: [content, mode, uid, gid]
        super().__init__(at)

    def tell(self, at, value):
        self.told_it[4 * at : 4 * at + 4] = struct.pack("<i", value)

    def is_told(self, at):
        return struct.unpack_from("<i", self.told_it, 4 * at)[0]

    def fail(self, write=0, fsync=0):
        """Writes and fsync() have these errors from now on; 0: none."""
        self.tell(0, write)
        self.tell(1, fsync)

    def hold(self):
        """fsync() waits from now on."""
        self.tell(3, 0)
        self.tell(2, 1)

    def holds(self):
        """Whether a process waits in fsync()."""
        return self.is_told(3) > 0

    def release(self):
        self.tell(2, 0)

    def run(self, ns, told):
        try:
            fd = self.mount(ns)
            while True:
                request = os.read(fd, 1 << 17)
                self.answer(fd, request)
                if struct.unpack_from("<I", request, 4)[0] == INIT:
                    os.write(told, b"y")
        except BaseException:
            return 1

    def attr(self, node):
        if node == ROOT:
            return attr(ROOT)
        content, mode, uid, gid = self.nodes[node]
        return struct.pack(
            "<6Q10I",
            node,
            len(content),
            1,
            BORN,
            BORN,
            BORN,
            0,
            0,
            0,
            stat.S_IFREG | mode,
            1,
            uid,
            gid,
            0,
            4096,
            0,
        )

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attr(node)

    def flush(self):
        if self.is_told(2):
            self.tell(3, self.is_told(3) + 1)
        while self.is_told(2):
            time.sleep(0.01)
        return self.is_told(1)

    def answer(self, fd, request):
        length, op, unique, node, uid, gid = struct.unpack_from("<IIQQII", request)
        rest = request[40:length]
        err, body = 0, b""
        if op in (FORGET, BATCH_FORGET):
            return
        if op in (INIT, OPEN, OPENDIR, STATFS, ACCESS, RELEASE, RELEASEDIR, FLUSH):
            return super().answer(fd, request)
        if op == LOOKUP:
            found = self.files.get(rest.rstrip(b"\0"))
            err, body = (0, self.entry(found)) if found else (errno.ENOENT, b"")
        elif op == GETATTR:
            body = struct.pack("<QII", 0, 0, 0) + self.attr(node)
        elif op == SETATTR:
            valid, size, mode = struct.unpack_from("<I12xQ44xI", rest)
            if valid & ATTR_SIZE:
                del self.nodes[node][0][size:]
            if valid & ATTR_MODE:
                self.nodes[node][1] = mode & 0o7777
            body = struct.pack("<QII", 0, 0, 0) + self.attr(node)
        elif op == CREATE:
            new = self.files[rest[16:].rstrip(b"\0")] = max(self.nodes, default=ROOT) + 1
            self.nodes[new] = [bytearray(), struct.unpack_from("<I", rest, 4)[0] & 0o7777, uid, gid]
            body = self.entry(new) + struct.pack("<QII", 7, 1, 0)
        elif op == READ:
            _, at, size = struct.unpack_from("<QQI", rest)
            body = bytes(self.nodes[node][0][at : at + size])
        elif op == WRITE:
            _, at, size = struct.unpack_from("<QQI", rest)
            err = self.is_told(0)
            if not err:
                self.nodes[node][0][at : at + size] = rest[40 : 40 + size]
                body = struct.pack("<II", size, 0)
        elif op == RENAME:
            old, new = rest[8:].split(b"\0")[:2]
            self.files[new] = self.files.pop(old)
        elif op == UNLINK:
            err = 0 if self.files.pop(rest.rstrip(b"\0"), 0) else errno.ENOENT
        elif op in (FSYNC, FSYNCDIR):
            err = self.flush()
        else:
            err = errno.ENOSYS
        os.write(fd, struct.pack("<IiQ", 16 + len(body), -err, unique) + body)
