"""Ways to look at the app: calls in this process, and a real browser, Debian's Chromium through Selenium."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from unveil.app.application import application
from unveil.app.guard import Guard, Key, Site
from unveil.app.server import Listening, bound_socket
from unveil.app.state import Desk
from unveil.run import active_run

__all__ = [
    "SITE",
    "TOKEN",
    "Browser",
    "chromium",
    "click",
    "coloured",
    "crashing",
    "driver_there",
    "enter",
    "find",
    "follow",
    "press",
    "served",
    "slow_steps",
    "text",
    "until",
    "violations",
]

TOKEN = "t" * 43
SITE = Site(8123)
"""Where an app is that is called in this process."""
_DRIVER = "/usr/bin/chromedriver"


class Browser:
    """Speaks to a guarded application in this process, and keeps its cookies."""

    def __init__(self, app: Any, address: str = "http://127.0.0.1:8123") -> None:
        self.app, self.address, self.cookies = app, address, httpx.Cookies()

    def request(self, method: str, path: str, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=self.address, cookies=self.cookies) as client:
                answer = await client.request(method, path, headers=headers, **options)
                self.cookies = client.cookies
                return answer

        return asyncio.run(call())

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, data: dict[str, str] | None = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", path, headers={"origin": self.address, **named}, data=data or {})


def driver_there() -> bool:
    return Path(_DRIVER).is_file() and shutil.which("chromium") is not None


@contextmanager
def served(desk: Desk) -> Iterator[str]:
    """Serve a desk in this process, and give the address of the app."""
    with bound_socket(Listening()) as bound:
        site = Site(bound.getsockname()[1])
        app = Guard(application(desk), site, Key(TOKEN))
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield site.address
        finally:
            server.should_exit = True
            thread.join(10)
            desk.jobs.stop()


@contextmanager
def chromium(*, script: bool = True, downloads: Path | None = None) -> Iterator[Any]:
    """Give a browser without a window; what it downloads goes into a folder, if there is one."""
    os.environ["SE_OFFLINE"] = "true"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    settings: dict[str, Any] = {} if script else {"profile.managed_default_content_settings.javascript": 2}
    if downloads is not None:
        settings["download.default_directory"] = str(downloads)
    options.add_experimental_option("prefs", settings)
    driver = webdriver.Chrome(options=options, service=Service(_DRIVER))
    try:
        driver.set_window_size(1280, 900)
        driver.set_script_timeout(240)
        yield driver
    finally:
        driver.quit()


def until(true: Callable[[], Any], seconds: float = 90.0) -> Any:
    """Wait until something is true, and return it; what goes wrong meanwhile, as with an element that was replaced, is tried again."""
    end = time.monotonic() + seconds
    while True:
        try:
            found = true()
        except Exception:
            if time.monotonic() > end:
                raise
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("it did not become true in time")
        time.sleep(0.05)


def find(browser: Any, css: str) -> Any:
    """Return the first element that fits, once there is one."""
    return until(lambda: browser.find_element("css selector", css))


def text(browser: Any, css: str = "main") -> str:
    """Return the text of an element, on one line; it may be replaced meanwhile."""
    return " ".join(until(lambda: [browser.find_element("css selector", css).text])[0].split())


def enter(browser: Any, address: str) -> None:
    """Come in with the token."""
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: "token" not in browser.current_url)


_STILL = "return document.readyState === 'complete' && document.getElementById('main')?.getAttribute('aria-busy') !== 'true'"


def click(browser: Any, css: str) -> None:
    """Click as a hand does, once the element is there and nothing is about to be exchanged."""

    def clicked() -> bool:
        if not browser.execute_script(_STILL):
            return False
        element = browser.find_element("css selector", css)
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        return True

    until(clicked)


def follow(browser: Any, css: str) -> None:
    """Click on what leads to another page, and wait until that has taken the place of this one."""
    browser.execute_script("window.left = true")
    click(browser, css)
    until(lambda: not browser.execute_script("return window.left"))


def press(browser: Any, css: str, key: str = "\ue007") -> None:
    """Press a key on an element: Enter, unless another is named."""
    until(lambda: [browser.find_element("css selector", css).send_keys(key)])


def slow_steps(seconds: float) -> int:
    """Work for some time as a job that hears that it is to stop."""
    for _ in active_run().each("steps", range(round(seconds * 10))):
        time.sleep(0.1)
    return 1


def crashing() -> None:
    """End without a word, as a process does that the system takes down."""
    os._exit(9)


def violations(browser: Any, *rules: str) -> list[tuple[str, str, list[str]]]:
    """Return what axe finds against WCAG 2.2 AA on the page that a browser shows: the rule, its help and where.

    Rules may be named: then only those are looked at.
    """
    from importlib.resources import files

    if not browser.execute_script("return Boolean(window.axe)"):
        browser.execute_script(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": tags}
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']}).then(found => done(found.violations));",
        only,
    )
    return [(one["id"], one["help"], [node["html"][:160] for node in one["nodes"]]) for one in found]


def coloured(browser: Any, scheme: str) -> None:
    """Let pages be light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
