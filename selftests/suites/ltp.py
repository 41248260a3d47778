# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux Test Project, what it says of processes, signals, pipes, locks, descriptors and
terminals: its tests of these system calls that an ordinary user can run. Each test is a program of
its own, which leaves. What it promises of each call is a case."""
import os, re

from suite import Suite

CALLS = """
    fcntl wait wait4 waitid waitpid kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigqueueinfo
    rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaction sigaltstack sighold signal sigpending
    sigprocmask sigrelse sigsuspend sigtimedwait sigwait sigwaitinfo pause alarm pipe pipe2 dup
    dup2 dup3 read write flock fork vfork execve execl execv execle execlp execvp exit exit_group
    getpid getppid getpgid getpgrp setpgid setpgrp getsid setsid select pselect poll ppoll splice
    tee vmsplice getitimer setitimer umask ioctl socketpair
""".split()


def results(tree, log):
    """A line for each promise in out/TEST, and the status of TEST as a whole. The lines have PIDs
    and times, so a case is a number."""
    found = {}
    folder = os.path.join(tree, "out")
    for test in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, test), encoding="utf-8", errors="replace") as f:
            text = f.read()
        for number, result in enumerate(
            re.findall(r"\b(TPASS|TFAIL|TBROK|TCONF)\b", text.split("\nSummary:\n")[0]), 1
        ):
            found[f"{test} {number}"] = result
        status = re.search(r"^status (\d+)\n\Z", text, re.M)
        found[test] = status[1] if status else "no status"
    return found


SUITE = Suite(
    "ltp",
    "20250930",
    bound=3600,
    programs=["t/*"],
    results=results,
    needs=["autoconf", "automake", "pkg-config", "m4"],
    git="https://github.com/linux-test-project/ltp",
    commit="d2550ffbbcfe163212cd7e9c132db65ae0fa06ed",
    environment={"LTP_COLORIZE_OUTPUT": "n", "KCONFIG_SKIP_CHECK": "1", "LTP_TIMEOUT_MUL": "2"},
    build=f"""
mkdir t out && {{ make -s autotools && ./configure -q; }} >configure.log 2>&1 &&
	make -s -j2 -C lib libltp.a || exit
# without those that need root; where one runs with several arguments, each
sed -n 's/^\\([A-Za-z0-9_]*\\)[ \\t][ \\t]*\\([^#]*\\)$/\\1 \\2/p' runtest/syscalls runtest/pty |
	sort -u | while read -r name program arguments; do
	for call in {" ".join("syscalls/" + call for call in CALLS)} pty; do
		folder=testcases/kernel/$call
		source=$folder/${{program%_64}}.c
		root='needs_root\\|require_root\\|needs_device\\|mount_device'
		[ -e "$source" ] && ! grep -q "$root" "$source" || continue
		echo "$name $program $arguments" >>list
		echo "$folder $program" >>programs
		ls "$folder" | sed -n "s,\\(.*_child.*\\)\\.c$,$folder \\1,p" >>programs
	done
done
# as its own makefiles do, which make its library again and again
sort -u programs | xargs -P4 -n2 sh -c '
	flags="-Iinclude -Iinclude/old -I$0 -I$0/../utils -I$0/../lib"
	flags="$flags -D_GNU_SOURCE -D_LARGEFILE64_SOURCE"
	case $1 in *_64) flags="$flags -DTST_USE_NEWER64_SYSCALL=1 -D_FILE_OFFSET_BITS=64" ;; esac
	case $0 in
	*/sigpending) flags="$flags -DTEST_SIGPENDING" ;;
	*/sigaction) flags="$flags -DGLIBC_SIGACTION_BUG=1" ;;
	esac
	more=; grep -qs "^LTPLIBS.*sigwait" "$0/Makefile" && more=libs/sigwait/*.c
	gcc -w -pthread -std=gnu99 -fno-strict-aliasing $flags -o "t/$1" "$0/${{1%_64}}.c" $more \\
		lib/libltp.a -lrt -lutil || :'
while read -r name program arguments; do
	[ -x "t/$program" ] && echo "$name $program $arguments"
done <list >list.new
mv list.new list
wc -l <list""",
    run="""
PATH=$PWD/t:$PATH LTPROOT=$PWD; export PATH LTPROOT
sed 's/ /\\n/' list | xargs -P4 -d '\\n' -n2 sh -c 'out=$PWD/out/$0
	cd "$(mktemp -d)" && timeout 240 $1 </dev/null >"$out" 2>&1
	echo "status $?" >>"$out"; echo "$0"'""",
)
