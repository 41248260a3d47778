# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole hosts on this machine: each is a systemd in namespaces of its own (processes, mounts,
network, name, cgroups), on an overlay of a system, so that what is installed and configured there
is gone with it. Nothing is written outside of it, and nothing but its own network is seen from
inside. What they lack of a host is a kernel of their own."""

import atexit, ctypes, fcntl, os, shlex, shutil, signal, subprocess, tempfile, threading

from ktap import skip_all
from netns import Net, address
from wait import WAIT, until

SYSTEMD = "/lib/systemd/systemd"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT = 120  # seconds
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)

# $1 system  $2 scratch directory  $3 host name  $4 cgroup of the host  $5 what to do in the system
# before it starts
START = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 scratch "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
export ROOT=$PWD
# only what is asked for is started: not what a system starts on a machine
rm -rf usr/lib/systemd/system/*.target.wants lib/systemd/system/*.target.wants
rm -rf etc/systemd/system/*.target.wants
rm -f etc/resolv.conf
mkdir -p dev proc sys run tmp old
mount -t tmpfs -o mode=755 dev dev
for device in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 dev/${device%:*} c 1 ${device#*:}
done
mknod -m 666 dev/tty c 5 0
mknod -m 666 dev/fuse c 10 229
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
echo "$3" >etc/hostname
hostname "$3"
eval "$5"
pivot_root . old
umount -l /old
exec "$0" --system --unit=basic.target
"""


def cgroup2():
    """Where the cgroup2 hierarchy is."""
    for mount in "/sys/fs/cgroup/unified", "/sys/fs/cgroup":
        if os.path.exists(os.path.join(mount, "cgroup.procs")):
            return mount
    return skip_all("needs a cgroup2 hierarchy")


def controllers():
    """Lets hosts have the controllers of a guest, which is only the test's."""
    for name in ("cpu", "memory", "pids") if "EHS_SHARE" in os.environ else ():
        try:
            with open(os.path.join(cgroup2(), "cgroup.subtree_control"), "w") as control:
                control.write(f"+{name}")
        except OSError:
            pass


class Shell:
    """A shell of a user on a host that goes on from command to command, as one in front of a
    person."""

    LOOP = (
        'while IFS= read -r -d "" -u 3 line; do eval "$line" 3<&-; printf "\\n%s %d\\n" "$MARK" $?;'
        " done"
    )

    def __init__(self, host, user):
        self.mark = f"--mark-{os.urandom(8).hex()}--"
        self.said, self.ended = bytearray(), False
        low, self.asks = os.pipe()
        asks = fcntl.fcntl(low, fcntl.F_DUPFD, 10)  # not 3, which it becomes
        os.close(low)
        user = [] if user == "root" else ["runuser", "-u", user, "--"]
        home = "/root" if not user else f"/home/{user[2]}"
        script = (
            f"cd {home} && exec {shlex.join(user)} env -i HOME={home} PATH={PATH} LC_ALL=C.UTF-8"
            f" TERM=dumb TZ=UTC MARK={self.mark} bash -c"
            f" {shlex.quote(self.LOOP)} 3<&{asks} {asks}<&-"
        )
        self.process = subprocess.Popen(
            host.words("bash", "-c", script),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[asks],
            preexec_fn=host.enter_cgroup,
        )
        os.close(asks)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while data := os.read(self.process.stdout.fileno(), 65536):
            self.said += data
        self.ended = True

    def run(self, command, limit=WAIT * 10):
        """(status, what it printed); status None: it did not end in time."""
        begin = len(self.said)
        os.write(self.asks, command.encode() + b"\0")
        mark = f"\n{self.mark} ".encode()
        until(
            lambda: self.ended
            or self.said.find(b"\n", self.said.find(mark, begin) + len(mark))
            > self.said.find(mark, begin)
            >= 0,
            limit,
        )
        said = bytes(self.said[begin:])
        if mark not in said:
            return None, said.decode(errors="replace")
        said, status = said.split(mark)
        return int(status), said.decode(errors="replace")


