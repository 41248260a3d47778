# SPDX-License-Identifier: GPL-2.0-or-later
"""What a suite is; each file of suites/ has one, as SUITE."""

import glob, importlib.util, os

SUITES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = {
    "LC_ALL": "C",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "SHELL": "/bin/sh",
    "USER": "eht3",
    "LOGNAME": "eht3",
    "TZ": "UTC",
    "TERM": "dumb",
}


class Suite:
    """`package`: a source package of Debian 12 whose upstream version this was written for.
    `build`, `run`: scripts of sh, in the tree, as an ordinary user (`root`: as root). `programs`:
    those that are tested, as patterns of paths in the tree. Each exec of them is what is sent away.
    `results`: reads what the tests said; `default`: run by `make check-suites` without SUITES, too.
    `bound`: seconds for a run, here or away. `needs`: Debian packages for the build. `view`: whose
    files its tasks see. `git`, `commit`: where the source is, if it is not Debian's."""

    def __init__(
        self,
        package,
        version,
        build,
        programs,
        run,
        results,
        bound=900,
        default=False,
        root=False,
        needs=(),
        environment=None,
        view="shared",
        git=None,
        commit=None,
    ):
        self.package, self.version, self.build, self.programs, self.run = (
            package,
            version,
            build,
            programs,
            run,
        )
        self.results, self.bound, self.default, self.root, self.needs = (
            results,
            bound,
            default,
            root,
            tuple(needs),
        )
        self.view, self.git, self.commit = view, git, commit
        self.environment = {**ENVIRONMENT, **(environment or {})}

    def paths(self, tree):
        """The programs that there are: files that may be executed and are not scripts."""
        found = []
        for pattern in self.programs:
            for path in sorted(glob.glob(os.path.join(tree, pattern))):
                if os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.X_OK):
                    with open(path, "rb") as f:
                        if f.read(4) == b"\x7fELF":
                            found.append(path)
        return found


def load(path):
    """Not by its name, which may be that of a module of Python's."""
    spec = importlib.util.spec_from_file_location("suite_" + os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SUITE


def all_suites():
    """{name: Suite}"""
    return {
        os.path.basename(path)[:-3]: load(path)
        for path in sorted(glob.glob(os.path.join(SUITES, "*.py")))
    }
