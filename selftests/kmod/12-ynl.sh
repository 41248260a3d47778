#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's own ynl client, which knows nothing of the family but uapi/ehsched.yaml, speaks to it.
. "$(dirname "$0")/lib.sh"

python=$(yaml_python) || bail_out "no python3 with yaml: run packaging/deps test"
[ -e "$built/ynl/cli.py" ] || bail_out "no $built/ynl/cli.py: run make tests"

# ynl OPTION…: answers as JSON, a line each; -u, so that each is in the file when it is there. What python compiles is kept,
# in this guest only: it takes longer than the rest.
ynl=("$python" -u "$built/ynl/cli.py" --spec "$top/uapi/ehsched.yaml" --no-schema --output-json)
ynl() { "${ynl[@]}" "$@"; }
# json EXPRESSION: of the answer x that was kept in $out
json() { $python -c 'import json, sys; x = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$out" "$1" 2>&1 || cat "$out"; }

node_reset
"$nl" set index=tasks threshold=3000 length=500
netns=$(field netns)

ynl --do node-get >"$out" 2>&1
is "node-get: numbers" "$(json 'x["threshold"], x["threshold-length"], x["netns"]')" "(3000, 500, $netns)"
is "node-get: names of the enums" "$(json 'x["state"], x["load-index"]')" "('receiver', 'tasks')"
is "node-get: a counter for each reason, by name" "$(json 'len(x["counter"]), x["counter"][0]["reason"], x["counter"][-1]["reason"]')" \
	"($(grep -cE "^	EHS_REASON_[A-Z_]+,$" "$top/uapi/linux/ehsched.h"), 'none', 'stays')"
is "node-get: the managed cgroup" "$(json 'x["managed-cgroup-id"]')" "[$(field managed)]"
ynl --dump node-get >"$out" 2>&1
is "node-get as a dump" "$(json '[n["netns"] for n in x]')" "[$netns]"

ynl --do node-set --json '{"threshold": 4242, "load-index": "cpu"}' >"$out" 2>&1
is "node-set" "$(field threshold index)" "4242 cpu"
exec 9<"$cg/m"
ynl --do node-set --json '{"clear-cgroups": true, "managed-cgroup-fd": [9]}' >"$out" 2>&1
is "node-set: descriptors" "$(field managed)$(field guest-cgroup)" "$(stat -c %i "$cg/m")"
exec 9<&-

# not accepted, with the text, the attribute and its limits
refuses() {	# refuses NAME JSON TEXT…
	local name=$1 text
	ynl --do node-set --json "$2" >"$out" 2>&1 && fail "$name" "was accepted"
	for text in "${@:3}"; do
		like "$name: $text" "$(cat "$out")" "*$text*"
	done
}
refuses "an empty change" '{}' "ehsched: nothing to change" "Invalid argument"
refuses "a weight of 0" '{"weight": 0}' "integer out of range" "'bad-attr': '.weight'" "'min-value': 1" "'max-value': 1000000"
exec 9<"$cg/m"
ynl --do programs-set --json '{"program-fd": [9]}' >"$out" 2>&1
like "programs-set: not by who is no agent" "$(cat "$out")" "*only the socket registered as agent*"
exec 9<&-
refuses "a descriptor of nothing" '{"guest-cgroup-fd": 999}' "not a file descriptor of a cgroup" "'bad-attr': '.guest-cgroup-fd'"
is "nothing of it has changed the node" "$(field threshold weight index)" "4242 1000 cpu"

"$nl" set index=tasks
sitter $cg/m
ynl --dump task-get >"$out" 2>&1
is "task-get" "$(json '[(t["pid"], t["uid"], t["state"], t["reason"], t["command"]) for t in x]')" "[($sitter, 0, 'local', 'not-sender', 'sleep')]"
sitter_end $sitter

# Each try is a change of its own: whether the client listens already, only an answer says.
# Not the function: its shell would be ended in the place of the client.
"${ynl[@]}" --subscribe node --duration $((60 * slow)) >"$out" 2>&1 &
client=$!
threshold=5000
notified() {
	threshold=$((threshold + 1))
	"$nl" set threshold=$threshold
	grep -q '"name": "node-ntf"' "$out"
}
wait_for 50 notified
kill $client 2>/dev/null
wait $client 2>/dev/null
head -n 1 "$out" >"$out.1" && mv "$out.1" "$out"
is "a notification" "$(json 'x["name"], 5000 < x["msg"]["threshold"] <= '$threshold', x["msg"]["load-index"]')" "('node-ntf', True, 'tasks')"
finish
