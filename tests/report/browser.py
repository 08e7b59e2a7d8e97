"""A browser for tests: chromedriver's WebDriver protocol over the standard library's HTTP client."""
import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time


def available():
    return bool(shutil.which("chromedriver")) and bool(shutil.which("chromium"))


class Browser:
    def __init__(self, dark=False):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.profile = tempfile.mkdtemp(prefix="plimsoll-browser-")
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--log-level=OFF"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=dict(os.environ, HOME=self.profile, LC_ALL="C.UTF-8"))
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", f"--user-data-dir={self.profile}/data"]
        options = {"args": arguments, "binary": shutil.which("chromium"), "perfLoggingPrefs": {"enableNetwork": True}}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}}
        for attempt in range(100):
            try:
                answer = self.call("POST", "/session", wanted)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("chromedriver does not answer")
        self.session = "/session/" + answer["sessionId"]
        self.emulate(dark)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(value["error"] + ": " + value["message"].split("\n")[0])
        return value

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def emulate(self, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, path, fragment=""):
        self.call("POST", self.session + "/url", {"url": "about:blank"})
        self.call("POST", self.session + "/url", {"url": "file://" + os.path.abspath(path) + fragment})
        self.wait("document.documentElement.dataset.ready === 'true'")

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def value(self, expression):
        return self.run("return " + expression)

    def wait(self, expression, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.value(expression):
                return
            time.sleep(0.05)
        raise AssertionError("never true: " + expression)

    def point(self, selector, x, y):
        """Page coordinates of a place in an element, given as shares of its size."""
        return self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                        "return [b.left + b.width * arguments[1], b.top + b.height * arguments[2]].map(Math.round)", selector, x, y)

    def see(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)

    def mouse(self, *actions):
        self.call("POST", self.session + "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}]})

    def hover(self, selector, x=0.5, y=0.5):
        self.see(selector)
        px, py = self.point(selector, x, y)
        self.mouse({"type": "pointerMove", "x": px - 3, "y": py}, {"type": "pointerMove", "x": px, "y": py})
        self.frame()

    def click(self, selector, x=0.5, y=0.5):
        self.hover(selector, x, y)
        self.mouse({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        self.frame()

    def drag(self, selector, x0, x1, y=0.5):
        self.see(selector)
        (ax, ay), (bx, by) = self.point(selector, x0, y), self.point(selector, x1, y)
        self.mouse({"type": "pointerMove", "x": ax, "y": ay}, {"type": "pointerDown", "button": 0}, {"type": "pointerMove", "x": (ax + bx) // 2, "y": by, "duration": 50},
                   {"type": "pointerMove", "x": bx, "y": by, "duration": 50}, {"type": "pointerUp", "button": 0})
        self.frame()

    def wheel(self, selector, x, delta):
        self.see(selector)
        px, py = self.point(selector, x, 0.5)
        self.call("POST", self.session + "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [{"type": "scroll", "x": px, "y": py, "deltaX": 0, "deltaY": delta}]}]})
        self.frame()

    def keys(self, *keys):
        actions = [a for k in keys for a in ({"type": "keyDown", "value": k}, {"type": "keyUp", "value": k})]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.frame()

    def frame(self):
        """Until what was scheduled is drawn and the link is written."""
        self.call("POST", self.session + "/execute/async", {"script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 160)))", "args": []})

    def screenshot(self, path):
        data = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def log(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    def requests(self):
        """Addresses that pages asked for since the last call."""
        found = []
        for entry in self.log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def close(self):
        try:
            self.call("DELETE", self.session)
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
