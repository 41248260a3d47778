# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents on this machine, each in a network namespace of its own, for tests that need no module.
Everything made here is ended by the process that made it."""

import atexit, fcntl, json, os, re, select, shlex, shutil, signal, socket, struct, subprocess
import sys, tempfile, traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ktap, left, netns, users
from commands import AGENT, EHCTL, LAUNCH, STUB, Commands
from ktap import failed, ok
from netns import Net, address, sh
from proc import send
from tree import TOP
from wait import WAIT, until

USER = 64123  # of agents without rights: nobody else's
CRASHES = signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE
STRANGERS = 64  # connections without a certificate that an agent keeps: STRANGERS_MAX

os.chdir(TOP)


def removed(cgroup):
    """Whether it is gone: it is busy until its last process is."""
    try:
        os.rmdir(cgroup)
    except OSError:
        pass
    return not os.path.exists(cgroup)


def shown_at(master):
    """What the terminal with this other side shows, and see(what), which waits until it has shown
    that."""
    shown = bytearray()

    def see(what):
        def look():
            if select.select([master], [], [], 0)[0]:
                try:
                    shown.extend(os.read(master, 4096))
                except OSError:
                    pass
            return what in shown

        return until(look)

    return shown, see


# ---- agents ----


def alone():
    """Waits until no other test has as many agents: two of these at once are too much for a small
    machine."""
    held = open(__file__)
    fcntl.flock(held, fcntl.LOCK_EX)
    return held


class Cluster(Commands):
    """Configurations and certificates for n nodes, and the agents that were started."""

    managed = False  # execs are intercepted
    bound = 20  # seconds for what ends by itself when its task or agent has ended
    stopped = False  # all has been removed

    def __init__(self, n, settings="", topology="2,1", apart=True):
        """`apart`: agents run as a user of their own, and root's ehlaunch listens for them, as when
        installed. Else root's own agents start theirs."""
        self.apart = apart
        self.launchers = {}
        self.wrapped = {}  # (node, program): what starts it instead
        self.crashed = []  # agents that ended by themselves, of a defect
        self.roots = {}  # node: the words before those of its ehlaunch
        self.n = n
        self.topology = topology
        if n > 16:
            self.alone = alone()
        users.add()
        netns.own_run({"ehsched": USER if apart else 0})
        if apart:
            users.add_group("ehsched", USER)
        self.net = Net(n)
        self.dir = tempfile.mkdtemp(prefix="ehs-agent-")
        self.settings = settings
        self.agents = {}
        self.confs = {}  # of those that have been started
        self.late = []  # nodes whose agents did not end when they were told to
        atexit.register(self.at_exit)
        self.certificates("cert", *[f"n{i}" for i in range(n)])
        if apart:
            os.chmod(self.dir, 0o755)

    def certificates(self, folder, *hosts):
        path = os.path.join(self.dir, folder)
        if not os.path.exists(path):
            sh(EHCTL, "cert", "init", path)
        sh(EHCTL, "cert", "node", path, *hosts)
        return path

    def code(self, i):
        """The i-th node's: its digits below the top, each n bits."""
        n, levels = map(int, self.topology.split(","))
        return ".".join(
            ["0"] + [str(i >> n * level & (1 << n) - 1) for level in reversed(range(levels))]
        )

    def conf(self, i, cluster="test", cert=None, host=None, settings=None, peers=None, join=None):
        """Writes nI.conf; returns its path. `join`: it asks these nodes for a place instead of
        having one."""
        cert = cert or os.path.join(self.dir, "cert")
        host = host or f"n{i}"
        path = os.path.join(self.dir, f"n{i}.conf")
        if join is None:
            place = [f'node = "{self.code(i)}"', f'topology = "{self.topology}"']
        else:
            asked = ", ".join(f'"{address(j)}"' for j in join)
            place = [f"join = {{ {asked} }}", f'address = "{address(i)}:7411"']
        lines = [
            f'cluster = "{cluster}"',
            *place,
            f'state = "{self.state(i)}"',
            f'certificate = "{cert}/{host}.crt"',
            f'key = "{cert}/{host}.key"',
            f'authority = "{cert}/ca.crt"',
            f'cgroup = "{self.cgroup(i)}"',
            f'stub = "{self.program(i, "ehstub")}"',
            "heartbeat = 300",
            "allow-root = true",
            'log = "debug"',
            self.settings if settings is None else settings,
        ]
        if self.apart:
            lines.append(f'launcher = "{self.launcher(i)}"')
        if peers is None:
            peers = range(self.n) if join is None else []
        for j in peers:
            name = host if j == i else f"n{j}"
            lines.append(
                f'peer "{self.code(j)}" {{ host = "{name}" address = "{address(j)}:7411" }}'
            )
        with open(path, "w") as out:
            out.write("\n".join(lines) + "\n")
        self.give(cert)
        return path

    def give(self, path):
        """To the agents' user: a file, or a directory and all in it."""
        if not self.apart:
            return
        os.chown(path, USER, USER)
        for folder, folders, files in os.walk(path):
            for name in folders + files:
                os.chown(os.path.join(folder, name), USER, USER)

    def program(self, i, name):
        """Node i's."""
        return (
            self.wrapped.get((i, name))
            or {"ehagent": AGENT, "ehstub": STUB, "ehlaunch": LAUNCH}[name]
        )

    def wrap(self, i, before="", by="", mounts=False, root=False):
        """Node i's agent starts after these commands of a shell, if they succeed, and by this
        program. `mounts`: its node has mounts of its own, and what the commands mount is seen there
        only. `root`: what root starts of it, which may be its ehlaunch only."""
        own = ["unshare", "-m", "--propagation", "private"] if mounts else []
        words = [*own, "sh", "-ec", f'{before}\nexec {by} "$@"', "sh"]
        if self.apart and (mounts or root):
            self.roots[i] = words
            return
        path = os.path.join(self.dir, f"n{i}.agent")
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {shlex.join([*words, AGENT])} "$@"\n')
        os.chmod(path, 0o755)
        self.wrapped[i, "ehagent"] = path

    def launcher(self, i):
        """Where node i's ehlaunch listens."""
        return os.path.join(self.dir, f"n{i}.launch")

    def launch(self, i, conf=None):
        """Starts what the service manager starts: ehlaunch, with the rules of the configuration,
        and a socket that listens as descriptor 3. An earlier one is killed."""
        words = self.launch_words(i, conf or self.confs.get(i) or self.conf(i))
        enter = self.roots.get(i, [])
        agent = self.agents.get(i)
        if "unshare" in enter and agent and agent.poll() is None:
            enter = ["nsenter", f"--mount=/proc/{agent.pid}/ns/mnt"]
        earlier = self.launchers.pop(i, None)
        if earlier:
            earlier.kill()
            earlier.wait()
            os.unlink(self.launcher(i))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(self.launcher(i))
            os.chown(self.launcher(i), 0, USER)
            os.chmod(self.launcher(i), 0o660)
            s.listen()
            fd = s.fileno()
            os.set_inheritable(fd, True)
            # in a session of its own, as any service: a user's stub takes it for no reader of what
            # the user's session has
            self.launchers[i] = subprocess.Popen(
                [
                    "nsenter",
                    f"--net=/run/netns/{self.net.name(i)}",
                    *enter,
                    "bash",
                    "-c",
                    f'exec "$@" 3<&{fd}',
                    "sh",
                    *words,
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[fd],
                start_new_session=True,
            )

    def launch_words(self, i, conf):
        """The command of node i's ehlaunch."""
        if (i, "ehlaunch") not in self.wrapped:
            return [AGENT, "--launch", "-c", conf]
        return self.launch_alone(i)

    def launch_alone(self, i):
        """The same of an ehlaunch that does not have its rules from an agent's program."""
        return [
            self.program(i, "ehlaunch"),
            "--allow-root",
            "--cgroup",
            self.cgroup(i),
            "--stub",
            self.program(i, "ehstub"),
        ]

    def launches(self, i):
        """Whether node i's ehlaunch serves: it says so to each that connects. The socket listens
        before it does."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(3)
                s.connect(self.launcher(i))
                return bool(s.recv(64))
        except OSError:
            return False

    def etc(self, i):
        """Where `ehctl init` and `join` of node i are told to write."""
        return os.path.join(self.dir, f"etc{i}")

    def finish(self, i, more="", state=None):
        """What a test needs beside what they have written; returns the configuration's path."""
        conf = os.path.join(self.etc(i), "agent.conf")
        with open(conf, "a") as f:
            f.write(
                f'state = "{state or self.state(i)}"\ncgroup = "{self.cgroup(i)}"\nstub ='
                f' "{STUB}"\nlog = "debug"\n{more}'
            )
            if self.apart:
                f.write(f'\nlauncher = "{self.launcher(i)}"\n')
        return conf

    def state(self, i):
        """The file that node i keeps its place in."""
        folder = os.path.join(self.dir, f"n{i}.d")
        if not os.path.exists(folder):
            os.mkdir(folder)
            self.give(folder)
        return os.path.join(folder, "state")

    def cgroup(self, i):
        for mount in "/sys/fs/cgroup/unified", "/sys/fs/cgroup":
            if os.path.exists(os.path.join(mount, "cgroup.procs")):
                return f"{mount}/{self.net.prefix}{i}"
        return f"/sys/fs/cgroup/{self.net.prefix}{i}"

    def start(self, i, conf=None, ready=True):
        self.confs[i] = conf = conf or self.conf(i)
        if self.apart and i not in self.launchers:
            self.launch(i)
        log = open(os.path.join(self.dir, f"n{i}.log"), "a")
        earlier = len(self.log(i))  # what an agent before this one has said
        # not `ip netns exec`: it mounts a new /sys, without the cgroups
        user = ["-S", str(USER), "-G", str(USER)] if self.apart else []
        if "unshare" in self.roots.get(i, []):
            until(lambda: self.launches(i))
            user.append(f"--mount=/proc/{self.launchers[i].pid}/ns/mnt")
        env = {**os.environ, **self.environment(i)}
        if self.apart:
            # LeakSanitizer traces its own process, which this agent may not do
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        # before others on its machine, and in a session of its own, as in ehagent.service
        agent = subprocess.Popen(
            [
                "nice",
                "-n",
                "-10",
                "nsenter",
                f"--net=/run/netns/{self.net.name(i)}",
                *user,
                self.program(i, "ehagent"),
                "-c",
                conf,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            start_new_session=True,
        )
        self.agents[i] = agent
        if ready and not until(
            lambda: "ready: node" in self.log(i)[earlier:] or agent.poll() is not None
        ):
            raise RuntimeError(self.log(i))
        return agent

    def environment(self, i):
        """What agent i has in its environment besides this one's."""
        return {}

    def start_all(self):
        for i in range(self.n):
            self.start(i)
        return self.all_up(range(self.n))

    def all_up(self, nodes):
        """Whether each of the nodes sees each; waits for it."""
        return until(lambda: all(self.up(i) == {self.code(j) for j in nodes} for i in nodes))

    def up(self, i):
        try:
            nodes = self.ask(i, {"command": "status"})["nodes"]
        except (OSError, ValueError):
            return set()
        return {
            node["code"] for node in nodes if node["agent"] == "up" and node["load"] is not None
        }

    def log(self, i):
        try:
            return open(os.path.join(self.dir, f"n{i}.log")).read()
        except FileNotFoundError:
            return ""

    def logged(self, i, pattern):
        """The first match in node i's log; waits for it."""
        return until(lambda: re.search(pattern, self.log(i)))

    def end(self, i, sig=signal.SIGTERM):
        """Ends an agent; returns its exit status."""
        agent = self.agents.pop(i)
        if agent.poll() is None:
            agent.send_signal(sig)
        elif -agent.returncode in CRASHES:
            self.crashed.append(f"n{i}: {signal.strsignal(-agent.returncode)}")
        try:
            return agent.wait(WAIT)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()
            self.late.append(i)
            return "did not end"

    def again(self, nodes, sig):
        """Ends these agents at once, then starts them again in this order."""
        for i in nodes:
            self.agents[i].send_signal(sig)
        for i in nodes:
            self.end(i, sig)
        for i in nodes:
            self.start(i)

    def memory(self, i):
        """Resident KiB."""
        return int(
            re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.agents[i].pid}/status").read())[1]
        )

    def alive(self, i):
        return self.agents[i].poll() is None and "nodes" in self.ask(i, {"command": "status"})

    def answers(self, i):
        """Whether an agent answers at node i, if there is one."""
        try:
            return "nodes" in self.ask(i, {"command": "status"})
        except (OSError, EOFError):
            return False

    def reports(self):
        """Lines of the logs in which a sanitizer says what is wrong (make SAN=1)."""
        return [
            line
            for i in range(self.n)
            for line in self.log(i).splitlines()
            if re.search(r"Sanitizer|runtime error:", line)
        ]

    def at_exit(self):
        """A test that has not come to its end has tasks that run, and says nothing of them."""
        try:
            if ktap.is_done():
                self.stop()
        finally:  # within() may have cut it short
            if not self.stopped:
                self.clear()

    def stop(self):
        """Ends tasks and agents. It is a result whether anything is left, which is removed then."""
        if self.stopped:
            return
        try:
            found = left.end(self)
        except Exception:
            found = [traceback.format_exc()]
        if ktap.is_used():
            ok("nothing is left when agents end", not found, "\n".join(found))
            if self.crashed:  # runner/report.py: no second try excuses this
                ok("no agent has crashed", False, self.crashed)
        self.clear()
        if found and not ktap.is_used():
            raise RuntimeError("left behind:\n" + "\n".join(found))

    def clear(self):
        """Ends and removes all, in whatever state it is."""
        self.stopped = True
        for i in list(self.agents):
            self.end(i)
        if failed() or hasattr(sys, "last_type"):  # a bad result, or an exception
            for i in range(self.n):
                print(*(f"# n{i}: {line}" for line in self.log(i).splitlines()[-60:]), sep="\n")
        if "EHS_REPORTS" in os.environ and self.reports():  # of selftests/sanitize
            for i in range(self.n):
                with open(
                    os.path.join(
                        os.environ["EHS_REPORTS"],
                        f"{os.path.basename(sys.argv[0])}.{os.getpid()}.n{i}",
                    ),
                    "w",
                ) as out:
                    out.write(self.log(i))
        for launcher in self.launchers.values():
            launcher.kill()
            launcher.wait()
        for i in range(self.n):
            self.end_keepers(i)
            self.end_guests(i)
            for part in "managed", "all", "guest", "":
                try:
                    os.rmdir(os.path.join(self.cgroup(i), part))
                except OSError:
                    pass
        shutil.rmtree(self.dir, ignore_errors=True)
        self.net.remove()

    def end_keepers(self, i):
        """ehlaunch of agents that have gone: each keeps a view for the next agent."""

        def there():
            return left.named(self.cgroup(i))

        for pid in there():
            send(pid, signal.SIGKILL)
        until(lambda: not there())

    def end_guests(self, i):
        """They outlive an agent. Only its next launcher would remove their cgroups."""
        guests = os.path.join(self.cgroup(i), "guest")
        for name in os.listdir(guests) if os.path.isdir(guests) else ():
            try:
                with open(os.path.join(guests, name, "cgroup.kill"), "w") as f:
                    f.write("1")
            except (FileNotFoundError, NotADirectoryError):  # it is a file, or has gone
                continue
            for folder, _, _ in os.walk(os.path.join(guests, name), topdown=False):
                until(lambda folder=folder: removed(folder))
