# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of cases, and the comparison of the two runs of each."""

import os, pickle, select, shutil, signal, sys, time, traceback

from scene import Scene

ALL = []
EVERYWHERE, NATIVE, MODULE = "everywhere", "native", "module"
# stays at home: the module has decided it alone, and the agent was not asked (selftests/kmod has
# the reasons)
KERNEL = "the module"


class Case:
    def __init__(
        self, name, play, known=None, where=EVERYWHERE, stays=None, long=False, bound=20, needs=None
    ):
        self.name, self.play, self.where, self.stays, self.long, self.bound = (
            name,
            play,
            where,
            stays,
            long,
            bound,
        )
        # a source that is fetched before, while there is a network
        self.needs = needs
        # field -> why it is not the same; the same sentence is in docs/transparency.md
        self.known = known or {}
        self.theme = sys._getframe(2).f_globals["__name__"].split(".")[-1]

    def is_of_place(self):
        """Whether it is another one with the module and without."""
        return (
            self.where != EVERYWHERE
            or self.stays
            or bool(self.known)
            and set(self.known) <= {NATIVE, MODULE}
        )


def case(name, **more):
    """Decorates a function of a Scene. `known`: {field: reason}, those must differ and no other
    may; or {"native": {…}, "module": {…}}. `stays`: with the module it must run at home, for this
    reason."""

    def put(play):
        ALL.append(Case(name, play, **more))
        return play

    return put


def sh(
    name,
    script,
    *words,
    data=None,
    stdin=None,
    env=None,
    before=None,
    known=None,
    where=EVERYWHERE,
    stays=None,
    long=False,
    ignore=(),
    **more,
):
    """A case that is a script of the shell, which is itself the task."""
    if stdin is not None:
        more["stdin"] = stdin
    ALL.append(
        Case(
            name,
            lambda s: s.sh(
                script, *words, data=data, env=env, before=before, ignore=ignore, **more
            ),
            known,
            where,
            stays,
            long,
        )
    )


def program(name, *words, known=None, where=EVERYWHERE, stays=None, **more):
    """A case that is one program; "probe" is ours."""

    def play(s):
        given = dict(more)
        if given.get("path") == "probe" or words[0] == "probe":
            given["path"] = s.probe
        s.run(*words, **given)

    ALL.append(Case(name, play, known, where, stays))


def kill_session(leader):
    """All that a scene has left behind."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == leader:
                os.kill(int(pid), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def play(case, place, away):
    """Runs a case in a process of its own, the parent of all its tasks. {field: value}."""
    folder = os.path.join(place.work, "case")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o777)
    os.chmod(folder, 0o777)
    bound = case.bound * place.slow
    readable, writable = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            os.close(readable)
            os.setsid()
            # a driver of ours may ignore it
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            s = Scene(folder, place, away, bound)
            try:
                case.play(s)
            except Exception:
                s.see("the case itself", traceback.format_exc())
            for task, _ in s.tasks:
                task.close()
            s.see("files", s.files())
            stayed = (
                []
                if not away
                else [w for w in (place.stayed(t.pid, t.error) for t, a in s.tasks if a) if w]
            )
            with os.fdopen(writable, "wb") as out:
                pickle.dump((s.seen, stayed), out)
        finally:
            os._exit(0)
    os.close(writable)
    data, end = b"", time.monotonic() + bound + 20
    while select.select([readable], [], [], max(0, end - time.monotonic()))[0]:
        more = os.read(readable, 1 << 20)
        if not more:
            break
        data += more
    os.close(readable)
    kill_session(pid)
    os.waitpid(pid, 0)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return pickle.loads(data)
    except (EOFError, pickle.UnpicklingError):
        return {
            "bound": "the case did not end in time" if away else "the local run did not end in time"
        }, []


def known_of(case, place):
    known = case.known
    if set(known) <= {NATIVE, MODULE}:
        known = known.get(place.kind, {})
    return known


def shown(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-250:]} ({len(text)} characters)"


def differences(field, here, away):
    if isinstance(here, dict) and isinstance(away, dict):
        return [
            line
            for key in sorted(set(here) | set(away))
            if here.get(key) != away.get(key)
            for line in differences(f"{field} {key}", here.get(key), away.get(key))
        ]
    return [f"{field}: here {shown(here)}", f"{' ' * len(field)}  away {shown(away)}"]


def compare(local, away, known):
    """Differences that nobody knows of, and known ones that are gone."""
    wrong = []
    for field in sorted(set(local) | set(away)):
        same = field in local and field in away and local[field] == away[field]
        if not same and field not in known:
            wrong += differences(field, local.get(field), away.get(field))
        if same and field in known:
            wrong.append(
                f"{field}: is the same now: take it from the known ones here and in"
                " docs/transparency.md"
            )
    wrong += [
        f"{field}: known to differ, and not seen"
        for field in known
        if field not in set(local) | set(away)
    ]
    return wrong


def check(case, place):
    """What is wrong with a case, as lines. A task that was to be away and was not is tried again:
    the hierarchy may say no."""
    local, _ = play(case, place, False)
    for _ in range(4):
        away, stayed = play(case, place, True)
        if not stayed or case.stays or place.kind == "native":
            break
    for seen in local, away:
        if "the case itself" in seen:
            return seen.pop("the case itself").splitlines() + [
                f"{field}: {shown(value)}" for field, value in seen.items()
            ]
    wrong = compare(local, away, known_of(case, place))
    if case.stays and place.kind == "module":
        if set(stayed) != {case.stays}:
            wrong.append(f"it was to stay at home ({case.stays}): {stayed or 'it went'}")
    elif stayed:
        wrong.append(f"it was to be away and stayed: {stayed}")
    return wrong
