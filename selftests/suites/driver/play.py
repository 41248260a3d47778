# SPDX-License-Identifier: GPL-2.0-or-later
"""A suite: fetched, built, played here and away, compared."""

import hashlib, os, shutil, subprocess, sys, time

from compare import Comparison

DRIVER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(os.path.dirname(DRIVER)), "conformance", "source")
SHOWN = sys.stdout.isatty()


def show(text="", end=False):
    """A line that is written again and again, on a terminal only; with `end` one that stays."""
    if SHOWN:
        print("\r\033[K" + text[:120], end="\n" if end else "", flush=True)
    elif end:
        print(text, flush=True)


# More runs here, while tests differ
AGAIN = 4


class Failed(Exception):
    """A suite that cannot be compared."""


def last_line(path):
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - 400))
        lines = f.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Play:
    """A suite at a place, which has `top`, `away`, `user`, run(), stub() and counts() (place.py).
    `kept`: the directory for what the runs say."""

    def __init__(self, name, suite, place, kept):
        self.name, self.suite, self.place, self.kept = name, suite, place, kept
        self.folder = os.path.join(place.top, name)
        self.tree = os.path.join(self.folder, "tree")
        self.built = os.path.join(self.folder, "built")
        self.uid = 0 if suite.root else place.user
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(kept)

    def source(self):
        missing = [
            p
            for p in self.suite.needs
            if subprocess.run(
                ["dpkg-query", "-W", "-f", "${db:Status-Status}", p],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            ).stdout
            != b"installed"
        ]
        if missing:
            raise Failed(f"these packages are missing: apt-get install {' '.join(missing)}")
        show(f"{self.name}: fetching")
        where = [self.suite.git, self.suite.commit] if self.suite.git else []
        got = subprocess.run(
            [SOURCE, self.suite.package, *where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if got.returncode:
            raise Failed(got.stderr.strip())
        return got.stdout.strip()

    def key(self):
        """What the built tree depends on."""
        suite = self.suite
        digest = hashlib.sha256(
            repr(
                (
                    suite.package,
                    suite.version,
                    suite.git,
                    suite.commit,
                    suite.build,
                    suite.programs,
                    suite.root,
                    sorted(suite.environment.items()),
                )
            ).encode()
        )
        with open(os.path.join(DRIVER, "front.c"), "rb") as f:
            digest.update(f.read())
        return digest.hexdigest()

    def build(self):
        try:
            with open(os.path.join(self.folder, "key")) as f:
                if f.read() == self.key():
                    return
        except FileNotFoundError:
            pass
        source = self.source()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        subprocess.run(["cp", "-a", source, self.tree], check=True)
        subprocess.run(["chown", "-R", f"{self.uid}:{self.uid}", self.tree], check=True)
        os.chmod(self.tree, 0o755)
        log = os.path.join(self.folder, "build.log")
        began = time.monotonic()
        status = self.place.run(
            self.suite.build,
            self.tree,
            log,
            self.suite.environment,
            self.uid,
            3600,
            lambda: show(
                f"{self.name}: building, {time.monotonic() - began:.0f} s: {last_line(log)}"
            ),
        )
        if status:
            raise Failed(
                f"the build ended with status {status}:"
                f" {last_line(log)} ({self.place.cache}/{self.name}/build.log)"
            )
        self.put_fronts()
        os.rename(self.tree, self.built)
        with open(os.path.join(self.folder, "key"), "w") as f:
            f.write(self.key())

    def put_fronts(self):
        """Puts a program that can send it away in the place of each that is tested."""
        front = os.path.join(self.folder, "front")
        subprocess.run(
            [
                "musl-gcc",
                "-Os",
                "-static",
                "-Wall",
                f'-DFRONT_AWAY="{self.place.away}"',
                "-o",
                front,
                os.path.join(DRIVER, "front.c"),
            ],
            check=True,
        )
        paths = self.suite.paths(self.tree)
        if not paths:
            raise Failed(f"it has none of the programs {' '.join(self.suite.programs)}")
        for path in paths:
            folder = os.path.join(os.path.dirname(path), ".here")
            os.makedirs(folder, exist_ok=True)
            st = os.stat(path)
            os.rename(path, os.path.join(folder, os.path.basename(path)))
            shutil.copy(front, path)
            os.chmod(path, 0o755)
            # nothing is made again because of it
            os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    def play(self, way):
        """{test: result} of a run, which is "here", "away" or "again" (here). Sets
        self.said[way]."""
        shutil.rmtree(self.tree, ignore_errors=True)
        subprocess.run(["cp", "-a", self.built, self.tree], check=True)
        log = os.path.join(self.kept, f"{way}.log")
        began = time.monotonic()
        left, stayed = self.place.counts()
        self.place.stub(way == "away")
        try:
            status = self.place.run(
                self.suite.run,
                self.tree,
                log,
                self.suite.environment,
                self.uid,
                self.suite.bound,
                lambda: show(
                    f"{self.name}: {way}, {time.monotonic() - began:.0f} s: {last_line(log)}"
                ),
            )
        finally:
            self.place.stub(False)
        after, why = self.place.counts()
        with open(log, encoding="utf-8", errors="replace") as f:
            found = self.suite.results(self.tree, f.read())
        self.keep(way)
        said = f"{way}: {len(found)} results in {time.monotonic() - began:.0f} s"
        if status is None:
            said += f" (ended after {self.suite.bound} s)"
        if way == "away":
            stayed = why - stayed
            said += f", {after - left} tasks left, {sum(stayed.values())} stayed"
            said += (
                f" ({', '.join(f'{r}: {n}' for r, n in sorted(stayed.items()))})" if stayed else ""
            )
        show(f"{self.name} {self.suite.version}, {said}", end=True)
        if not found:
            raise Failed(f"no result of a test was found: {last_line(log)} ({log})")
        if way == "away" and after == left:
            raise Failed("none of its tasks left")
        if way == "away" and 2 * sum(stayed.values()) > after - left:
            raise Failed(
                f"{after - left} of its tasks left, but {sum(stayed.values())} stayed or came back"
            )
        return found

    def keep(self, way):
        """What each test said: what the harnesses of automake, autoconf and DejaGnu have kept, and
        all in a directory `out`."""
        for folder, _, names in os.walk(self.tree):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".trs"):
                    path = path[:-4] + ".log" if name[:-4] + ".log" in names else path
                elif (
                    name != "testsuite.log"
                    and not (name.endswith(".log") and name[:-4] + ".sum" in names)
                    and (os.path.basename(folder) != "out" or not os.path.isfile(path))
                ):
                    continue
                to = os.path.join(self.kept, way, os.path.relpath(path, self.tree))
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(path, to)

    def compare(self, known):
        """`known`: {test: reason}."""
        self.build()
        here, away = self.play("here"), self.play("away")
        again = []
        result = Comparison(here, away, known)
        # a test that does not do the same here each time says nothing; one of three times takes a
        # few to be seen
        while result.differ and len(again) < AGAIN:
            again.append(self.play("again"))
            result = Comparison(here, away, known, again)
        shutil.rmtree(self.tree, ignore_errors=True)
        return result
