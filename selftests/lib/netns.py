# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces on this machine, on a bridge of their own. What is made here is removed by the
process that made it."""

import atexit, ctypes, os, shutil, subprocess, sys

from environment import own_name
from ktap import skip_all


def sh(*words, check=True):
    return subprocess.run(
        words, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


has_own_run = False


def own_run(folders):
    """From now on this process and its children see another /run, with these directories (name: uid
    of the owner, which may be another one the next time). Namespaces that were made before could
    not be removed any more."""
    if not has_own_run:
        other_run()
    for name, owner in folders.items():
        path = os.path.join("/run", name)
        os.makedirs(path, 0o755, exist_ok=True)
        os.chown(path, owner, owner)


def other_run():
    global has_own_run
    has_own_run = True
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000):  # CLONE_NEWNS
        raise OSError(ctypes.get_errno(), "unshare")
    sh("mount", "--make-rprivate", "/")
    os.makedirs("/run/netns", exist_ok=True)  # no namespace was made since the machine started
    kept = os.open("/run/netns", os.O_PATH)
    sh("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    os.mkdir("/run/netns")
    sh("mount", "--no-canonicalize", "--rbind", f"/proc/{os.getpid()}/fd/{kept}", "/run/netns")
    os.close(kept)


def without_agents():
    """Begins this test again where no agent is: in a network namespace, and with a /run, of its
    own."""
    if os.environ.get("EHS_TEST_NETNS") == "1":
        return
    os.environ["EHS_TEST_NETNS"] = "1"
    how = [
        "unshare",
        "-nm" if os.geteuid() == 0 else "-rnm",
        "sh",
        "-ec",
        'mount -t tmpfs -o mode=755 run /run; exec "$@"',
        "sh",
    ]
    if subprocess.run([*how, "true"], capture_output=True).returncode:
        skip_all("no network namespace can be made here")
    os.execvp(how[0], [*how, sys.executable, "-B", *sys.argv])


class Net:
    """Namespaces PREFIX0..n-1 on one bridge in PREFIXbr: nothing touches the host's network."""

    def __init__(self, n):
        if os.geteuid():
            skip_all("only root can make network namespaces")
        if not shutil.which("ip"):
            skip_all("the ip tool is missing (apt-get install iproute2)")
        name = own_name()
        self.prefix = next(
            p
            for p in (f"{name}{more}-" for more in ("", *"abcdefgh"))
            if not os.path.exists(f"/run/netns/{p}br")
        )
        self.made = []
        atexit.register(self.remove)
        self.add("br")
        self.ip("br", "link", "add", "br0", "type", "bridge")
        self.ip("br", "link", "set", "br0", "up")
        for i in range(n):
            self.add(i)
            # from inside: before Linux 6.14 an eth0 of this machine is in the way
            self.ip(
                i,
                "link",
                "add",
                "name",
                "eth0",
                "address",
                ether(i),
                "type",
                "veth",
                "peer",
                "name",
                f"p{i}",
                "netns",
                self.name("br"),
            )
            self.ip(i, "addr", "add", f"{address(i)}/24", "dev", "eth0")
            for device in "eth0", "lo":
                self.ip(i, "link", "set", device, "up")
            self.ip("br", "link", "set", f"p{i}", "master", "br0", "up")
            self.introduce(i, n)

    def introduce(self, i, n):
        """Tells node i where the others are. All namespaces of a machine share one table of 1024
        neighbours that were found by ARP: when 64 nodes have filled it, no other test gets a
        connection either."""
        known = "".join(
            f"neigh add {address(j)} lladdr {ether(j)} dev eth0 nud permanent\n"
            for j in range(n)
            if j != i
        )
        subprocess.run(
            ["ip", "-n", self.name(i), "-batch", "-"], input=known, check=True, text=True
        )

    def name(self, i):
        return f"{self.prefix}{i}"

    def port(self, i):
        """The switch's end of node i's wire."""
        return f"p{i}"

    def switch(self, *words):
        """ip, where the switch is."""
        return self.ip("br", *words)

    def add(self, i):
        made = sh("ip", "netns", "add", self.name(i), check=False)
        if made.returncode:
            skip_all(f"network namespaces cannot be made: {made.stderr.strip()}")
        self.made.append(i)

    def ip(self, i, *words):
        return sh("ip", "-n", self.name(i), *words)

    def remove(self):
        for i in self.made:
            sh("ip", "netns", "del", self.name(i), check=False)
        self.made = []

    def enter(self, i):
        """For what Python does itself there: use as `with net.enter(i):`."""
        return Inside(self.name(i))


class Inside:
    def __init__(self, name):
        self.setns = ctypes.CDLL(None, use_errno=True).setns
        self.path = f"/run/netns/{name}"

    def enter(self, path):
        fd = os.open(path, os.O_RDONLY)
        try:
            if self.setns(fd, 0x40000000):
                raise OSError(f"setns {path}")
        finally:
            os.close(fd)

    def __enter__(self):
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.enter(self.path)

    def __exit__(self, *why):
        self.setns(self.home, 0x40000000)
        os.close(self.home)


def address(i):
    return f"10.77.0.{i + 1}"


def ether(i):
    return f"02:00:0a:4d:00:{i + 1:02x}"
