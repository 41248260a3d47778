# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks, and the checker. Each run of a task appends a line to the ledger, by one write(). What it
must print, write and return is known. A verdict is one word: `right`, `told` (it ended as killed,
and said so, and something was done to it that the manual says it may end by), `refused` (it did not
begin, and said so), or what is wrong."""

import collections, glob, hashlib, os, pty, re, select, shutil, signal, subprocess, tempfile
import threading, time
import users
from proc import state, words
from tree import BUILD

EHCTL = os.path.join(BUILD, "bin", "ehctl")
AUTO = ["--auto", "--all"]
KILLED = b"reported as killed"
WRONG = "lost", "twice", "bytes", "status", "untold", "left", "stuck"
FILES = 2  # that a build compiles


class Place:
    """Where tasks work: the ledger, and what they are compared with. `pace`: of their pauses, which
    are some seconds."""

    def __init__(self, nodes, pace=1):
        self.nodes, self.pace = nodes, pace
        self.counts, self.counted = collections.Counter(), 0
        self.ledger = self.make("ledger", b"")
        self.large = self.make("large", b"".join(b"%d\n" % i for i in range(30000)))
        self.compile = self.make(
            "cc.sh",
            f'#!/bin/sh\necho "$EHT.$1" >>{self.ledger}\nsleep $3\nexec gcc -pipe -O1 -c -o "$1.o"'
            ' "$2"\n'.encode(),
            0o755,
        )
        for i in range(FILES):
            self.make(
                f"f{i}.c",
                b"".join(
                    b"int f%d_%d(int a)\n{\n\treturn a * %d;\n}\n" % (i, j, i + j)
                    for j in range(20)
                ),
            )
        self.objects = []
        for i in range(FILES):
            out = os.path.join(nodes.work, f"f{i}.want")
            subprocess.run(["gcc", "-O1", "-c", "-o", out, f"f{i}.c"], cwd=nodes.work, check=True)
            self.objects.append(open(out, "rb").read())

    def path(self, name):
        return os.path.join(self.nodes.work, name)

    def make(self, name, data, mode=0o644):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, mode)
        os.chown(path, users.ONE, users.ONE)
        return path

    def runs(self):
        """How often each has run."""
        with open(self.ledger, "rb") as f:
            f.seek(self.counted)
            text = f.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.counted += len(whole)
        self.counts.update(whole.decode().split())
        return self.counts


class Task:
    """`why`: what was done to it that it may end by, as the manual says."""

    count = 0
    kind = None

    def __init__(self, place, dice, home, away):
        Task.count += 1
        self.id = f"T{Task.count}"
        self.place, self.nodes, self.home = place, place.nodes, home
        self.why, self.began, self.ended = None, time.monotonic(), None
        self.out, self.err, self.want, self.status = b"", b"", b"", dice.randrange(3, 100)
        self.names = [self.id]  # in the ledger
        self.auto = dice.randrange(3) == 0
        self.where = AUTO if self.auto else [f"n{away}"]
        self.away = away
        self.open, self.fed = [], None
        self.make(dice)

    def note(self, name=None):
        return f"echo {name or self.id} >>{self.place.ledger}; "

    def pause(self, ms):
        """So long, at this place's pace, as a word of a shell."""
        return f"{ms * self.place.pace / 1000:.4f}"

    def feed(self, words):
        """A pipe that this command writes into; to be closed by who has handed it on."""
        source = subprocess.Popen(words, stdout=subprocess.PIPE)
        threading.Thread(target=source.wait, daemon=True).start()
        self.fed = source.stdout
        return source.stdout

    def forget(self):
        """Removes what it has made."""
        for path in glob.glob(self.place.path(self.id) + "[.]*") + glob.glob(
            self.place.path(self.id) + "_*"
        ):
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def start(self, words, stdin=subprocess.DEVNULL, **more):
        self.p = subprocess.Popen(
            [
                "nsenter",
                f"--net=/run/netns/{self.nodes.net.name(self.home)}",
                "-S",
                str(users.ONE),
                "-G",
                str(users.ONE),
                *words,
            ],
            stdin=stdin,
            cwd=self.nodes.work,
            env={**os.environ, "EHT": self.id},
            **{
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "start_new_session": True,
                **more,
            },
        )
        if self.fed:
            self.fed.close()
        self.open = [f for f in (self.p.stdout, self.p.stderr) if f]
        for f in self.open:
            os.set_blocking(f.fileno(), False)

    def away_words(self, script, *options):
        return [EHCTL, "exec", *options, *self.where, "--", "/bin/sh", "-c", script]

    def step(self):
        """Reads what there is. True: it has ended."""
        if not self.ended:
            for f in select.select(self.open, [], [], 0)[0]:
                data = f.read() or b""
                if not data:
                    self.open.remove(f)
                    f.close()
                elif f is self.p.stdout:
                    self.out += data
                else:
                    self.err += data
            if not self.open and self.p.poll() is not None:
                self.ended = time.monotonic()
        return bool(self.ended)

    def kill(self):
        """It is stuck."""
        try:
            os.killpg(self.p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def holders(self):
        """Who has its output, in words; the other ends of it know no more than they."""
        pipes = {os.readlink(f"/proc/self/fd/{f.fileno()}") for f in self.open}
        found = []
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                if int(folder[6:]) != os.getpid() and any(
                    os.readlink(fd) in pipes for fd in glob.glob(folder + "/fd/*")
                ):
                    pid = folder[6:]
                    where = [open(f"{folder}/{name}").read() for name in ("wchan", "syscall")]
                    found.append(f"{pid} {state(pid)} {words(pid)} {' '.join(where)}")
            except OSError:
                pass
        return found

    def made(self):
        """Whether what it was to write is right."""
        return True

    def seen(self, counts):
        return (
            f"{self.id} {self.kind} from n{self.home} to {self.where}: status"
            f" {self.p.returncode} of {self.status}, runs {[counts[n] for n in self.names]},"
            f" {len(self.out)} of {len(self.want)} bytes, done to it: {self.why},"
            f" {(self.ended or time.monotonic()) - self.began:.1f} s,"
            f" ...{self.out[-60:]!r} {self.err[-300:]!r}"
        )

    def verdict(self, counts):
        code, runs = self.p.returncode, [counts[n] for n in self.names]
        if not self.ended:
            return "stuck"
        if max(runs) > 1:
            return "twice"
        if code == self.status:
            return (
                "lost"
                if min(runs) < 1
                else "right"
                if self.out == self.want and self.made()
                else "bytes"
            )
        if code in (1, 2) and self.err and not any(runs):
            return "status" if self.auto else "refused"  # it could have run here
        # exec() failed there: its files had gone
        if code == 126 and self.why and self.err and not any(runs):
            return "refused"
        if not self.why:
            return (
                "lost"
                if code in (0, -9, 137) and KILLED not in self.err
                else "untold"
                if KILLED in self.err
                else "status"
            )
        if not self.is_told(code):
            return "status"
        return "told" if self.begins_right() else "bytes"

    def is_told(self, code):
        """Whether it is killed for all to see: by its status, and by a text if its stub lives. When
        a view is killed, ehguest may say how the program ended before it is killed itself: then
        there is no text."""
        return code in (-9, 137) and (KILLED in self.err or self.why in ("stub-kill", "view-kill"))

    def begins_right(self):
        return self.want.startswith(self.out)


class Sleeper(Task):
    kind = "sleep"

    def make(self, dice):
        ms = self.pause(dice.randrange(1000, 8000))
        self.want = b"a\nb\n"
        self.start(self.away_words(f"{self.note()}echo a; sleep {ms}; echo b; exit {self.status}"))


class Children(Task):
    """Its children write when it has ended."""

    kind = "children"

    def make(self, dice):
        ms = self.pause(dice.randrange(1000, 4000))
        self.want = b"now\nlate\n"
        self.start(
            self.away_words(f"{self.note()}(sleep {ms}; echo late) & echo now; exit {self.status}")
        )

    def is_told(self, code):
        return code == self.status or super().is_told(code)

    def verdict(self, counts):
        word = super().verdict(counts)
        # the task itself had ended; what its children had still to say is lost with the end
        return "told" if word == "bytes" and self.why and self.begins_right() else word


class Both(Task):
    """Data through its input, and back."""

    kind = "both"

    def make(self, dice):
        data = dice.randbytes(dice.randrange(20000, 400000))
        path = self.place.make(f"{self.id}.in", data)
        self.want = data + hashlib.sha256(data).hexdigest().encode() + b"\n"
        pause = self.pause(dice.randrange(500, 4000))
        script = (
            f"{self.note()}head -c {dice.randrange(len(data))}; sleep {pause}; cat; sha256sum"
            f" {path} | cut -c1-64; exit {self.status}"
        )
        if dice.randrange(2):
            with open(path, "rb") as f:
                self.start(self.away_words(script), stdin=f)
        else:
            self.start(self.away_words(script), stdin=self.feed(["cat", path]))


class Pipeline(Task):
    """Three tasks, one behind the other."""

    kind = "pipeline"

    def make(self, dice):
        n = dice.randrange(2000, 20000)
        self.names = [f"{self.id}.{i}" for i in range(3)]
        self.status, self.auto = 0, False  # one of them is for a node that is named
        lines = sorted((str(i) for i in range(1, n + 1)), reverse=True)
        text = "".join(line + "\n" for line in lines).replace("1", "x").encode()
        self.want = text + b"%d\n" % len(text)
        stages = [
            "LC_ALL=C sort -r",
            "tr 1 x",
            (
                f"tee {self.place.path(self.id)}.tee; sleep {self.pause(dice.randrange(1000))}; wc"
                f" -c <{self.place.path(self.id)}.tee"
            ),
        ]
        to = [
            " ".join(self.where),
            f"n{dice.choice([i for i in range(self.nodes.n) if i != self.home])}",
            " ".join(AUTO),
        ]
        text = f"(seq {n // 2}; sleep {self.pause(dice.randrange(3000))}; seq {n // 2 + 1} {n})"
        for stage, where, name in zip(stages, to, self.names):
            text += f" | {EHCTL} exec {where} -- /bin/sh -c '{self.note(name)}{stage}'"
        self.start(["/bin/bash", "-o", "pipefail", "-c", text])

    def is_told(self, code):
        return code != 0

    def begins_right(self):
        return True  # what comes in was cut

    def verdict(self, counts):
        word = super().verdict(counts)
        # One was refused, by the node that was named, and so the others had no input.
        refused = (
            self.p.returncode in (1, 2)
            and b"ehctl exec: " in self.err
            and not all(counts[n] for n in self.names)
        )
        return "refused" if word in ("status", "lost", "bytes") and refused else word


class Build(Task):
    """make; each compiler is placed. The compiler's object is renamed into its place by nobody: it
    is there, or make fails."""

    kind = "build"

    def make(self, dice):
        folder = self.folder = tempfile.mkdtemp(prefix=self.id + "_", dir=self.nodes.work)
        self.names = [f"{self.id}.f{i}" for i in range(FILES)]
        self.status, self.auto = 0, True
        with open(f"{folder}/Makefile", "w") as f:
            f.write(
                f"all: {' '.join(f'f{i}.o' for i in range(FILES))}\n%.o: ../%.c\n\t@{EHCTL} exec"
                f" {' '.join(AUTO)} -- {self.place.compile} $* $<"
                f" {self.pause(dice.randrange(1000))}\n"
            )
        os.chown(folder, users.ONE, users.ONE)
        os.chmod(folder, 0o755)
        self.start(["make", "-s", f"-j{FILES}", "-C", folder])

    def is_told(self, code):
        return code == 2

    def made(self):
        return all(
            open(f"{self.folder}/f{i}.o", "rb").read() == want
            for i, want in enumerate(self.place.objects)
        )


class View(Task):
    """It sees home's files: reads a large one, and appends to one of its own."""

    kind = "view"

    def make(self, dice):
        lines = dice.randrange(20, 60)
        self.auto, self.where = False, [f"n{self.away}"]
        self.path = self.place.path(f"{self.id}.view")
        self.made_of = b"".join(b"line %d\n" % i for i in range(lines))
        half = lines // 2
        count = f"while [ $i -lt %d ]; do echo line $i >>{self.path}; i=$((i + 1)); done; "
        self.want = (
            hashlib.sha256(open(self.place.large, "rb").read()).hexdigest().encode()
            + b"\n"
            + self.made_of
        )
        self.start(
            self.away_words(
                (
                    f"{self.note()}i=0; {count % half} sha256sum {self.place.large} | cut -c1-64;"
                    f" sleep {self.pause(dice.randrange(3000))}; {count % lines} cat {self.path};"
                    f" exit {self.status}"
                ),
                "--view",
                "home",
            )
        )

    def made(self):
        return open(self.path, "rb").read() == self.made_of

    def begins_right(self):
        try:
            written = open(self.path, "rb").read()
        except FileNotFoundError:
            written = b""
        return self.made_of.startswith(written) and self.want.startswith(self.out)


class Terminal(Task):
    """A program on a terminal that is read and written."""

    kind = "terminal"

    def make(self, dice):
        self.pauses = [dice.random() * 3 * self.place.pace for _ in range(2)]
        self.waits, self.due = [(b"up\r\n", b"one\n"), (b"a=one\r\n", b"two\n")], None
        self.want = b"up\r\na=one\r\nb=two\r\n"
        self.master, slave = pty.openpty()
        self.start(
            [
                "setsid",
                "--ctty",
                *self.away_words(
                    f"{self.note()}stty -echo; echo up; read a; echo a=$a; read b; echo b=$b; exit"
                    f" {self.status}"
                ),
            ],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=False,
        )
        os.close(slave)

    def step(self):
        if self.ended:
            return True
        ended = self.p.poll() is not None
        while select.select([self.master], [], [], 0)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            self.out += data
        if self.waits and self.due is None and self.waits[0][0] in self.out:
            self.due = time.monotonic() + self.pauses[len(self.waits) - 1]
        if self.due and time.monotonic() > self.due:
            os.write(self.master, self.waits.pop(0)[1])
            self.due = None
        if ended:
            self.ended = time.monotonic()
            os.close(self.master)
        return ended

    def verdict(self, counts):
        # a terminal has one stream: what the stub says is told apart
        said = re.search(rb"(ehsched|ehctl exec|ehctl): ", self.out)
        if said:
            self.out, self.err = self.out[: said.start()], self.out[said.start() :]
        return super().verdict(counts)


KINDS = [Sleeper, Children, Both, Both, Pipeline, Build, View, Terminal]


def judge(tasks, runs):
    """{word: [tasks]}"""
    words = collections.defaultdict(list)
    for task in tasks:
        words[task.verdict(runs)].append(task)
    return words
