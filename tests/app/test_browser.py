"""The way through the screens in a real browser: clicks and keys, with and without a script, and what the browser asks for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browsing import chromium, click, driver_there, enter, find, press, served, slow_steps, text, until
from desks import settle
from unveil.app.state import Desk
from unveil.project import Project

pytestmark = [
    pytest.mark.skipif(not driver_there() and not os.environ.get("CI"), reason="needs chromium and chromium-driver"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

HOSTILE = (":x", "{{7*7}}", "<script>document.title='taken'</script>", "__proto__", "\" onload=\"document.title='taken'")
CELLS = ("<script>document.title='taken'</script>", "<img src=x onerror=\"document.title='taken'\">", "{{7*7}}", "__proto__")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    towns = ("Aix", "Brest", "Caen")
    first = ("Ann", "Bob", "Cid", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon")
    last = ("Abel", "Bloch", "Carr", "Dunn", "Ekman", "Fox", "Gray")
    names = [f"{first[row % 10]} {last[row % 7]}" for row in range(90)]
    secrets = ("flu", "?", "asthma")
    rows = [f"{name};p{row}@example.org;{20 + row % 40};{towns[row % 3]};{secrets[row % 3]}" for row, name in enumerate(names)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["name;email;age;town;diagnosis", *rows]) + "\n", encoding="cp1252")
    return path


def progress(browser: Any) -> int:
    """Return how far a job is that tells its steps, of a thousand."""
    return int(browser.find_element("css selector", ".job progress").get_attribute("value") or 0)


def requests_of(browser: Any) -> list[str]:
    """Return the addresses that the browser has asked for."""
    told = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [one["params"]["request"]["url"] for one in told if one["method"] == "Network.requestWillBeSent"]


def test_from_a_messy_file_to_what_it_gives_away(browser: Any, messy: Path) -> None:
    browser.get_log("performance")
    with served(Desk(messy.parent, private=messy.parent)) as address:
        enter(browser, address)
        assert browser.current_url == f"{address}/open"
        click(browser, "button[value='patients.csv']")
        until(lambda: "5 columns, 90 records" in text(browser))
        click(browser, "a[href='/open?masked=1']")
        until(lambda: "xxx xxxx" in text(browser, "#preview"))
        click(browser, ".onward a")
        until(lambda: len(browser.find_elements("css selector", "article.column")) == 5)
        until(lambda: "name, email" in text(browser, "#summary"))
        find(browser, ".step.locked")
        click(browser, "#summary form button")
        until(lambda: "5 of 5 decided" in text(browser, "#summary"))
        click(browser, "#card-c4 input[value='sensitive']")
        until(lambda: Project.read(messy.with_name("unveil.toml")).names("sensitive") == ("diagnosis",))
        until(lambda: browser.find_elements("css selector", "a.step[href='/exposure']"))
        click(browser, "#summary a.button")
        frame = pl.DataFrame({"age": [20 + row % 40 for row in range(90)], "town": [row % 3 for row in range(90)]})
        alone = int((frame.group_by("age", "town").len()["len"] == 1).sum())
        until(lambda: f"{alone} of 90 records are unique" in text(browser, ".headline"))
        click(browser, "input[name='c'][value='c2']")
        until(lambda: "None of 90 records is unique" in text(browser, ".headline"))
        until(lambda: "asked=1" in browser.current_url)
        browser.refresh()
        until(lambda: "None" in text(browser, ".headline"))
        browser.back()
        until(lambda: browser.current_url.startswith(f"{address}/columns"))
        asked = requests_of(browser)
        assert {url for url in asked if not url.startswith((address, "data:", "about:", "chrome"))} == set(), (
            "no third party is asked"
        )
        assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_keys_alone_are_enough(browser: Any, messy: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    desk = Desk(messy.parent)
    desk.open(str(messy))
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/columns")
        find(browser, "#card-c2")
        press(browser, "#card-c2 input[value='other']", Keys.ARROW_LEFT)
        until(lambda: desk.project.attributes.get("age") is not None)
        assert desk.project.attributes["age"].role == "keep"
        until(lambda: browser.execute_script("return document.body.dataset.version") == str(desk.version))
        until(lambda: browser.switch_to.active_element.get_attribute("value") == "keep")  # what was exchanged keeps the focus
        until(lambda: [browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)])
        until(lambda: desk.project.attributes["age"].role == "weight")


def test_nothing_in_the_data_runs(browser: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {name: [CELLS[(row + at) % 4] if row % 2 else f"v{row % 5}" for row in range(40)] for at, name in enumerate(HOSTILE)}
    )
    frame.write_csv(tmp_path / "people.csv")
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "people.csv"))
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/columns")
        until(lambda: len(browser.find_elements("css selector", "article.column")) == 5)
        click(browser, "#summary form button")
        until(lambda: "5 of 5 decided" in text(browser, "#summary"))
        for path in ("/open", "/columns", "/exposure", "/exposure?asked=1&c=c0&c=c1&c=c2&about=c3&example=1"):
            browser.get(address + path)
            assert find(browser, "h1")
            assert "taken" not in browser.title
            assert browser.execute_script("return Object.keys({}.__proto__).length") == 0
        until(lambda: "&lt;script&gt;" in browser.page_source)
        click(browser, "input[name='c'][value='c1']")
        until(lambda: "c=c1" not in browser.current_url)
        assert "taken" not in browser.title


def test_a_job_tells_its_steps_is_cancelled_and_done_again(browser: Any, messy: Path) -> None:
    desk = Desk(messy.parent)
    desk.open(str(messy))
    desk.memory["overview"] = desk.jobs.start("overview", "Looking at the columns", slow_steps, 60.0)
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/columns")
        done, button = until(lambda: progress(browser)), find(browser, ".job button")
        until(lambda: progress(browser) > done)
        assert button.is_displayed(), "the button stays in its place from step to step, so that no press is lost"
        find(browser, ".step.locked")  # nobody goes on before the names are looked for
        click(browser, ".job button")
        until(lambda: "stopped; nothing was changed" in text(browser, ".job"))
        assert desk.jobs.running == []
        click(browser, "form[action='/columns/look'] button")
        until(lambda: len(browser.find_elements("css selector", "article.column")) == 5)


DRAG = """
const [value, place] = arguments, held = new DataTransfer();
const chip = [...document.querySelectorAll("#new .chip")].find(one => one.textContent === value);
const bin = document.querySelectorAll("#new .bin")[place];
const tell = (on, kind) => on.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: held}));
tell(chip, "dragstart"); tell(bin, "dragover"); tell(bin, "drop"); tell(chip, "dragend");
"""


def test_values_are_grouped_by_dragging_or_by_arrows(browser: Any, messy: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    desk = Desk(messy.parent)
    desk.open(str(messy))
    settle(desk)
    desk.change_attributes({"name": {"role": "identifier"}, "email": {"role": "identifier"}, "town": {"role": "key"}}, "roles")
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/meaning?column={desk.code('town')}")
        until(lambda: len(browser.find_elements("css selector", "#new .chip")) == 3)
        browser.execute_script(DRAG, "Caen", 0)
        until(lambda: text(browser, "#new .bin:first-child") == "Aix Caen")
        press(browser, "#new .bin:nth-child(2) .chip", Keys.ARROW_RIGHT)  # to a group of its own
        until(lambda: browser.switch_to.active_element.text == "Brest")
        until(lambda: [browser.find_element("css selector", "#new input[name=name]").send_keys("coast")])
        click(browser, "#new button:not([type=button])")
        until(lambda: desk.project.attributes["town"].partitions)
    kept = Project.read(desk.project.path).attributes["town"].partitions["coast"]
    assert sorted(map(sorted, kept.to_dict()["blocks"])) == [["Aix", "Caen"], ["Brest"]]


def test_two_tabs_know_of_each_other(browser: Any, messy: Path) -> None:
    desk = Desk(messy.parent)
    desk.open(str(messy))
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/columns")
        find(browser, "#card-c2")
        assert not browser.execute_script("return document.getElementById('stale').checkVisibility()")
        desk.change_attributes({"age": {"role": "key"}}, "in another tab")
        browser.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: find(browser, "#stale").is_displayed())


def test_it_works_without_a_script(messy: Path) -> None:
    with served(Desk(messy.parent)) as address, chromium(script=False) as browser:
        enter(browser, address)
        press(browser, "button[value='patients.csv']")
        until(lambda: "5 columns, 90 records" in text(browser))
        browser.get(f"{address}/columns")
        until(lambda: len(browser.find_elements("css selector", "article.column")) == 5)
        press(browser, "#summary form button")
        until(lambda: "5 of 5 decided" in text(browser, "#summary"))
        browser.get(f"{address}/exposure")
        press(browser, "input[name='c'][value='c2']", " ")
        press(browser, "button[data-send]")
        until(lambda: "None" in text(browser, ".headline"))


def test_a_browser_without_the_token_sees_nothing(browser: Any, messy: Path) -> None:
    desk = Desk(messy.parent)
    desk.open(str(messy))
    with served(desk) as address:
        browser.get(f"{address}/columns")
        until(lambda: "token" in browser.page_source)
        assert "diagnosis" not in browser.page_source
