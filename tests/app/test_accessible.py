"""Every screen, light and dark, wide and narrow: nothing that axe finds against WCAG 2.2 AA, and nothing that runs out of the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import TOKEN, chromium, coloured, driver_there, enter, find, served, violations
from desks import finish, opened
from staff import staff
from unveil.app.screens import SCREENS
from unveil.app.state import Desk

pytestmark = [
    pytest.mark.skipif(not driver_there() and not os.environ.get("CI"), reason="needs chromium and chromium-driver"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

ROLES = {
    "identifier": ("Employee_Name", "EmpID", "DOB", "Household"),
    "key": ("Age", "Sex", "State", "Department"),
    "sensitive": ("Salary", "Termination"),
    "keep": ("Race", "Absences"),
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """Give a browser in which somebody has gone the whole way, so that every screen has something to show."""
    folder: Path = tmp_path_factory.mktemp("app")
    staff().write_csv(folder / "staff.csv")
    desk, clicks = opened(folder, str(folder / "staff.csv"))
    desk.change_attributes({name: {"role": role} for role, names in ROLES.items() for name in names}, "roles")
    finish(
        desk,
        clicks,
        by=["State", "Department"],
        question="SELECT COUNT(*), AVG(Salary) FROM data GROUP BY State",
        target="Termination",
        ways=["mondrian", "suppress"],
    )
    assert [screen.name for screen in SCREENS if screen.missing(desk)] == []
    with served(desk) as address, chromium() as browser:
        enter(browser, address)
        yield browser, address


def sized(browser: Any, width: int, scheme: str) -> None:
    coloured(browser, scheme)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


PAGES = [
    *(screen.name for screen in SCREENS),
    "meaning?column=c3&rule=intervals",
    "exposure?asked=1&c=c3&c=c5&example=1",
    "protect?explore=1&level-c3=1",
    "nowhere",
]


@pytest.mark.parametrize("page", PAGES)
def test_no_screen_keeps_anybody_out(shown: tuple[Any, str], page: str) -> None:
    """The page itself is the same in dark and on a small screen: there only what depends on colours and sizes is looked at."""
    browser, address = shown
    sized(browser, 1280, "light")
    browser.get(f"{address}/{page}")
    assert browser.current_url == f"{address}/{page}"
    find(browser, "h1")
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert violations(browser) == []
    assert beyond(browser) <= 0
    sized(browser, 390, "dark")
    assert violations(browser, "color-contrast", "target-size", "scrollable-region-focusable") == []
    assert beyond(browser) <= 0


def beyond(browser: Any) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_the_first_page_keeps_nobody_out(tmp_path: Path, shown: tuple[Any, str]) -> None:
    browser, _ = shown
    with served(Desk(tmp_path, private=tmp_path)) as address:
        browser.get(f"{address}/?token={TOKEN}")
        find(browser, "form[data-drop]")
        assert violations(browser) == []
