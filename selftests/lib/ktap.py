# SPDX-License-Identifier: GPL-2.0-or-later
"""KTAP for test programs in Python. The plan comes last, so that it also proves that the end was
reached."""

import atexit, os, signal, sys, traceback

import condition, environment

# before anything is started
environment.settle()

KSFT_SKIP = 4
LINES = 40  # of what a failure shows, at most
SHORT = 300  # characters of it on the line of the result, for those who see no more than that
_tests = _failed = 0
_done = _cut = False


def _begin():
    """Numbers the next result. The first one comes after the version line."""
    global _tests
    if not _tests:
        print("KTAP version 1")
    _tests += 1
    return _tests


def ok(name, good, more=""):
    """One result. If it is bad, `more` is shown, or what its condition has seen. Returns `good`."""
    global _failed
    number = _begin()
    if not good and more == "":
        more = condition.seen(sys._getframe(1))
    short = "" if good else " ".join(str(more).split())[:SHORT]
    print(f"{'ok' if good else 'not ok'} {number} - {name}" + (f" # {short}" if short else ""))
    if not good:
        _failed += 1
        for line in str(more).splitlines()[-LINES:]:
            print(f"#   {line}")
    sys.stdout.flush()
    return good


def must(name, good, more=""):
    """For a wait on which the rest depends: only a bad one is a result, and ends the test."""
    if not good:
        ok(name, False, more or condition.seen(sys._getframe(1)))
        _cut_short()
    return good


def skip(name, reason):
    """A result that cannot be had here."""
    print(f"ok {_begin()} - {name} # SKIP {reason}", flush=True)


def skip_all(reason):
    """No result of this program can be had here."""
    print(f"KTAP version 1\n1..0 # SKIP {reason}", flush=True)
    sys.exit(KSFT_SKIP)


def failed():
    """How many results were bad so far."""
    return _failed


def within(seconds=240):
    """The test ends with a bad result when it takes longer: before selftests/run ends it, which
    says nothing."""
    seconds *= int(os.environ.get("EHS_SLOW", 1))

    def late(number, frame):
        ok(
            f"the test ends within {seconds} s",
            False,
            "it is still at\n" + "".join(traceback.format_stack(frame)),
        )
        _cut_short()

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)


def is_used():
    """Whether this program gives results at all."""
    return _tests > 0 or _done


def is_done():
    """Whether the end of the test was reached, not cut short by a bad result."""
    return _done and not _cut


def _cut_short():
    global _cut
    _cut = True
    done()


def done():
    """The end. What is to be done at exit may still give results; then come the plan and the exit
    status."""
    global _done
    _done = True
    sys.exit(0)


def _unraisable(unraisable):
    """Python only prints exceptions of what is done at exit. One to exit comes from a result that
    is bad already."""
    if _done and "atexit" in (unraisable.err_msg or ""):
        if unraisable.exc_type is not SystemExit:
            ok(
                "all is done at exit",
                False,
                "".join(traceback.format_exception(unraisable.exc_value)),
            )
    else:
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = _unraisable


# The first one that is registered is the last that runs.
@atexit.register
def _plan():
    signal.alarm(0)  # of within()
    if not _done:
        return
    print(f"1..{_tests}", flush=True)
    if _failed:
        sys.stderr.flush()
        os._exit(1)
