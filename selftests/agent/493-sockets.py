#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stream sockets as descriptors of tasks, as inetd and remote shells give them: the same talk with
a task here and away."""

import os, random, socket, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from seed import new_seed
from wait import WAIT, outcome

choose = random.Random(new_seed())
c = Cluster(2, "heartbeat = 3000\njob-limit = 60000")
must("two agents", c.start_all(), c.log(0) + c.log(1))
AWAY = [EHCTL, "exec", "0.1", "--"]
got = os.path.join(c.dir, "got")


def perl(script):
    return ["perl", "-MSocket", "-e", f"$| = 1; {script}"]


def unix():
    return socket.socketpair()


def tcp():
    """Both ends of a connection within the first node."""
    with c.net.enter(0), socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        return ours, server.accept()[0]


def read_all(s):
    text = b""
    while block := s.recv(1 << 16):
        text += block
    return text


def talk_with(words, how, family, talk, shared):
    """What talk(our socket) returns, the status and what the task has said on descriptor 2."""
    ours, its = family()
    ours.settimeout(WAIT)
    if os.path.exists(got):
        os.unlink(got)
    with ours, its, c.net.enter(0):
        p = subprocess.Popen([*how, *words], stdin=its, stdout=its, stderr=subprocess.PIPE)
        if not shared:
            its.close()
        try:
            said = talk(ours)
        except OSError as e:
            said = f"{type(e).__name__}: {e}"
        try:
            _, err = p.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            p.kill()
            _, err = p.communicate()
            err += b"(time-out)"
    kept = open(got, "rb").read() if os.path.exists(got) else None
    return said, kept, p.returncode, err.decode()


def is_same(name, words, talk, families=(unix, tcp), shared=True):
    """`shared`: this process has the task's socket open, too, so that its end comes from the task
    only."""
    for family in families:
        seen = [talk_with(words, how, family, talk, shared) for how in ([], AWAY)]
        ok(
            f"{name} ({family.__name__})",
            seen[0] == seen[1] and not seen[0][3],
            f"here: {seen[0]!r:.1000}\naway: {seen[1]!r:.1000}",
        )
        if seen[0] != seen[1]:
            print("\n".join(f"#  {line}" for line in c.log(1).splitlines()[-10:]))


def says(*parts, shut=True):
    """Says these, then that nothing follows, and hears all that is said."""

    def talk(s):
        for part in parts:
            s.sendall(part)
        if shut:
            s.shutdown(socket.SHUT_WR)
        return read_all(s)

    return talk


def ends_first(s):
    """Says that nothing follows; hears the end of a task that lives on, and then lets it go."""
    s.shutdown(socket.SHUT_WR)
    heard = read_all(s)
    open(f"{got}.go", "w").close()
    return heard


def hears_first(s):
    """Hears its end, and answers then."""
    first = read_all(s)
    s.sendall(b"later\n")
    s.shutdown(socket.SHUT_WR)
    return first


def asks(s):
    """A question at a time."""
    heard = []
    for question in b"one\n", b"two\n", b"three\n":
        s.sendall(question)
        answer = b""
        while not answer.endswith(b"\n"):
            block = s.recv(100)
            if not block:
                return heard, "ended"
            answer += block
        heard.append(answer)
    s.shutdown(socket.SHUT_WR)
    return heard, read_all(s)


TYPE = (
    "print join(' ', unpack('i', getsockopt(STDIN, SOL_SOCKET, SO_TYPE)), map { defined $_ ? 1 : 0"
    " } getsockname(STDIN), getpeername(STDIN), getsockname(STDOUT)), (-S STDIN ? ' socket' : '"
    " none')"
)
is_same("its kind and names", perl(TYPE), says(), shared=False)
is_same("a filter, whose input ends first", ["sort"], says(b"2\n1\n"), shared=False)
is_same("questions and answers", perl("while (<STDIN>) { print uc }"), asks, shared=False)
is_same(
    "send() and recv()",
    perl(
        'recv(STDIN, $a, 1, MSG_PEEK); recv(STDIN, $b, 5, MSG_WAITALL); send(STDOUT, "<$a$b>", 0)'
    ),
    says(b"abc", b"de"),
    shared=False,
)
is_same(
    "the task ends its output first, and reads on",
    perl(f"print 'first'; shutdown(STDOUT, 1); open(F, '>', '{got}'); print F <STDIN>"),
    hears_first,
)
is_same(
    "the same where nobody else has the socket",
    perl(f"print 'first'; shutdown(STDOUT, 1); open(F, '>', '{got}'); print F <STDIN>"),
    hears_first,
    shared=False,
)
for shared in True, False:
    is_same(
        (
            "its input ends first, then its output, and it lives"
            f" on{' beside another holder' if shared else ''}"
        ),
        perl(
            "1 while <STDIN>; print 'last'; shutdown(STDOUT, 1); select(undef, undef, undef, 0.01)"
            f" until -e '{got}.go'; unlink '{got}.go'"
        ),
        ends_first,
        shared=shared,
    )
is_same(
    "one that waits in select()",
    perl(
        "vec($r, 0, 1) = 1; while (select($w = $r, undef, undef, undef) && sysread(STDIN, $b,"
        " 65536)) { syswrite(STDOUT, $b) }"
    ),
    asks,
    shared=False,
)

much = bytes(choose.randbytes(3 << 20))


def exchanges(s):
    """Much at once, in both directions."""
    pid = os.fork()
    if not pid:
        try:
            s.sendall(much)
            s.shutdown(socket.SHUT_WR)
        finally:
            os._exit(0)
    heard = read_all(s)
    os.waitpid(pid, 0)
    return len(heard), heard == much


# ---- what is nobody's to read there ----

is_same("3 MiB there and back", ["cat"], exchanges, shared=False)
is_same(
    "the same in select()",
    perl(
        "vec($r, 0, 1) = 1; while (select($w = $r, undef, undef, undef) && sysread(STDIN, $b,"
        " 65536)) { for ($o = 0; $o < length $b;) { $o += syswrite(STDOUT, $b, length($b) - $o,"
        " $o) } }"
    ),
    exchanges,
    shared=False,
)

# ---- what the task leaves, and what cannot be carried ----

for family in unix, tcp:
    ours, its = family()
    with ours, its, c.net.enter(0):
        r = subprocess.run([*AWAY, "true"], stdin=its, stdout=its, timeout=WAIT)
        ours.settimeout(WAIT)
        its.sendall(b"x")
        ok(
            f"its end ends nothing that others have ({family.__name__})",
            r.returncode == 0 and ours.recv(9) == b"x",
            r,
        )
        ours.sendall(b"headBODY")
        r = subprocess.run(
            [*AWAY, "dd", "bs=4", "count=1"],
            stdin=its,
            stdout=its,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
        )
        said = ours.recv(9), its.recv(9, socket.MSG_DONTWAIT)
        ok(f"what it has not read stays ({family.__name__})", said == (b"head", b"BODY"), said)
with c.net.enter(0), socket.create_server(("127.0.0.1", 0)) as server:
    r = subprocess.run([*AWAY, "true"], stdin=server, capture_output=True, text=True, timeout=WAIT)
    ok(
        "one that listens is refused",
        r.returncode == 1 and "is a socket that is not a connected stream" in r.stderr,
        r,
    )
    p = subprocess.Popen(
        [EHCTL, "exec", "--auto", "--", *perl("accept(S, STDIN); print S 'hello'")],
        stdin=server,
        stderr=subprocess.PIPE,
    )
    with socket.create_connection(server.getsockname(), timeout=WAIT) as s:
        said = read_all(s)
    ok("or stays here, and accepts", (said, p.wait(WAIT)) == (b"hello", 0), (said, p.stderr.read()))

# ---- much of it, below a sudo ----

MANY = 1 << 20
GIVES = f"""import socket, subprocess, sys
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[1:], stdin=its)
its.close()
ours.sendall(b"x" * {MANY})
ours.close()
sys.exit(p.wait())"""
SELECTS = """import os, select
n = 0
while True:
    select.select([0], [], [])
    part = os.read(0, 65536)
    if not part:
        break
    n += len(part)
print(n)"""
os.chmod(c.dir, 0o755)
# root's shell cannot be looked at, and leads the session
p = c.popen(
    0,
    [
        "sh",
        "-c",
        f'setpriv --reuid={users.ONE} --regid={users.ONE} --clear-groups -- "$@"; exit $?',
        "sh",
        "python3",
        "-c",
        GIVES,
        *AWAY,
        "python3",
        "-c",
        SELECTS,
    ],
    cwd="/",
    start_new_session=True,
    text=False,
)
said = outcome(p)
ok(
    "a program that waits in select() has it in large parts, though an ancestor hides",
    said == (0, f"{MANY}\n", ""),
    said,
)
done()
