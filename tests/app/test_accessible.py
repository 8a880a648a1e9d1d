"""Every screen, light and dark, wide and narrow: nothing that axe finds against WCAG 2.2 AA, and nothing that runs out of the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import TOKEN, chromium, coloured, driver_there, served, until, violations
from unveil.app.look import looking
from unveil.app.screens import SCREENS
from unveil.app.state import Desk

pytestmark = [
    pytest.mark.skipif(not driver_there() and not os.environ.get("CI"), reason="needs chromium and chromium-driver"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """Give a browser in which the app has Adult open, with some roles."""
    folder: Path = tmp_path_factory.mktemp("app")
    desk = Desk(folder, private=folder)
    desk.open("adult")
    keys = ("age", "workclass", "education", "race", "sex")
    desk.change_attributes({**{name: {"role": "key"} for name in keys}, "occupation": {"role": "sensitive"}}, "roles")
    with served(desk) as address, chromium() as browser:
        browser.get(f"{address}/?token={TOKEN}")
        until(lambda: not looking(desk).running, 60)
        yield browser, address


PAGES = [*(screen.name for screen in SCREENS), "exposure?asked=1&c=c0&c=c9&example=1", "open?in=&masked=1", "nowhere"]


@pytest.mark.parametrize("page", PAGES)
def test_no_screen_keeps_anybody_out(shown: tuple[Any, str], page: str) -> None:
    browser, address = shown
    for scheme, width in (("light", 1280), ("dark", 390)):
        coloured(browser, scheme)
        browser.set_window_size(width, 900)
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        )
        browser.get(f"{address}/{page}")
        until(lambda: browser.find_elements("css selector", "h1"))
        assert violations(browser) == [], (scheme, width)
        beyond = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, (scheme, width)


def test_the_first_page_keeps_nobody_out(tmp_path: Path, shown: tuple[Any, str]) -> None:
    browser, _ = shown
    with served(Desk(tmp_path, private=tmp_path)) as address:
        browser.get(f"{address}/?token={TOKEN}")
        until(lambda: browser.current_url.endswith("/open"))
        assert violations(browser) == []
