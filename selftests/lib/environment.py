#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test inherits, made the same wherever it was started: by nohup, cron, an editor, in any
language.

environment.py CMD…     becomes CMD
environment.settle()    for a test program in Python, before anything else
"""
import os
import pwd
import resource
import signal
import sys

# Of the caller's environment. What a test needs besides, it sets; a service has no SHELL or USER.
KEPT = {
    "CC",
    "HOME",
    "LD_LIBRARY_PATH",
    "ON_CWD",
    "PATH",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
}
KEPT_PREFIXES = "ASAN_", "CMOCKA_", "EHS_", "GCOV_", "LLVM_PROFILE_", "LSAN_", "TSAN_", "UBSAN_"
SET = {"LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
SYSTEM_PATH = "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"
NOFILE = 1024  # descriptors, as most systems have it; some tests count on them, some on their end
UNLIMITED = "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE"


def own_name():
    """How the name of what is seen outside of this test begins: selftests/run knows by it what is
    left. By itself a test that was killed may have left its process id's."""
    return os.environ.get("EHS_NAME") or f"ehs{os.getpid()}"


def default_signals():
    """None ignored, none blocked. A shell's background job ignores SIGINT, nohup's SIGHUP, Python's
    child SIGPIPE."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def settle_descriptors():
    """0, 1 and 2 are open, or the next file that is opened would be one of them; others are not."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing's own


def settle_limits():
    """Those of the caller may be lower, or higher."""
    infinite = resource.RLIM_INFINITY
    for name in UNLIMITED:
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        try:
            resource.setrlimit(which, (infinite, infinite))
        except ValueError:
            resource.setrlimit(which, (hard, hard))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (NOFILE, NOFILE if 0 <= hard < NOFILE else hard))
    except ValueError:
        sys.exit(
            f"environment.py: {hard} open files are allowed, tests need {NOFILE}: ulimit -Hn"
            f" {NOFILE}"
        )
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def settle_variables():
    """A few of the caller's, and the same locale, time zone and terminal everywhere."""
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(KEPT_PREFIXES):
            del os.environ[name]
    path = [p for p in os.environ.get("PATH", "").split(":") if p.startswith("/")]
    os.environ["PATH"] = ":".join(path + [p for p in SYSTEM_PATH if p not in path])
    if not os.path.isdir(os.environ.get("HOME", "")):
        os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    os.environ.update(SET)


def settle():
    """Descriptors, signals, umask, limits, variables. Python goes on ignoring SIGPIPE, and its
    children do not."""
    settle_descriptors()
    default_signals()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    settle_limits()
    settle_variables()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    settle()
    default_signals()
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.exit(f"environment.py: {sys.argv[1]}: {error.strerror}")
