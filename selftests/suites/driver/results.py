# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of others say, as {test: result}."""

import collections, hashlib, os, re


def automake(*folders):
    """The .trs files that automake's harness writes, below these directories of the tree."""

    def read(tree, log):
        found = {}
        for folder in folders or ("",):
            top = os.path.join(tree, folder)
            for place, _, names in os.walk(top):
                for name in names:
                    if name.endswith(".trs"):
                        path = os.path.join(place, name)
                        found.update(
                            trs(
                                os.path.relpath(path[:-4], tree),
                                open(path, errors="replace").read(),
                            )
                        )
        return found

    return read


def trs(test, text):
    """One test, or, of a program with several, each by its number and name."""
    lines = re.findall(r"^:test-result: *(\S+) *(.*)$", text, re.M)
    if len(lines) == 1:
        return {test: lines[0][0]}
    return {f"{test} {i + 1} {name}".rstrip(): result for i, (result, name) in enumerate(lines)}


def lines(pattern):
    """A line of the log for each test, with the groups `test` and `result`. One that comes again
    gets a number."""
    expression = re.compile(pattern, re.M)

    def read(tree, log):
        found = {}
        for match in expression.finditer(log):
            name, again = match["test"].strip(), 1
            while name in found:
                again += 1
                name = f"{match['test'].strip()} ({again})"
            found[name] = match["result"].strip()
        return found

    return read


def tap(tree, log):
    """TAP, of several programs one after the other: "# test FILE" comes before each."""
    found, file = {}, ""
    for line in log.splitlines():
        match = re.match(r"# test (\S+)$", line)
        if match:
            file = match[1] + " "
        match = re.match(r"(ok|not ok)\b *(\d*) *-? *(.*)$", line)
        if match:
            result, number, name = match.groups()
            directive = re.search(r"# *(skip|todo)\b", name, re.I)
            name = re.sub(r" *#.*", "", name)
            found[f"{file}{number} {name}".strip()] = result + (
                " " + directive[1].lower() if directive else ""
            )
    return found


def unittest(tree, log):
    """python -m unittest -v, whose tests may print between name and result."""
    found, test = {}, None
    for line in log.splitlines():
        match = re.match(r"(\w+) \(([\w.]+)\)", line)
        if match and (" ... " in line or line.endswith(")")):
            test = match[2] if match[2].endswith("." + match[1]) else f"{match[2]}.{match[1]}"
        match = re.search(
            r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b", line
        )
        if match and test:
            found[test] = match[1]
            test = None
    return found


def outputs(folder):
    """A file for each test, NAME.out: its output, and its status in the last line. They are
    compared byte for byte."""

    def read(tree, log):
        found = {}
        top = os.path.join(tree, folder)
        for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
            if name.endswith(".out"):
                data = open(os.path.join(top, name), "rb").read()
                status = data.rstrip().rsplit(b"\n", 1)[-1].decode(errors="replace")
                found[
                    name[:-4]
                ] = f"{status}, {len(data)} bytes, {hashlib.sha256(data).hexdigest()[:12]}"
        return found

    return read


def dejagnu(*tools):
    """TOOL/testsuite/TOOL.sum of DejaGnu. What a failed test adds to its name follows a comma."""
    expression = re.compile(
        r"^(PASS|FAIL|XPASS|XFAIL|KPASS|KFAIL|UNTESTED|UNRESOLVED|UNSUPPORTED|ERROR): ([^,\n]*)",
        re.M,
    )

    def read(tree, log):
        found = {}
        for tool in tools:
            path = os.path.join(tree, tool, "testsuite", f"{tool}.sum")
            text = open(path, errors="replace").read() if os.path.exists(path) else ""
            again = collections.Counter()
            for result, test in expression.findall(text):
                again[test] += 1
                found[f"{tool} {test}" + (f" ({again[test]})" if again[test] > 1 else "")] = result
        return found

    return read


def all_of(*readers):
    """What several readers find."""

    def read(tree, log):
        found = {}
        for reader in readers:
            found.update(reader(tree, log))
        return found

    return read
