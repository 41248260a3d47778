# SPDX-License-Identifier: GPL-2.0-or-later
# Shows a test's KTAP as it comes, a level deeper, and writes "passed failed skipped reason" into the file `sums` and a line for
# each skipped result into `skips`. Of nested results (KTAP: indented) the innermost count; a result that closes a
# nested block only repeats it. `name` is the test's; with `all` lines that are not results are shown, too.

function show(line) { print "    " line; fflush() }
function skip(what, reason) { skipped++; print what ": " reason >>skips }
function text(line) { sub(/^ *(not )?ok *[0-9]* *(- *)?/, "", line); return line }

{ sub(/\r$/, "") }
match($0, /^ */) { depth = RLENGTH }

/^ *# Subtest: / { subtest = $0; sub(/^ *# Subtest: /, "", subtest); show($0); next }
/^ *K?TAP version/ { if (depth) show($0); next }
/^ *1\.\.[0-9]+/ {
	if (depth) { show($0); next }
	plans++
	split($0, p, /\.\./)
	planned += p[2] + 0
	if ($0 ~ /^1\.\.0.*# *[Ss][Kk][Ii][Pp]/) { sub(/.*# *[Ss][Kk][Ii][Pp] */, ""); skip(name, $0); show("# SKIP " $0) }
	next
}
/^Bail out!/ { failed++; why = $0; show("# " $0); next }
/^ *(not )?ok($| )/ {
	bad = /^ *not ok/
	if (!depth) results++
	show($0)
	nested = inner[depth]
	nested_bad = inner_bad[depth]
	for (d in inner) if (d + 0 >= depth) inner[d] = inner_bad[d] = 0
	for (d = 0; d < depth; d++) { inner[d] = 1; if (bad) inner_bad[d] = 1 }
	if (nested) {
		if (bad && !nested_bad) failed++
	} else if (bad) {
		failed++
	} else if (/# *[Ss][Kk][Ii][Pp]/) {
		reason = $0
		sub(/.*# *[Ss][Kk][Ii][Pp] */, "", reason)
		what = text($0)
		sub(/ *# *[Ss][Kk][Ii][Pp].*/, "", what)
		where = depth ? subtest : name
		# a whole program, told by a runner in a guest
		skip(what ~ /^[a-z]+\/[^ ]*$/ ? what : where ": " what, reason)
	} else {
		passed++
	}
	next
}
all { show(/^ *#/ ? $0 : "# " $0) }

END {
	if (!plans) why = why ? why : "no plan"
	else if (results != planned) why = planned " results planned, " results + 0 " seen"
	print passed + 0, failed + 0, skipped + 0, why >sums
}
