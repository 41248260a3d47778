# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process can be put under before its exec, and the reason for which it then stays at
home."""

import ctypes, os, struct

libc = ctypes.CDLL(None, use_errno=True)
SPACES = {
    "mnt": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "time": 0x80,
}
BPF, LANDLOCK = 321, 444  # x86-64's bpf(); landlock_create_ruleset()
FORCE = 53, 0, 8  # PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_FORCE_DISABLE


def must(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def prctl(*words):
    must(libc.prctl(*[ctypes.c_ulong(w) for w in (*words, 0, 0, 0, 0)][:5]))


def unshare(flag):
    must(libc.unshare(flag))


def no_new_privs():
    prctl(38, 1)


def filtered():
    """All calls are allowed, which a look from outside cannot know."""
    allow = (ctypes.c_ubyte * 8)(*struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(allow)))
    prctl(22, 2, ctypes.addressof(program))


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def capable(permitted, inheritable=None):
    must(
        libc.capset(
            struct.pack("<Ii", 0x20080522, 0),
            struct.pack("<6I", permitted, permitted, inheritable or permitted, 0, 0, 0),
        )
    )


def ambient():
    """A user who has a capability."""
    prctl(8, 1)
    become(2001)
    capable(1 << 10)
    prctl(47, 2, 10)


def may(do, *words):
    """Whether a process here can do that."""
    pid = os.fork()
    if not pid:
        try:
            do(*words)
            os._exit(0)
        except OSError:
            os._exit(1)
    return not os.waitpid(pid, 0)[1]


def landlock():
    """The version of Landlock; 0: none."""
    return max(0, libc.syscall(LANDLOCK, None, ctypes.c_size_t(0), 1))


def ways():
    """(name, reason, what it does before its exec, the command that starts it); reason None: this
    machine cannot do it."""
    yield "seccomp", "confined", filtered, ()
    yield "speculation that is off for good", (
        "confined" if may(prctl, *FORCE) else None
    ), lambda: prctl(*FORCE), ()
    for name, flag in SPACES.items():
        yield f"another {name} namespace", (
            "namespace" if may(unshare, flag) else None
        ), lambda flag=flag: unshare(flag), ()
    yield "another pid namespace", "namespace", None, ("unshare", "--pid", "--fork")
    yield "another real user", "secureexec", lambda: os.setresuid(2001, 0, 0), ()
    yield "another real group", "secureexec", lambda: os.setresgid(2001, 0, 0), ()
    yield "fewer capabilities", "capabilities", lambda: prctl(24, 16), ()
    yield "an ambient capability", "capabilities", ambient, ()


def enter(cgroup):
    """This process goes into it."""
    with open(os.path.join(cgroup, "cgroup.procs"), "w") as f:
        f.write(str(os.getpid()))


def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes + bytes(120 - len(attributes)))
    return must(libc.syscall(BPF, command, room, 120))


def forbid_devices(cgroup):
    """A program that forbids none, which a look from outside cannot know."""
    if os.uname().machine != "x86_64":
        raise OSError("the number of bpf() here is not known")
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 1, 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    program = bpf(5, struct.pack("<IIQQ", 15, 2, ctypes.addressof(code), ctypes.addressof(licence)))
    folder = os.open(cgroup, os.O_RDONLY)
    bpf(8, struct.pack("<IIII", folder, program, 6, 0))
    os.close(folder)
    os.close(program)
