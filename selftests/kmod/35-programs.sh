#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of all kinds: what stays, what goes, what is counted once; and files that change under an exec.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
in="$probe in $cg/m"
mkfifo "$work/say"
say() { echo "$*" >"$work/say"; }
# cookie: of the newest request
cookie() { awk '/^request/ { c = $2 } END { print c }' "$log"; }

agent "$stub" remote sender exit-42
for kind in file o-path memory path-file path-o-path path-memory; do
	counted redirect "a program known by its descriptor only ($kind)" $in fexec $kind $probe
	is "it runs here ($kind)" "$($in fexec $kind $probe; echo $?)" 0
done
counted redirect "/proc/self/exe, which is another program to others" $in -- /proc/self/exe
is "it is the one that called" "$($in -- /proc/self/exe; echo $?)" 0
ln -s /proc/self/exe "$work/link"
counted redirect "a link to it" $in -- "$work/link"
ln -sf "$probe" "$work/link"
counted sender "an ordinary link" $in -- "$work/link"
cp $probe "$work/relative"
counted sender "a relative path" sh -c "cd $work && exec $in -- ./relative"
counted sender "threads that exec at once" $in threads 8 -- true
is "the stub ran in the place of all of them" "$($in threads 8 -- true; echo $?)" 42

# scripts are one arrival, whatever their interpreters are
printf '#!/bin/sh\nexit 7\n' >"$work/first"
printf '#!%s\nexit 8\n' "$work/first" >"$work/second"
printf '#!/nonexistent\n' >"$work/nobody"
printf 'exit 9\n' >"$work/text"
head -c 100 /dev/zero >"$work/zeros"
chmod +x "$work/first" "$work/second" "$work/nobody" "$work/text" "$work/zeros"
counted sender "a script of a script" $in -- "$work/second"
is "the stub has its place" "$($in -- "$work/second"; echo $?)" 42
agent_end
agent "$stub" local excluded -
counted excluded "a script of a script that stays" $in -- "$work/second"
is "runs here" "$($in -- "$work/second"; echo $?)" 7
counted redirect "a script without interpreter" $in -- "$work/nobody"
is "its caller gets the error" "$($in -- "$work/nobody" 2>&1)" "probe: $work/nobody: No such file or directory"
# the kernel asks for a module, and goes through the formats a second time
counted redirect "a file of no known format" $in -- "$work/zeros"
is "its exec fails as ever" "$($in -- "$work/zeros" 2>&1)" "probe: $work/zeros: Exec format error"
# env and the shell; the failing exec of the text between them is redirect
before=$(counter excluded)
is "a text file is the shell's" "$($in -- env "$work/text"; echo $?) $(($(counter excluded) - before))" "9 2"
agent_end

# an exec that waits holds its file as ever: it can be removed, but not written
agent "$stub" manual "$work/say"
$nl set limit=10000
cp /bin/true "$work/program"
before=$(arrivals)
is "a program being written cannot be run" \
	"$($in writing "$work/program" -- "$work/program" 2>&1) $(($(arrivals) - before))" "probe: $work/program: Text file busy 0"
$in -- "$work/program" &
pid=$!
becomes pending 1
like "one that waits for a verdict cannot be written" "$( { : >>"$work/program"; } 2>&1)" "*Text file busy"
rm "$work/program"
say "$(cookie) local no-receiver -"
wait $pid
is "one that was removed meanwhile runs" $? 0
cp /bin/true "$work/program"
$in -- "$work/program" &
pid=$!
becomes pending 1
mv "$work/program" "$work/moved"
say "$(cookie) remote sender exit-41"
wait $pid
is "one that was renamed meanwhile runs here: nobody else would find it" $? 0
is "then it can be written" "$( { : >>"$work/moved"; } 2>&1)" ""

# a tracer waits until the exec is over: it finds the stub, not a traced task on its way out
$in -- true &
pid=$!
becomes pending 1
: >"$out"
$probe seize $pid >"$out" 2>&1 &
tracer=$!
wait_for 20 eval '[ "$(cat /proc/$tracer/comm)" = probe ] && grep -q ^State:.S /proc/$tracer/status'
say "$(cookie) remote sender sleep"
wait_for 20 file_has "$out" ^seized
is "a tracer that comes meanwhile gets the stub" "$? $(field away) $(readlink /proc/$pid/exe)" "0 1 $stub"
kill $pid; wait $pid $tracer 2>/dev/null
agent_end

# binfmt_misc: asked first when it is loaded later
like "modprobe loads binfmt_misc before us" "$(modinfo -F softdep "$module")" "*pre: binfmt_misc*"
misc=/proc/sys/fs/binfmt_misc
emulator() {
	mount -t binfmt_misc none $misc
	echo ":ehs:E::ehstest::$work/emulator:" >$misc/register
}
printf '#!/bin/sh\nexit 11\n' >"$work/emulator"
: >"$work/foreign.ehstest"
chmod +x "$work/emulator" "$work/foreign.ehstest"
agent "$stub" remote sender exit-42
if grep -qw binfmt_misc /proc/filesystems; then
	skip "what a later binfmt_misc takes is left alone" "binfmt_misc is there already"
	emulator
else
	modprobe binfmt_misc && emulator
	before=$(arrivals)
	is "what a later binfmt_misc takes is left alone" \
		"$($in -- "$work/foreign.ehstest"; echo "$? $(($(arrivals) - before))")" "11 0"
	counted sender "the rest is not" $in -- true
	agent_end
	sitter_end $sitter
	rmmod ehsched && insmod "$module" && node_reset
	sitter $cg/m
	agent "$stub" remote sender exit-42
fi
counted redirect "a program of an earlier binfmt_misc, which other hosts need not have" $in -- "$work/foreign.ehstest"
is "is emulated here" "$($in -- "$work/foreign.ehstest"; echo $?)" 11
agent_end
counted no-agent "and one that stays" $in -- "$work/foreign.ehstest"
is "goes to its emulator" "$($in -- "$work/foreign.ehstest"; echo $?)" 11
echo -1 >$misc/ehs
umount $misc
sitter_end $sitter
at_zero "all counts are back at zero"
finish
