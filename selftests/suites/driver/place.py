# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the suites run: on one of two agents of this machine, in network namespaces, that see the
same files."""

import collections, ctypes, os, shutil, signal, subprocess, sys, threading, time

SELFTESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(SELFTESTS, "lib"), os.path.join(SELFTESTS, "agent")]
import users
import cluster
from commands import STUB
from frames import frame, read_frame
from mounts import MS_BIND, libc
from proc import send, stat
from tree import BUILD
from wait import until

CACHE = os.path.join(
    os.environ.get("EHS_CACHE")
    or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ehsched"),
    "suites",
)
TOP = "/mnt"  # the cache, for this process and its children: the same path for all users
AWAY = os.path.join(TOP, "away")  # while the stub is in it, programs leave
USER = users.THREE
# Nobody is overloaded, an ask may take its time, and a task of a suite is not lost.
SETTINGS = (
    "threshold-floor = 100000\nheartbeat = 3000\ntime-limit = 10000\njob-limit = 600000\nguests ="
    " 1000\ndwell = 0"
)
ROOM = {"command": "set", "threshold": 100000000, "length": 0, "load-index": "tasks"}


def become(uid):
    os.setgroups([uid] if uid else [])
    os.setgid(uid)
    os.setuid(uid)


class Events(threading.Thread):
    """Counts what node 0's agent says of its placements, as `ehctl watch` shows them."""

    def __init__(self, place):
        super().__init__(daemon=True)
        self.left, self.stayed = 0, collections.Counter()
        self.socket = place.connect(0)
        self.socket.settimeout(None)
        self.socket.sendall(frame("FRAME_REQUEST", b'{"command":"watch"}'))
        self.start()

    def run(self):
        try:
            while True:
                event = read_frame(self.socket)[1]
                if event.get("event") != "place":
                    continue
                if event["executor"] == event["home"]:
                    self.stayed[event["reason"]] += 1
                else:
                    self.left += 1
        except (OSError, EOFError, ValueError):
            pass


class Agents:
    top, away, user, cache = TOP, AWAY, USER, CACHE
    mounted = False

    def __init__(self, view="shared"):
        """`view`: whose files tasks see that left."""
        users.add()  # a mount namespace of this process, too
        os.makedirs(CACHE, mode=0o755, exist_ok=True)
        if not Agents.mounted and libc.mount(CACHE.encode(), TOP.encode(), None, MS_BIND, None):
            raise OSError(ctypes.get_errno(), f"cannot mount {CACHE} at {TOP}")
        Agents.mounted = True
        self.stub(False)
        self.cluster = cluster.Cluster(2, f'{SETTINGS}\nview = "{view}"')
        os.chmod(self.cluster.dir, 0o755)
        if not self.cluster.start_all():
            raise RuntimeError("two agents did not come up together: " + self.log())
        for i in range(2):
            self.cluster.ask(i, ROOM)
        if not until(
            lambda: all(
                n["threshold"] == 100000
                for n in self.cluster.ask(0, {"command": "status"})["nodes"]
            )
        ):
            raise RuntimeError("the agents do not take settings: " + self.log())
        self.events = Events(self.cluster)
        self.mounts = os.readlink("/proc/self/ns/mnt")

    def log(self):
        return "\n".join((self.cluster.log(0) + self.cluster.log(1)).splitlines()[-20:])

    def stub(self, there):
        """Whether programs leave."""
        shutil.rmtree(AWAY, ignore_errors=True)
        if there:
            os.mkdir(AWAY, 0o755)
            shutil.copy(STUB, AWAY)

    def counts(self):
        return self.events.left, collections.Counter(self.events.stayed)

    def run(self, script, tree, log, environment, uid, bound, show):
        """A script of sh in the tree, on node 0. Its exit status, or None: it was not over in
        time."""
        temporary = os.path.join(TOP, "tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        os.mkdir(temporary)
        os.chmod(temporary, 0o1777)
        home = os.path.join(temporary, "home")
        os.mkdir(home)
        os.chown(home, uid, uid)
        with open(log, "wb") as out, self.cluster.net.enter(0):
            # the user's, as if his shell had opened it
            os.fchown(out.fileno(), uid, uid)
            p = subprocess.Popen(
                ["/bin/sh", "-c", script],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**environment, "TMPDIR": temporary, "HOME": home},
                start_new_session=True,
                preexec_fn=lambda: become(uid),
            )
        end = time.monotonic() + bound
        status = None
        try:
            while status is None and time.monotonic() < end:
                try:
                    status = p.wait(1)
                except subprocess.TimeoutExpired:
                    show()
        finally:  # also when this driver is to end
            self.clean(p.pid, uid)
            p.wait()
            shutil.rmtree(temporary, ignore_errors=True)
        return status

    def clean(self, session, uid):
        """Ends what a run has left: its session, and what its user has in this mount namespace."""
        for _ in range(100):
            found = [
                pid
                for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if self.is_left(pid, session, uid)
            ]
            for pid in found:
                send(pid, signal.SIGKILL)
            if not found:
                return
            time.sleep(0.05)

    def is_left(self, pid, session, uid):
        try:
            its = stat(pid)
            if not its or its[1] in "ZX":
                return False
            return int(its[4]) == session or (
                uid
                and os.stat(f"/proc/{pid}").st_uid == uid
                and os.readlink(f"/proc/{pid}/ns/mnt") == self.mounts
            )
        except OSError:
            return False

    def end(self):
        self.stub(False)
        self.cluster.stop()
