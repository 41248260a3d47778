# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks that are quick, beside those of work.py: signals, stops, sockets, much data."""

import os, select, signal, socket, subprocess
import work
from proc import state


class Small(work.Task):
    kind = "small"

    def make(self, dice):
        self.start(self.away_words(f"{self.note()}exit {self.status}"))


class Large(work.Task):
    """Some megabytes in, and out again."""

    kind = "large"

    def make(self, dice):
        copies = dice.randrange(5, 40)
        with open(self.place.large, "rb") as f:
            self.want = f.read() * copies
        self.start(
            self.away_words(f"{self.note()}cat; exit {self.status}"),
            stdin=self.feed(
                ["bash", "-c", f"for i in $(seq {copies}); do cat {self.place.large}; done"]
            ),
        )


class Signalled(work.Task):
    """It takes a signal when it is up, and goes on."""

    kind = "signal"

    def make(self, dice):
        self.sent = False
        self.signal = dice.choice(
            (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP, signal.SIGRTMIN + 3)
        )
        self.want = b"up\ngot\n"
        # a trapped signal may end dash's read, or come before it
        self.start(
            self.away_words(
                f"{self.note()}trap 'echo got; exit {self.status}' {self.signal:d}; echo up; while"
                " :; do sleep 0.02; done"
            )
        )

    def step(self):
        if b"up\n" in self.out and not self.sent:
            self.sent = True
            self.p.send_signal(self.signal)
        return super().step()


class Killed(work.Task):
    """It ends by a signal of its own."""

    kind = "killed"

    def make(self, dice):
        how = dice.choice(
            (
                signal.SIGTERM,
                signal.SIGSEGV,
                signal.SIGABRT,
                signal.SIGINT,
                signal.SIGKILL,
                signal.SIGPIPE,
                signal.SIGALRM,
            )
        )
        self.status, self.want = -how, b"up\n"
        self.start(
            self.away_words(f"{self.note()}ulimit -c 0; echo up; kill -{how:d} $$; echo not")
        )


class Stopped(work.Task):
    """It is stopped when it is up, continued, and then spoken to."""

    kind = "stop"

    def make(self, dice):
        self.done, self.want = 0, b"up\ngo\n"
        self.start(
            self.away_words(f"{self.note()}echo up; read x; echo $x; exit {self.status}"),
            stdin=subprocess.PIPE,
        )

    def step(self):
        if self.done == 0 and b"up\n" in self.out:
            self.p.send_signal(signal.SIGSTOP)
            self.done = 1
        if self.done == 1 and state(self.p.pid) == "T":
            self.done = 2
            self.p.send_signal(signal.SIGCONT)
            try:
                self.p.stdin.write(b"go\n")
                self.p.stdin.close()
            except OSError as e:
                self.err += f"(test: {e})".encode()
        return super().step()


class Talks(work.Task):
    """Questions and answers through a socket, the next when the last was answered."""

    kind = "socket"

    def make(self, dice):
        self.ours, its = socket.socketpair()
        self.ours.setblocking(False)
        self.says = [b"%d\n" % dice.getrandbits(30) for _ in range(dice.randrange(1, 6))]
        self.want = b"".join(b"<" + text[:-1] + b">\n" for text in self.says)
        self.asked = 0
        self.start(
            self.away_words(f'{self.note()}while read x; do echo "<$x>"; done; exit {self.status}'),
            stdin=its,
            stdout=its,
        )
        its.close()

    def talk(self):
        if select.select([self.ours], [], [], 0)[0]:
            data = self.ours.recv(1 << 16)
            self.out += data
            if not data:
                self.ours.close()
                self.ours = None
                return
        if self.out.count(b"\n") == self.asked <= len(self.says):
            if self.asked < len(self.says):
                self.ours.sendall(self.says[self.asked])
            else:
                self.ours.shutdown(socket.SHUT_WR)
            self.asked += 1

    def step(self):
        try:
            if self.ours:
                self.talk()
        except OSError as e:
            self.err += f"(test: {e})".encode()
            self.ours.close()
            self.ours = None
        return super().step() and not self.ours

    def verdict(self, counts):
        return "stuck" if self.ours else super().verdict(counts)


KINDS = [Small, Small, Large, Signalled, Killed, Stopped, Talks]
