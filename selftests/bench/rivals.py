# SPDX-License-Identifier: GPL-2.0-or-later
"""Other programs that share work among hosts, set up as their manuals say, on the nodes of a
Cluster with Shares. Their daemons run in the nodes' namespaces and shares, in mount and UTS
namespaces of their own where what ./peers-unpack has unpacked is part of /usr.

Each has start(), and stop() after which nothing is left. tasks(count, words) are the words that use
it, compile() what CXX is and its environment; home() is what starts them at node 0."""
import collections
import os
import re
import secrets
import shlex
import subprocess
import sys

from netns import address
from shared_ssh import SharedSsh
from wait import until

HERE = os.path.dirname(os.path.abspath(__file__))
SLOTS = 2  # on each node: with one, a node would wait while its next task is on its way
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
USERS = {"icecc": 64124, "distccd": 64125}  # whom these daemons become


def unpacked(script):
    try:
        return subprocess.check_output([f"{HERE}/{script}"], text=True).strip()
    except subprocess.CalledProcessError:
        sys.exit(f"peers: {script} failed: is the Debian archive reachable?")


def text_of(path):
    return open(path, errors="replace").read() if os.path.exists(path) else ""


class Rival:
    packages = None  # where its packages are unpacked

    def __init__(self, cluster, shares):
        self.c, self.shares = cluster, shares
        self.n = cluster.n
        self.dir = os.path.join(cluster.dir, type(self).__name__.lower())
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o755)
        self.daemons = []

    def on(self, i, *words):
        """The command that runs these words on node i, where the packages are."""
        setup = (
            f"hostname n{i}; mount -t overlay -o ro,lowerdir={Rival.packages}/usr:/usr none /usr;"
            " mount -t tmpfs -o mode=755 run /run; for d in munge icecc; do mkdir -p /run/$d;"
            f" done; if [ -d {self.dir}/run{i} ]; then mount --bind {self.dir}/run{i} /run/munge;"
            ' fi; exec "$@"'
        )
        return self.shares.within(
            i, "unshare", "--mount", "--uts", "sh", "-ec", setup, "sh", *words
        )

    def home(self, *words):
        return self.on(0, *words)

    def daemon(self, i, *words, env=()):
        log = open(f"{self.dir}/out{i}.log", "a")
        self.daemons.append(
            subprocess.Popen(
                self.on(i, "env", *env, *words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        )

    def wait_for(self, what, condition):
        if (
            not until(lambda: condition() or any(d.poll() is not None for d in self.daemons))
            or not condition()
        ):
            names = [name for name in sorted(os.listdir(self.dir)) if name.endswith(".log")]
            logs = "".join(f"{name}:\n{text_of(f'{self.dir}/{name}')[-2000:]}\n" for name in names)
            raise RuntimeError(f"{type(self).__name__}: {what}\n{logs}")

    def begin(self):
        """Before each time that it is measured."""

    def ran(self):
        """How many tasks each node had since begin(), as its own records say; None: they do not."""
        return None

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def by_address(self, addresses):
        count = collections.Counter(addresses)
        return [count[address(i)] for i in range(self.n)]


class Parallel(Rival):
    """GNU parallel, over connections of ssh that stay open."""

    def start(self):
        self.ssh = []
        for i in range(1, self.n):
            self.ssh.append(
                SharedSsh(
                    unpacked("sshd"), self.shares.within(0), self.shares.within(i), address(i)
                )
            )

    def tasks(self, count, words):
        hosts = ",".join([f"{SLOTS}/:", *(f"{SLOTS}/{shlex.join(ssh.words)}" for ssh in self.ssh)])
        return [
            "env",
            f"PARALLEL_HOME={self.dir}",
            "parallel",
            "--will-cite",
            "--joblog",
            f"{self.dir}/jobs",
            "-S",
            hosts,
            "-n0",
            shlex.join(words),
            ":::",
            *map(str, range(count)),
        ]

    def home(self, *words):
        return self.shares.within(0, *words)

    def ran(self):
        """The column of the host in the log of jobs."""
        hosts = [line.split("\t")[1] for line in text_of(f"{self.dir}/jobs").splitlines()[1:]]
        return self.by_address(
            [host.rpartition("@")[2] if "@" in host else address(0) for host in hosts]
        )

    def stop(self):
        for ssh in getattr(self, "ssh", ()):
            ssh.stop()


class Slurm(Rival):
    """An allocation of all nodes is made beforehand. Each task is a step of its own, started as
    soon as there is a processor."""

    def start(self):
        key = f"{self.dir}/munge.key"
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o400), "wb") as f:
            f.write(secrets.token_bytes(128))
        for i in range(self.n):
            os.mkdir(f"{self.dir}/run{i}")
            os.chmod(f"{self.dir}/run{i}", 0o755)
        with open(f"{self.dir}/slurm.conf", "w") as f:
            f.write(
                f"""ClusterName=bench
SlurmctldHost=n0({address(0)})
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation={self.dir}/state
SlurmdSpoolDir={self.dir}/spool-%n
SlurmctldPidFile={self.dir}/slurmctld.pid
SlurmdPidFile={self.dir}/slurmd-%n.pid
SlurmctldLogFile={self.dir}/slurmctld.log
SlurmdLogFile={self.dir}/slurmd-%n.log
"""
                + "".join(
                    f"NodeName=n{i} NodeAddr={address(i)} CPUs={SLOTS}\n" for i in range(self.n)
                )
                + "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
            )
        for i in range(self.n):
            self.daemon(
                i,
                "munged",
                "--foreground",
                "--force",
                f"--key-file={key}",
                "--socket=/run/munge/munge.socket.2",
                "--pid-file=/run/munge/munged.pid",
                f"--seed-file={self.dir}/seed{i}",
                f"--log-file={self.dir}/munged{i}.log",
            )
        self.wait_for(
            "no munged",
            lambda: all(os.path.exists(f"{self.dir}/run{i}/munge.socket.2") for i in range(self.n)),
        )
        self.env = f"SLURM_CONF={self.dir}/slurm.conf"
        self.daemon(0, "slurmctld", "-D", env=[self.env])
        for i in range(self.n):
            self.daemon(i, "slurmd", "-D", "-N", f"n{i}", env=[self.env])
        self.wait_for(
            "nodes are not idle",
            lambda: self.ask("sinfo", "-h", "-o", "%T %D").split() == ["idle", str(self.n)],
        )
        self.job = re.search(
            r"\d+", self.ask("salloc", "--no-shell", "-N", str(self.n), "--exclusive", errors=True)
        )
        if not self.job:
            raise RuntimeError("Slurm: no allocation")
        self.job = self.job[0]

    def ask(self, *words, errors=False):
        return subprocess.run(
            self.on(0, "env", self.env, *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
            text=True,
        ).stdout

    def begin(self):
        """Where each task was is in what the nodes log."""
        self.before = [self.launched(i) for i in range(self.n)]

    def launched(self, i):
        return len(re.findall(r"launch task", text_of(f"{self.dir}/slurmd-n{i}.log")))

    def tasks(self, count, words):
        step = f"srun --jobid={self.job} -N1 -n1 --exact -Q {shlex.join(words)}"
        many = (
            f'for i in $(seq {count}); do {step} & p="$p $!"; done; for i in $p; do wait $i ||'
            " exit; done"
        )
        return ["env", self.env, "sh", "-c", many]

    def step(self, count, words):
        """All tasks as one step."""
        return [
            "env",
            self.env,
            "srun",
            f"--jobid={self.job}",
            "-n",
            str(count),
            "--overcommit",
            "-Q",
            *words,
        ]

    def ran(self):
        return [self.launched(i) - self.before[i] for i in range(self.n)]

    def stop(self):
        if getattr(self, "job", None):
            self.ask("scancel", self.job)
        super().stop()


class Icecc(Rival):
    def start(self):
        os.chown(self.dir, USERS["icecc"], USERS["icecc"])
        self.daemon(0, "icecc-scheduler", "-n", "bench", "-l", f"{self.dir}/scheduler.log", "-vv")
        for i in range(self.n):
            os.makedirs(f"{self.dir}/envs{i}")
            os.chown(f"{self.dir}/envs{i}", USERS["icecc"], USERS["icecc"])
            self.daemon(
                i,
                "iceccd",
                "-n",
                "bench",
                "-s",
                address(0),
                "-m",
                str(SLOTS),
                "-N",
                f"n{i}",
                "-b",
                f"{self.dir}/envs{i}",
                "-u",
                "icecc",
                "-l",
                f"{self.dir}/iceccd{i}.log",
                "-vv",
                env=[f"ICECC_TEST_SOCKET={self.dir}/socket{i}"],
            )
        self.wait_for(
            "the scheduler is not found",
            lambda: all(
                "Connected to scheduler" in text_of(f"{self.dir}/iceccd{i}.log")
                for i in range(self.n)
            ),
        )

    def compile(self):
        return "icecc g++", [
            f"ICECC_TEST_SOCKET={self.dir}/socket0",
            f"ICECC_LOGFILE={self.dir}/client.log",
            "ICECC_DEBUG=debug",
        ]

    def begin(self):
        self.at = len(text_of(f"{self.dir}/client.log"))

    def ran(self):
        """Its log names hosts other than this one."""
        log = text_of(f"{self.dir}/client.log")[self.at :]
        away = self.by_address(re.findall(r"Have to use host ([\d.]+):", log))[1:]
        return [len(re.findall(r"building myself", log)), *away]


class Distcc(Rival):
    def start(self):
        for i in range(1, self.n):
            self.daemon(
                i,
                "distccd",
                "--daemon",
                "--no-detach",
                "--user",
                "distccd",
                "--jobs",
                str(SLOTS),
                "--allow",
                "10.77.0.0/24",
                "--listen",
                address(i),
                "--log-file",
                f"{self.dir}/distccd{i}.log",
                env=["TMPDIR=/tmp"],
            )
        os.makedirs(f"{self.dir}/client")
        for i in range(1, self.n):
            self.wait_for(
                "no daemon",
                lambda: subprocess.run(
                    self.c.words(0, "bash", "-c", f"exec 3<>/dev/tcp/{address(i)}/3632"), **QUIET
                ).returncode
                == 0,
            )

    def compile(self):
        hosts = " ".join(
            [*(f"{address(i)}/{SLOTS},lzo" for i in range(1, self.n)), f"localhost/{SLOTS}"]
        )
        return "distcc g++", [
            f"DISTCC_DIR={self.dir}/client",
            f"DISTCC_HOSTS={hosts}",
            "DISTCC_FALLBACK=0",
            "DISTCC_VERBOSE=1",
            f"DISTCC_LOG={self.dir}/client.log",
        ]

    def begin(self):
        self.at = len(text_of(f"{self.dir}/client.log"))

    def ran(self):
        log = text_of(f"{self.dir}/client.log")[self.at :]
        found = re.findall(r"compile u\d+\.cc on ([\w.]+)\S* completed ok", log)
        return self.by_address([address(0) if host == "localhost" else host for host in found])
