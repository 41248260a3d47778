#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that the agent has named to stay: their execs are counted, and it is not asked. All others are asked about.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
in="$probe in $cg/m"
mkfifo "$work/orders"
agent "$stub" manual "$work/orders" local no-receiver -
asked() { grep -c '^request' "$log"; }
# told WORD…: the agent does this; prints what the kernel said
told() {
	local verb=$1 n
	n=$(grep -c "^$verb " "$log")
	echo "$*" >"$work/orders"
	wait_for 20 eval '[ "$(grep -c "^$verb " "$log")" -gt "$n" ]' || return
	grep "^$verb " "$log" | tail -n 1 | cut -d ' ' -f 2-
}
# stays NAME COMMAND…, is_asked NAME COMMAND…: exactly this is counted, and seen by the agent
stays() {
	local n
	n=$(asked)
	counted stays "$@"
	is "$1: no request" "$(asked)" "$n"
}
is_asked() {
	local n
	n=$(asked)
	counted no-receiver "$@"
	is "$1: a request" "$(asked)" $((n + 1))
}
# changed FILE COMMAND…: until its change time is another one, however coarse the clock of the file system is
changed() {
	# shellcheck disable=SC2034	# read by eval
	local file=$1 command=("${@:2}") before
	before=$(stat -c %z "$file")
	wait_for 20 eval '"${command[@]}"; [ "$(stat -c %z "$file")" != "$before" ]'
}
# has NAME WHAT WORD…: the agent names these programs
has() { is "$1" "$(told programs "${@:2}")" accepted; }

cp /bin/sh "$work/a"
cp /bin/sh "$work/b"
is_asked "no program stays at first" $in -- "$work/a" -c :
has "one is named" "$work/a"
stays "it stays" $in -- "$work/a" -c :
is "and runs" "$($in -- "$work/a" -c 'exit 7'; echo $?)" 7
is_asked "another program does not" $in -- "$work/b" -c :
ln -s a "$work/link"
stays "by another path it is the same" $in -- "$work/link" -c :
mkfifo "$work/hold"
exec 8<>"$work/hold"
$in -- "$work/a" -c 'read _' <&8 & task=$!
listed_as "* pid=$task * local stays a *"
is "its task is listed with the reason" $? 0
echo >&8
wait $task
exec 8>&-

# what comes before it
mkdir -p $cg/all
$nl set always=$cg/all
stays "in the cgroup whose execs are all placed, too" $probe in $cg/all -- "$work/a" -c :
is_asked "others are asked about there" $probe in $cg/all -- "$work/b" -c :
counted guest "a guest is one all the same" $probe in $cg/g -- "$work/a" -c :
$nl set threshold=100000
counted not-sender "so is a task of a node that is no sender" $in -- "$work/a" -c :
stays "but for the cgroup whose execs are all placed" $probe in $cg/all -- "$work/a" -c :
$nl set threshold=0
chmod 4755 "$work/b"
has "one with rights is named" "$work/b"
stays "what else would keep it is not looked at" $in -- "$work/b" -c :
chmod 755 "$work/b"

# a program is what it was when it was named
has "named again" "$work/a"
stays "it stays" $in -- "$work/a" -c :
changed "$work/a" chmod 700 "$work/a"
is_asked "it was changed" $in -- "$work/a" -c :
has "named as it is now" "$work/a"
stays "it stays" $in -- "$work/a" -c :
changed "$work/a" eval 'echo >>"$work/a"'
is_asked "it was written to" $in -- "$work/a" -c :
has "named as it is now" "$work/a"
cp -p "$work/a" "$work/new" && mv "$work/new" "$work/a"
is_asked "another file has its path" $in -- "$work/a" -c :
has "that is named" "$work/a"
stays "it stays" $in -- "$work/a" -c :

# scripts
printf '#!%s\n:\n' "$work/a" >"$work/script"
chmod 755 "$work/script"
is_asked "a script, and its interpreter stays" $in -- "$work/script"
has "a script is named" "$work/script"
stays "it stays" $in -- "$work/script"
is_asked "and its interpreter does not" $in -- "$work/a" -c :

# the whole set is replaced
has "two are named, one of them twice" "$work/a" "$work/b" "$work/a"
stays "the first stays" $in -- "$work/a" -c :
stays "the second stays" $in -- "$work/b" -c :
is_asked "what is not named any more does not" $in -- "$work/script"
has "none is named"
is_asked "none stays" $in -- "$work/a" -c :

# as many as there may be
mkdir "$work/many"
for ((i = 1; i <= 257; i++)); do echo "#!/bin/sh" >"$work/many/$i"; done
chmod 755 "$work/many"/*
mapfile -t many < <(seq -f "$work/many/%g" 1 256)
has "256 are named" "${many[@]}"
for i in 1 2 128 255 256; do stays "number $i" $in -- "$work/many/$i"; done
is_asked "one that is not among them" $in -- "$work/many/257"
like "257 are too many" "$(told programs "${many[@]}" "$work/many/257")" "E2BIG: *at most 256 programs*"
stays "then those of before stay" $in -- "$work/many/256"
is_asked "and the others do not" $in -- "$work/many/257"

# what is no program
like "a directory" "$(told programs "$work/a" "$work")" "EINVAL: *is a regular file*"
like "a device" "$(told programs /dev/null)" "EINVAL: *is a regular file*"
like "a fifo" "$(told programs "$work/hold")" "EINVAL: *is a regular file*"
like "no descriptor" "$(told programs fd:999)" "EBADF: *not a descriptor*"
like "a number that no descriptor has" "$(told programs fd:2147483648)" "ERANGE: integer out of range*"
stays "then those of before stay" $in -- "$work/many/256"
is_asked "and the others do not" $in -- "$work/a" -c :
refused "over another socket" EPERM "only the socket registered as agent" "$nl" programs "$work/a"

# with the registration they end
has "named once more" "$work/a"
stays "it stays" $in -- "$work/a" -c :
is "the same socket is registered again" "$(told register "$stub")" accepted
is_asked "then it does not stay" $in -- "$work/a" -c :
has "until it is named again" "$work/a"
stays "it stays" $in -- "$work/a" -c :
agent_end
counted no-agent "without an agent it is as any other" $in -- "$work/a" -c :
agent "$stub" manual "$work/orders" local no-receiver -
is_asked "with the next agent, too" $in -- "$work/a" -c :

# execs while the set is replaced
before=$($nl counts) stays=$(counter stays) no_receiver=$(counter no-receiver) enough=$(many 20 200) named=
storm_begin 3 -- $in -- "$work/a" -c :
replaced() {
	[ "$named" ] && named='' || named="$work/a ${many[*]:RANDOM % 200:RANDOM % 50}"
	echo "programs $named" >"$work/orders"
	(($(counter stays) >= stays + enough && $(counter no-receiver) >= no_receiver + enough))
}
wait_for 120 replaced
is "execs stay and are asked about while the set is replaced ($($nl counts "$before"))" $? 0
storm_end "no exec failed"
like "nothing else was counted" "$($nl counts "$before")" "no-receiver+* stays+*"
is "each set was accepted" "$(told programs) $(grep -c '^programs [^a]' "$log")" "accepted 0"
agent_end

# what the descriptor is opened for does not matter
exec 9<"$work/a"
is "a descriptor for reading will do" "$($nl as root "$stub" programs fd:9)" "1 programs"
exec 9<&-
chmod 711 "$work/b"
is "a program that the agent may not read" "$($nl as another "$stub" programs "$work/b")" "1 programs"
sitter_end $sitter
node_reset
at_zero "all counts are back at zero"
finish
