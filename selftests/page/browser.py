# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a screen, driven over the pipe of its DevTools. What is started here is ended by
the process that started it."""

import atexit, base64, json, os, select, shutil, signal, subprocess, tempfile, time
from wait import WAIT, until

CHROMIUM = shutil.which("chromium-headless-shell")


class Browser:
    """One page. `words` makes the command that runs others where the page is (a network
    namespace)."""

    def __init__(self, words=lambda *w: list(w), width=1440, height=1000):
        self.dir = tempfile.mkdtemp(prefix="ehs-page-")
        ours, theirs = os.pipe(), os.pipe()  # commands, what it says
        for fd in ours[0], theirs[1]:
            os.set_inheritable(fd, True)
        # Root has no sandbox; the page is ours. Names are not looked up, nothing is fetched.
        self.process = subprocess.Popen(
            words(
                "bash",
                "-c",
                f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}',
                "sh",
                CHROMIUM,
                "--no-sandbox",
                "--remote-debugging-pipe",
                f"--user-data-dir={self.dir}",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                f"--window-size={width},{height}",
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(self.dir, "log"), "w"),
            pass_fds=[ours[0], theirs[1]],
            start_new_session=True,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.out, self.into = ours[1], theirs[0]
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        atexit.register(self.stop)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(f"{domain}.enable")
        self.size(width, height)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

        def emptied():  # its other processes write until they have ended, too
            shutil.rmtree(self.dir, ignore_errors=True)
            return not os.path.exists(self.dir)

        until(emptied)

    def log(self):
        return open(os.path.join(self.dir, "log")).read()

    def message(self, limit):
        """The next one, or None."""
        end = time.monotonic() + limit
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.into], [], [], left)[0]:
                return None
            more = os.read(self.into, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended: " + self.log())
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            got = self.message(WAIT)
            if got is None:
                raise RuntimeError(f"{method}: no answer: " + self.log())
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def size(self, width, height, dark=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def open(self, url):
        self.call("Page.navigate", url="about:blank")  # else another fragment is no other page
        self.call("Page.navigate", url=url)

    def js(self, expression):
        """Its value in the page; waits for promises."""
        r = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in r:
            raise RuntimeError(f"{expression}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def see(self, expression):
        """Waits until it is true in the page; returns its value."""
        end = time.monotonic() + WAIT
        while True:
            try:
                value = self.js(expression)
            except RuntimeError:  # while another document is loaded
                value = None
            if value or time.monotonic() > end:
                return value
            time.sleep(0.05)

    def errors(self):
        """What the page's console has of errors and refused things."""
        return [
            json.dumps(e["params"])
            for e in self.events
            if e.get("method") == "Runtime.exceptionThrown"
            or (e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error")
            or (
                e.get("method") == "Runtime.consoleAPICalled"
                and e["params"]["type"] in ("error", "assert")
            )
        ]

    def faint(self):
        """Texts that are seen and have a contrast of less than 4.5 to what is behind them (WCAG 2,
        level AA)."""
        return self.js(
            """(() => {
            const canvas = new OffscreenCanvas(1, 1);
            const context = canvas.getContext("2d", { willReadFrequently: true });
            const over = (colour, below) => {       // any colour of CSS, over an opaque one
                context.fillStyle = `rgb(${below})`;
                context.fillRect(0, 0, 1, 1);
                context.fillStyle = colour;
                context.fillRect(0, 0, 1, 1);
                return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
            };
            const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
            const light = x => x.map(v => linear(v / 255))
                .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
            const found = [];
            for (const e of document.querySelectorAll("body *")) {
                const nodes = [...e.childNodes].filter(x => x.nodeType === 3);
                const text = nodes.map(x => x.data).join("").trim() || e.placeholder;
                if (!text || !e.checkVisibility()
                    || ["TITLE", "title", "OPTION"].includes(e.tagName))
                    continue;
                const above = [];
                for (let x = e; x; x = x.parentElement)
                    above.unshift(x);
                let behind = [255, 255, 255], opacity = 1;
                for (const x of above) {
                    const style = getComputedStyle(x);
                    behind = over(style.backgroundColor, behind);
                    opacity *= style.opacity;
                }
                if (e.matches("g.bar text")) {
                    const bar = getComputedStyle(e.parentElement.querySelector("rect"));
                    behind = over(bar.fill.replace(/url.*/, "transparent"), behind);
                }
                const part = e.placeholder && !e.value ? "::placeholder" : null;
                const style = getComputedStyle(e, part);
                const colour = over(e.ownerSVGElement ? style.fill : style.color, behind);
                const seen = colour.map((v, i) => v * opacity + behind[i] * (1 - opacity));
                const [low, high] = [light(seen), light(behind)].sort((x, y) => x - y);
                const ratio = (high + .05) / (low + .05);
                if (ratio < 4.5)
                    found.push(`${ratio.toFixed(2)}: ${e.tagName} `
                        + `${e.className.baseVal ?? e.className}: ${text.slice(0, 40)}`);
            }
            return found;
        })()"""
        )

    def urls(self):
        """All that was asked for."""
        return set(self.asked())

    def asked(self):
        """The same, each time."""
        return [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
