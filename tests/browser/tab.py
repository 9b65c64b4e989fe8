"""One tab of Chromium: what it shows, what is typed and clicked in it, and what it complained about."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from browser.chromium import Chromium

PATIENCE = 15.0
"""Seconds in which a condition has to hold."""
KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "Backspace": (8, ""),
    " ": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "Home": (36, ""),
    "End": (35, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
}
WAITED = "(() => { try { const v = (EXPRESSION); return v instanceof Node ? true : v } catch { return null } })()"
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


class Tab:
    """A tab. `errors` are lines of the console and exceptions; `hosts` are all that were asked for something."""

    def __init__(self, chromium: Chromium, session: str, target: str, base: str) -> None:
        self.chromium = chromium
        self.session = session
        self.target = target
        self.base = base
        self.errors: list[str] = []
        self.reports: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.is_closed = False

    def begin(self) -> None:
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.chromium.call(method, params, self.session)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        """Keep what an event says. Called by the thread that listens."""
        match method:
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                entry = params["entry"]
                if not entry.get("url", "").endswith("/favicon.ico"):  # Chromium asks for it by itself
                    self.errors.append(f"{entry['text']} {entry.get('url', '')}".strip())
            case "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue":
                self.reports.append(json.dumps(params["issue"]["details"]))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])
            case _:
                pass

    @property
    def hosts(self) -> set[str]:
        return {urlsplit(url).netloc for url in self.requests if not url.startswith(("data:", "blob:", "about:"))}

    @property
    def path(self) -> str:
        """The address without scheme and host."""
        found: str = self.evaluate("location.pathname + location.search")
        return found

    def open(self, address: str) -> None:
        """Go to an address, and wait until its scripts have run."""
        said = self.call("Page.navigate", {"url": self.base + address if address.startswith("/") else address})
        assert not said.get("errorText"), said
        self.wait("document.readyState === 'complete'")

    def reload(self) -> None:
        self.evaluate("window.isOld = true")
        self.call("Page.reload")
        self.wait("!window.isOld && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        wanted = {"expression": expression, "returnByValue": True, "awaitPromise": True, "userGesture": True}
        said = self.call("Runtime.evaluate", wanted)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def wait(self, expression: str, seconds: float = PATIENCE) -> Any:
        """Wait until an expression is true, and return its value."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if found := self.evaluate(WAITED.replace("EXPRESSION", expression)):
                    return found
            except AssertionError as error:  # the page is being replaced by another one
                if "context" not in str(error).lower():
                    raise
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:.0f} s: {expression}\n{self.errors}\n{self.text}")
            time.sleep(0.05)

    def wait_text(self, text: str, seconds: float = PATIENCE) -> None:
        """Wait until the page shows this text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})", seconds)

    @property
    def text(self) -> str:
        """What the page shows, as text."""
        found: str = self.evaluate("document.body?.innerText ?? ''")
        return found

    @property
    def title(self) -> str:
        found: str = self.evaluate("document.title")
        return found

    @property
    def focus(self) -> str:
        """The focused element: its name, role and text, such as `button Send`."""
        found: str = self.evaluate(
            "(e => [e.tagName.toLowerCase(), e.id && '#' + e.id, e.name ?? '', e.getAttribute('aria-label') ?? "
            "e.innerText ?? ''].filter(Boolean).join(' ').slice(0, 200))(document.activeElement)"
        )
        return found

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that fits, as a mouse does. Waits until it is there."""
        self.wait(f"document.querySelector({json.dumps(selector)})")
        box = self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
            f"return [b.x + b.width / 2, b.y + b.height / 2] }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            at = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", {"type": kind, **at})

    def click_text(self, text: str, selector: str = "a, button, summary, [role=tab], [role=button]") -> None:
        """Click the first element of this kind with exactly this text."""
        has_text = f"e => e.innerText.trim() === {json.dumps(text)}"
        find = f"[...document.querySelectorAll({json.dumps(selector)})].find({has_text})"
        self.wait(find + " !== undefined")
        self.evaluate(find + ".setAttribute('data-test-click', '')")
        self.click("[data-test-click]")
        self.evaluate("document.querySelector('[data-test-click]')?.removeAttribute('data-test-click')")

    def press(self, *keys: str) -> None:
        """Press keys, such as `a`, `Enter`, `Shift+Tab`, `Control+s`."""
        for key in keys:
            *held, name = key.split("+") if len(key) > 1 else [key]
            modifiers = sum(MODIFIERS[one] for one in held)
            code, text = KEYS.get(name, (ord(name.upper()[0]), name))
            if modifiers & ~MODIFIERS["Shift"]:
                text = ""
            usual = {"key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers, "code": _code(name)}
            self.call("Input.dispatchKeyEvent", {"type": "keyDown" if text else "rawKeyDown", "text": text, **usual})
            self.call("Input.dispatchKeyEvent", {"type": "keyUp", **usual})

    def write(self, text: str) -> None:
        """Type text into the focused element."""
        self.call("Input.insertText", {"text": text})

    def size(self, width: int, height: int = 800, scale: float = 1) -> None:
        """The size of the viewport. A zoom of 200 % is half the size with `scale` 2."""
        wanted = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", wanted)

    def media(self, **features: str) -> None:
        """Media features, with `_` for `-`: `prefers_color_scheme="dark"`."""
        found = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", {"features": found})

    def screenshot(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.chromium.call("Target.closeTarget", {"targetId": self.target})
        self.is_closed = True


def _code(name: str) -> str:
    if len(name) == 1:
        return "Space" if name == " " else f"Digit{name}" if name.isdigit() else f"Key{name.upper()}"
    return name
