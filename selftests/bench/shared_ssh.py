# SPDX-License-Identifier: GPL-2.0-or-later
"""ssh over a shared connection between two network namespaces, to compare with. Its server sees an
/etc/passwd of its own, and needs a /run that is not the machine's (netns.own_run)."""
import os, subprocess, tempfile

from wait import WAIT, until

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class SharedSsh:
    """`unpacked` is what ./sshd prints; `here` and `there` are the words that start a program in
    the two namespaces."""

    def __init__(self, unpacked, here, there, address):
        self.dir = tempfile.TemporaryDirectory(prefix="ehs-ssh-")
        self.here, of = here, self.dir.name
        for key in "host", "user":
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{of}/{key}"], check=True
            )
        with open(f"{of}/sshd_config", "w") as f:
            f.write(
                f"HostKey {of}/host\nAuthorizedKeysFile {of}/user.pub\nStrictModes no\nUsePAM"
                " no\nPermitRootLogin yes\nPidFile none\n"
            )
        # a plain shell, and no start files of this machine's root: they would be timed, too
        users = [line for line in open("/etc/passwd") if line.split(":")[0] not in ("root", "sshd")]
        with open(f"{of}/passwd", "w") as f:
            f.writelines(
                [
                    f"root:x:0:0:root:{of}:/bin/sh\n",
                    "sshd:x:2010:65534::/run/sshd:/usr/sbin/nologin\n",
                    *users,
                ]
            )
        os.makedirs("/run/sshd", exist_ok=True)
        libraries = ":".join(f"{unpacked}/{lib}/x86_64-linux-gnu" for lib in ("usr/lib", "lib"))
        self.server = subprocess.Popen(
            [
                *there,
                "unshare",
                "-m",
                "sh",
                "-ec",
                'mount --bind "$0" /etc/passwd; exec "$@"',
                f"{of}/passwd",
                f"{unpacked}/usr/sbin/sshd",
                "-D",
                "-e",
                "-f",
                f"{of}/sshd_config",
            ],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            **QUIET,
        )
        self.words = [
            "ssh",
            "-n",
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            "-i",
            f"{of}/user",
            "-o",
            f"ControlPath={of}/control",
            f"root@{address}",
        ]
        # the master that stays behind would hold pipes open
        begin = [
            *here,
            *self.words[:-1],
            "-o",
            "ControlMaster=yes",
            "-o",
            "ControlPersist=yes",
            self.words[-1],
            "true",
        ]
        if not until(lambda: subprocess.run(begin, timeout=WAIT, **QUIET).returncode == 0):
            raise RuntimeError(f"no connection by ssh to {address}")

    def stop(self):
        subprocess.run(
            [*self.here, *self.words[:-1], "-O", "exit", self.words[-1]], timeout=WAIT, **QUIET
        )
        self.server.terminate()
        self.server.wait()
        self.dir.cleanup()
