#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# selftests/install/root: a system is made once, and again when debian/control asks for something else. In a tree with a
# mmdebstrap that makes an empty one.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$work/bin" "$tree/debian" "$tree"/selftests/{install,vm}
cp "$here/../install/root" "$tree/selftests/install/"
printf '#!/bin/sh\necho http://mirror\n' >"$tree/selftests/vm/mirror"
cat >"$work/bin/mmdebstrap" <<'END'
#!/bin/bash
for word; do
	case $word in
	--include=*) include=${word#*=} ;;
	*/root) mkdir "$word" && echo "$include" >"$word/installed" ;;
	esac
done
END
chmod 755 "$work/bin/mmdebstrap" "$tree/selftests/vm/mirror"
control() {
	printf '%s\n' "Source: x" "Build-Depends: debhelper-compat (= 13)," "               gcc <!nocheck>," "               $1" "" \
		"Package: x" "Depends: y" >"$tree/debian/control"
}
root() { PATH=$work/bin:$PATH EHS_CACHE=$work/cache "$tree/selftests/install/root" "$@" 2>>"$work/said"; }

control libone-dev
first=$(root build)
like "it has what debian/control asks for" "$(cat "$first/installed")" "*,debhelper,gcc,libone-dev"
is "it is there the next time" "$(root build) $(grep -c making "$work/said")" "$first 1"
control libtwo-dev
second=$(root build)
like "when that changes, another one is made" "$(cat "$second/installed")" "*,debhelper,gcc,libtwo-dev"
check "and who works in the first one keeps it" [ -e "$first/installed" ]
control libone-dev
is "which is what an unchanged tree uses" "$(root build)" "$first"
host=$(root host)
control libtwo-dev
is "a host has nothing to do with it" "$(root host)" "$host"
check "each suite has its own" [ "$(root host trixie)" != "$host" ]
finish
