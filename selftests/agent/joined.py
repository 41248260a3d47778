# SPDX-License-Identifier: GPL-2.0-or-later
"""A view's two sides without agents: ehview and ehfiles, joined by a socket."""

import ctypes, fcntl, os, socket, struct, subprocess
from mounts import libc
from tree import BUILD

FUSE_DEV_IOC_CLONE = 0x8004E500
VIEW_CONNECT = 2


class View:
    """Home's directory `home`, shown at `at`, in a mount namespace of this process's."""

    def __init__(self, home, at):
        device, second = os.open("/dev/fuse", os.O_RDWR), os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"ehsched", at.encode(), b"fuse", 6, options.encode()):
            raise OSError(ctypes.get_errno(), "mount of type fuse")
        fcntl.ioctl(second, FUSE_DEV_IOC_CLONE, struct.pack("I", device))
        here, there = socket.socketpair()
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connects, connected = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(60)
        self.view = self.start(
            ["ehview", "1", str(os.geteuid())], control.fileno(), device, here.fileno(), second
        )
        self.files = self.start(["ehfiles", home], connected.fileno())
        socket.send_fds(self.connects, [struct.pack("II", 0, VIEW_CONNECT)], [there.fileno()])
        for fd in (device, second):
            os.close(fd)
        for s in (here, there, control, connected):
            s.close()
        self.ticket = 0

    def start(self, words, *fds):
        def place():
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in fds]
            for i, fd in enumerate(high):
                os.dup2(fd, i)
            os.closerange(len(fds), 300)

        return subprocess.Popen(
            [os.path.join(BUILD, "bin", words[0]), *words[1:]],
            preexec_fn=place,
            close_fds=False,
            umask=0,
        )

    def sync(self, ended=False):
        self.ticket += 1
        self.control.send(struct.pack("II", self.ticket, ended))
        assert struct.unpack("I", self.control.recv(4))[0] == self.ticket
