# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl metrics` on a node of a cluster. What is started here is ended by the process that started
it."""

import atexit, http.client, json, os, signal, socket
from commands import EHCTL
from wait import WAIT


class Metrics:
    """Of node i, as this user; listens when this returns. `said` is what it printed."""

    def __init__(self, c, i, uid=0, listen="127.0.0.1:0"):
        self.c, self.i = c, i
        become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        # LeakSanitizer traces its own process, which is one of the things that this one gives up
        env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        self.process = c.popen(
            i, [*become, EHCTL, "metrics", "--json", "--listen", listen], env=env, stderr=None
        )
        atexit.register(self.kill)
        text = ""
        while "}" not in text:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"ehctl metrics ended: {text}")
            text += line
        self.said = json.loads(text)
        self.address, port = self.said["listen"].rsplit(":", 1)
        self.port = int(port)
        self.key = (self.said["page"] or "#").split("#")[1]

    def connect(self, at=None, port=None):
        """From this node, or another."""
        with self.c.net.enter(self.i if at is None else at):
            return socket.create_connection((self.address, port or self.port), timeout=WAIT)

    def get(self, path, method="GET", body=None, at=None, port=None, **headers):
        """Status, headers and text; the connection is closed."""
        h = http.client.HTTPConnection(self.address, port or self.port, timeout=WAIT)
        h.sock = self.connect(at, port)
        h.request(
            method,
            path,
            body=body,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        r = h.getresponse()
        text = r.read().decode()
        h.close()
        return r.status, r.headers, text

    def end(self):
        """Its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