class Host:
    def __init__(self, hosts, i):
        self.name, self.network = f"n{i}", hosts.net.name(i)
        self.cgroup = os.path.join(cgroup2(), f"{hosts.net.prefix}host{i}")
        self.shells = {}
        self.scratch = tempfile.mkdtemp(prefix="ehs-host-")
        self.log = os.path.join(hosts.dir, f"{self.name}.log")
        try:
            os.makedirs(os.path.join(self.cgroup, "shells"))
        except OSError as error:
            skip_all(f"cgroups cannot be made: {error}")
        with open(self.log, "w") as log:
            self.outer = subprocess.Popen(
                [
                    "nsenter",
                    f"--net=/run/netns/{self.network}",
                    "unshare",
                    "--fork",
                    "--kill-child",
                    "--pid",
                    "--mount",
                    "--uts",
                    "--ipc",
                    "--cgroup",
                    "bash",
                    "-c",
                    START,
                    SYSTEMD,
                    hosts.system,
                    self.scratch,
                    self.name,
                    self.cgroup,
                    hosts.prepare,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "container": "other"},
                preexec_fn=self.begin,
            )
        self.inner = None

    def begin(self):
        """In the first process: it ends with the test, however that ends."""
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        self.enter_cgroup("")

    def enter_cgroup(self, name="shells"):
        with open(os.path.join(self.cgroup, name, "cgroup.procs"), "w") as procs:
            procs.write("0")

    def up(self):
        """Whether its systemd has started; waits for it."""
        children = f"/proc/{self.outer.pid}/task/{self.outer.pid}/children"
        until(lambda: self.outer.poll() is not None or open(children).read(), BOOT)
        try:
            self.inner = int(open(children).read())
        except (OSError, ValueError):
            return False
        active = ["systemctl", "is-active", "-q", "basic.target"]
        # no process may be in a cgroup whose own cgroups have controllers
        with open(os.path.join(cgroup2(), "cgroup.procs"), "w") as procs:
            procs.write(str(self.outer.pid))
        return (
            until(
                lambda: self.outer.poll() is not None
                or os.path.basename(os.readlink(f"/proc/{self.inner}/exe")) == "systemd"
                and self.run(*active).returncode == 0,
                BOOT,
            )
            and self.outer.poll() is None
        )

    def words(self, *words):
        """The command that runs these words there."""
        return ["nsenter", "-t", str(self.inner), "-p", "-m", "-n", "-u", "-i", "-C", *words]

    def run(self, *words):
        return subprocess.run(
            self.words(*words),
            capture_output=True,
            text=True,
            timeout=BOOT,
            stdin=subprocess.DEVNULL,
            check=False,
            env={"PATH": PATH, "LC_ALL": "C.UTF-8"},
        )

    def shell(self, user):
        if user not in self.shells:
            self.shells[user] = Shell(self, user)
        return self.shells[user]

    def end(self):
        """All processes of the host end with its first one."""
        self.outer.kill()
        self.outer.wait()
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            until(lambda path=folder: not os.path.exists(path) or remove(path))
        os.rmdir(self.scratch)


def remove(cgroup):
    """Whether it is gone: it is busy until its last process is."""
    try:
        os.rmdir(cgroup)
        return True
    except OSError:
        return False


class Hosts:
    """Hosts n0..n-1 on a network of their own. `system`: the directory of the system that all begin
    with; `prepare`: commands of a shell that change it, with its directory in $ROOT."""

    def __init__(self, n, system="/", prepare=":"):
        if os.geteuid():
            skip_all("only root can make hosts")
        if not os.path.exists(os.path.join(system, SYSTEMD[1:])):
            skip_all("systemd is missing (apt-get install systemd)")
        self.dir = tempfile.mkdtemp(prefix="ehs-hosts-")
        self.system, self.hosts = system, []
        self.net = Net(n)
        names = "".join(f"{address(i)} n{i}\\n" for i in range(n))
        self.prepare = f'printf "127.0.0.1 localhost\\n{names}" >"$ROOT/etc/hosts"; {prepare}'
        atexit.register(self.end)
        controllers()
        for i in range(n):
            self.hosts.append(Host(self, i))

    def __getitem__(self, i):
        return self.hosts[i]

    def up(self):
        return all(h.up() for h in self.hosts)

    def log(self):
        """Of their starts, and of the agents."""
        return "\n".join(open(h.log).read() for h in self.hosts)

    def end(self):
        for h in self.hosts:
            h.end()
        self.hosts = []
        shutil.rmtree(self.dir, ignore_errors=True)
