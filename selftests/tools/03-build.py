#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The makefiles: version, flags, quiet lines, install and uninstall, missing packages."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from tree import BUILD, run, TOP

work = tempfile.mkdtemp()
OUT = f"{work}/out"
ENV = {
    k: v
    for k, v in os.environ.items()
    if not re.match(r"(MAKE|MFLAGS|CC$|C(PP)?FLAGS|LDFLAGS|V$|O$|SAN$|COV$|DESTDIR)", k)
} | {"LC_ALL": "C.UTF-8"}


def make(*arguments, top=TOP, **env):
    """Status and output of make."""
    result = subprocess.run(
        ["make", "-C", top, "--no-print-directory", *arguments],
        env={**ENV, **env},
        timeout=300,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def here(*arguments):
    """Output of a program without its last newline."""
    return run(*arguments, env=ENV).stdout.decode().strip()


# ---- the version

with open(f"{TOP}/VERSION", encoding="ascii") as f:
    VERSION = f.read().strip()
ok(
    "ehctl says VERSION",
    here(f"{BUILD}/bin/ehctl", "version")
    == f"ehctl {VERSION}"
    == here(f"{BUILD}/bin/ehctl", "--version"),
)
ok(
    "so does ehrsh",
    here(f"{BUILD}/bin/ehrsh", "--version")
    == f"ehrsh {VERSION}"
    == here(f"{BUILD}/bin/ehrsh", "-V"),
)
ok(
    "so does ehagent",
    (saw := here(f"{BUILD}/bin/ehagent", "--version")) == f"ehagent {VERSION}",
    saw,
)
if os.path.exists(f"{BUILD}/ehsched.ko"):
    ok(
        "so does the module",
        (saw := here("/sbin/modinfo", "-F", "version", f"{BUILD}/ehsched.ko")) == VERSION,
        saw,
    )
else:
    skip("so does the module", "it is not built")
with open(f"{TOP}/NEWS", encoding="utf-8") as f:
    ok(
        "NEWS begins with it",
        (saw := re.search(r"^\d[\w.~]*", f.read(), flags=re.M)[0]) == VERSION,
        saw,
    )
with open(
    (glob.glob(f"{TOP}/dkms.conf") + glob.glob(f"{TOP}/packaging/dkms/dkms.conf"))[0],
    encoding="utf-8",
) as f:
    said = re.search(r'^PACKAGE_VERSION="(.*)"', f.read(), flags=re.M)[1]
ok("dkms.conf has it", said == VERSION or "VERSION" in said, said)

# ---- lines and flags

OBJECT = f"{OUT}/lib/eh/topology.o"
status, quiet, err = make(f"O={OUT}", OBJECT)
ok("a line is `CC file`", status == 0 and quiet == "  CC      lib/eh/topology.o\n", quiet + err)
ok("what is there is not compiled again", (saw := make(f"O={OUT}", OBJECT)) == (0, "", ""), saw)
status, loud, err = make(f"O={OUT}", "V=1", "CPPFLAGS=-DMARK", OBJECT)
ok(
    "V=1 shows commands, and other flags compile again",
    status == 0
    and re.match(
        r"gcc .* -DMARK .*-c -o \S+topology\.o lib/eh/topology\.c\n$", loud.splitlines(True)[-1]
    ),
    loud + err,
)
status, _, err = make(f"O={OUT}", "CC=/no/such/compiler", OBJECT)
ok("CC is ours to set", status != 0 and "/no/such/compiler" in err, err)
status, _, err = make(f"O={OUT}", OBJECT, CC="/no/such/compiler")
ok("in the environment too", status != 0 and "/no/such/compiler" in err, err)
status, _, err = make(f"O={OUT}", "PKG_CONFIG=false", OBJECT)
ok(
    "without the libraries it says how to install them",
    status != 0 and "packaging/deps" in err,
    err,
)
status, lines, err = make("-n", "V=1", f"O={OUT}", "CPPFLAGS=-DMARK", "LDFLAGS=-Wl,-O1", "tools")
commands = re.sub(r"\\\n", "", lines).splitlines()
compiled = [c for c in commands if " -c -o " in c]
linked = [c for c in commands if re.search(r" -o \S+/bin/", c)]
ok(
    "all programs are compiled with CPPFLAGS",
    len(compiled) > 100 and all("-DMARK" in c for c in compiled),
    "\n".join(c for c in compiled if "-DMARK" not in c) + err,
)
ok(
    "and linked with LDFLAGS",
    len(linked) == 17 and all("-Wl,-O1" in c for c in linked),
    "\n".join(c for c in linked if "-Wl,-O1" not in c) + err,
)
asked = f"{work}/asked"
with open(f"{work}/pkg-config", "w", encoding="ascii") as f:
    f.write(f'#!/bin/sh\necho "$@" >>{asked}\nexec pkg-config "$@"\n')
os.chmod(f"{work}/pkg-config", 0o755)
make("-n", f"O={OUT}", f"PKG_CONFIG={work}/pkg-config", "tools")
ok(
    "PKG_CONFIG is asked",
    os.path.exists(asked) and "jansson" in open(asked, encoding="ascii").read(),
)

STATIC = "ehctl", "ehstub", "ehlaunch"
LOADED = *STATIC, "ehspawn.so"
for program in sorted(glob.glob(f"{BUILD}/bin/eh*")):
    name = os.path.basename(program)
    elf = here("readelf", "-hldW", program)
    want = ("Type: +DYN", "GNU_RELRO", "BIND_NOW", r"GNU_STACK.* RW +0x")
    missing = [w for w in want if not re.search(w, elf)]
    ok(f"{name} is position independent, with full RELRO", not missing, missing)
    ok(
        f"{name} has "
        + ("no interpreter: it is static, or a library" if name in LOADED else "an interpreter"),
        ("INTERP" in elf) == (name not in LOADED),
    )
    symbols = (
        here("nm", "-a", program)
        if name != "ehagent"
        else here("readelf", "-sW", "--dyn-syms", program)
    )
    ok(f"{name} has the stack protector", "__stack_chk_fail" in symbols or "__asan" in symbols)

# ---- sanitizers and coverage

status, lines, err = make("-n", "SAN=1", "tools")
ok("SAN=1 builds into build-san", "build-san/bin/ehagent" in lines and " build/" not in lines, err)
sanitized = f"{work}/san/lib/eh/topology.o"
status, _, err = make("SAN=1", f"O={work}/san", sanitized)
ok(
    "with AddressSanitizer and UBSan",
    status == 0 and "__asan_" in here("nm", sanitized) and "__ubsan_" in here("nm", sanitized),
    err,
)
ok("without, objects have neither", "__asan_" not in (saw := here("nm", OBJECT)), saw)
status, _, err = make("COV=1", f"O={work}/cov", f"{work}/cov/lib/eh/topology.o")
ok("COV=1 counts lines", status == 0 and os.path.exists(f"{work}/cov/lib/eh/topology.gcno"), err)

# ---- targets

status, said, err = make("help")
targets = re.findall(r"^  ([a-z][\w.-]*)(?: |$)", said, flags=re.M)
ok(
    "make help lists targets",
    {"all", "tools", "module", "check", "install", "fuzz", "lint", "bench"} <= set(targets)
    and "  V=1 " in said,
    said,
)
known = make("-npq", "no-such-target", f"O={OUT}")[1]
unknown = [t for t in targets if not re.search(rf"^{re.escape(t)}:", known, flags=re.M)]
ok("each is one", not unknown, unknown)

copy = f"{work}/copy"
os.mkdir(copy)
for part in ("Makefile", "VERSION"):
    shutil.copy(f"{TOP}/{part}", copy)
status, _, err = make("help", top=copy)
ok("a part of the makefile that is missing is told", status != 0 and "No such file" in err, err)

# into a copy of the makefiles with links, as the file is written beside the Makefile
tree = f"{work}/tree"
os.mkdir(tree)
for part in os.listdir(TOP):
    if not part.startswith((".", "build", "compile_commands")):
        os.symlink(f"{TOP}/{part}", f"{tree}/{part}")
status, _, err = make("compile_commands.json", f"O={BUILD}", top=tree)
with open(f"{tree}/compile_commands.json", encoding="utf-8") as f:
    database = json.load(f)
files = {e["file"] for e in database}
sources = {
    os.path.relpath(f, TOP)
    for part in ("agent", "helpers", "lib", "tools")
    for f in glob.glob(f"{TOP}/{part}/**/*.c", recursive=True)
}
ok(
    "compile_commands.json has each program's sources",
    status == 0 and sources and sources <= files,
    sources - files,
)
entry = next(e for e in database if e["file"] == "agent/main.c")
result = run(
    "sh", "-c", entry["command"].replace(" -c -o ", " -fsyntax-only -o "), cwd=TOP, env=ENV
)
ok("and its commands work", result.returncode == 0, result.stderr.decode())

# ---- install and uninstall


def below(folder):
    """All paths below it."""
    return {
        os.path.relpath(os.path.join(at, name), folder)
        for at, dirs, names in os.walk(folder)
        for name in dirs + names
    }


dest = f"{work}/dest"
os.makedirs(f"{dest}/usr/bin")
os.makedirs(f"{dest}/usr/libexec/ehsched")
os.makedirs(f"{dest}/lib/modules/9.9/updates")
for mine in ("usr/bin/other", "usr/libexec/ehsched/other", "lib/modules/9.9/updates/ehsched.ko"):
    with open(f"{dest}/{mine}", "w", encoding="ascii") as f:
        f.write("not of make install\n")
before = below(dest)
status, said, err = make(f"O={BUILD}", f"DESTDIR={dest}", "install")
written = below(dest) - before
ok(
    "make install",
    status == 0
    and {
        "usr/bin/ehctl",
        "usr/bin/ehrsh",
        "usr/sbin/ehagent",
        "usr/libexec/ehsched/ehstub",
        "usr/libexec/ehsched/ehplan",
        "usr/share/man/man8/ehagent.8",
        "usr/lib/systemd/system/ehagent.service",
        "usr/share/bash-completion/completions/ehctl",
        "usr/share/bash-completion/completions/ehrsh",
        "usr/share/man/man1/ehrsh.1",
        "usr/share/man/man7/ehsched.7",
        "usr/share/zsh/site-functions/_ehctl",
        "usr/share/fish/vendor_completions.d/ehctl.fish",
    }
    <= written,
    f"{written}\n{said}{err}",
)
modes = {
    p: os.stat(f"{dest}/usr/libexec/ehsched/{p}").st_mode & 0o7777
    for p in ("ehview", "ehfiles", "ehlook", "ehstub")
}
ok(
    "no user can read, and so trace, what runs as him and holds more",
    modes == {"ehview": 0o711, "ehfiles": 0o711, "ehlook": 0o755, "ehstub": 0o755},
    modes,
)
modules = [w for w in written if w.endswith("ehsched.ko")]
ok(
    "it installs the module if it was built",
    len(modules) == os.path.exists(f"{BUILD}/ehsched.ko"),
    modules,
)
pages = [
    f
    for f in glob.glob(f"{dest}/usr/share/man/man*/*")
    if f'"ehsched {VERSION}"' in open(f, encoding="utf-8").read()
]
ok("all manual pages have the version", len(pages) == len(glob.glob(f"{TOP}/tools/man/*")), pages)
ok("nothing is compiled for it", " CC " not in said and " LD " not in said, said)
if modules:
    # another kernel's, later
    status, said, err = make(
        f"O={BUILD}", f"DESTDIR={dest}", "MODDIR=/lib/modules/8.8/updates", "install"
    )
    ok(
        "a second kernel's module is installed beside the first's",
        status == 0
        and os.path.exists(f"{dest}/lib/modules/8.8/updates/ehsched.ko")
        and os.path.exists(f"{dest}/{modules[0]}"),
        err,
    )
else:
    skip("a second kernel's module is installed beside the first's", "the module is not built")
status, said, err = make(f"O={BUILD}", f"DESTDIR={dest}", "uninstall")
ok(
    "make uninstall removes all of it, and what is not ours stays",
    status == 0 and below(dest) == before,
    f"left: {below(dest) - before}\ngone: {before - below(dest)}\n{said}{err}",
)
status, _, err = make(f"O={BUILD}", f"DESTDIR={dest}", "uninstall")
ok(
    "a second time it says that nothing is installed, and removes nothing",
    status != 0 and "share/ehsched/installed" in err and below(dest) == before,
    err,
)

# ---- packages

bare = f"{work}/bare"
os.mkdir(bare)
for name, does in (("dpkg-query", "exit 1"), ("apt-get", f"touch {work}/installed-by-surprise")):
    with open(f"{bare}/{name}", "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{does}\n")
    os.chmod(f"{bare}/{name}", 0o755)
for target in ("check", "lint", "bench"):
    status, said, err = make(f"O={OUT}", target, PATH=f"{bare}:{ENV['PATH']}")
    ok(
        f"make {target} says which packages are missing and how to install them",
        status != 0
        and "libjansson-dev" in err
        and "run as root: packaging/deps" in err
        and " CC " not in said,
        said + err,
    )
ok("and installs none", not os.path.exists(f"{work}/installed-by-surprise"))

shutil.rmtree(work)
done()
