"""The whole way in a real browser, by clicks and keys: from a messy file of names to a verdict and to files that are handed over.

The server is the command itself, in a process of its own, so that it can be killed and started again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browsing import chromium, click, crashing, driver_there, enter, find, follow, press, served, text, until
from staff import staff
from unveil.app.state import Desk
from unveil.project import Project

pytestmark = [
    pytest.mark.skipif(not driver_there() and not os.environ.get("CI"), reason="needs chromium and chromium-driver"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COMMAND = [sys.executable, "-c", "from unveil.cli import main; main()", "app", "--no-browser"]
ENTER = "\ue007"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("downloads")
    with chromium(downloads=folder) as driver:
        driver.downloads = folder
        yield driver


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give a folder with a messy file: semicolons, an encoding of Windows, question marks for what is missing, names."""
    folder = tmp_path / "home"
    folder.mkdir()
    people = staff(311, repeated=20).drop("Household", "DOB").with_columns(pl.col("Termination").fill_null("?"))
    people = people.with_columns(pl.col("Employee_Name").str.replace("a", "å"))
    (folder / "staff.csv").write_bytes(people.write_csv(separator=";").encode("cp1252"))
    return folder


@contextmanager
def started(home: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command, and give its process and the address with the token."""
    environment = {**os.environ, "TMPDIR": str(home.parent)}
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True, cwd=home, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def type_in(browser: Any, css: str, words: str) -> None:
    """Write into a field, in the place of what stands there."""

    def written() -> bool:
        field = browser.find_element("css selector", css)
        field.clear()
        field.send_keys(words)
        return bool(field.get_attribute("value") == words)

    until(written)


def choose(browser: Any, css: str, value: str) -> None:
    """Choose an option of a list."""
    click(browser, f"{css} option[value='{value}']")


def downloaded(browser: Any, word: str, name: str) -> Any:
    """Click on a button of the last screen, and return the file that comes."""
    place = browser.downloads / name
    click(browser, f"form[action='/handover/{word}'] button")
    until(lambda: place.is_file() and place.stat().st_size)
    return place


def test_from_a_messy_file_of_names_to_what_is_handed_over(browser: Any, home: Path) -> None:
    with started(home) as (process, entrance):
        address = entrance.partition("/?")[0]
        browser.get(entrance)
        until(lambda: browser.current_url == f"{address}/open")
        opened_and_decided(browser)
        meanings_and_rules(browser)
        cancelled_then_protected(browser)
        process.send_signal(signal.SIGKILL)
        process.wait()
    project = Project.read(home / "unveil.toml")
    assert project.names("sensitive") == ("Salary",)
    assert [rule.name for rule in project.policy.in_force()] == ["k_anonymity"]
    with started(home, "staff.csv") as (_, entrance):
        address = entrance.partition("/?")[0]
        browser.get(entrance)
        until(lambda: "token" not in browser.current_url)
        find(browser, "article.column")  # the columns are looked at again before anything else
        follow(browser, "a.step[href='/rules']")
        until(lambda: "at least 5" in text(browser, "#in-force"))
        assert Project.read(home / "unveil.toml") == project
        protected_again(browser, address)
        handed_over(browser, address, home)


def opened_and_decided(browser: Any) -> None:
    click(browser, "button[value='staff.csv']")
    until(lambda: "10 columns, 331 records" in text(browser))
    assert "å" in text(browser, "#preview")
    type_in(browser, "input[name=missing]", "?")
    press(browser, "input[name=missing]", ENTER)
    until(lambda: "missing" in text(browser, "#preview"))
    follow(browser, ".onward a")
    until(lambda: len(browser.find_elements("css selector", "article.column")) == 10)
    until(lambda: "Employee_Name" in text(browser, "#summary"))  # a file of names is stopped here
    find(browser, ".step.locked")
    click(browser, "#summary form button")
    until(lambda: "10 of 10 decided" in text(browser, "#summary"))
    for code, role in {"c2": "key", "c3": "key", "c4": "key", "c5": "key", "c7": "sensitive", "c8": "keep", "c9": "keep"}.items():
        click(browser, f"#card-{code} input[value='{role}']")
        find(browser, f"#card-{code} input[value='{role}'][checked]")
    follow(browser, "#summary a.button")
    until(lambda: "unique" in text(browser, ".headline"))


def meanings_and_rules(browser: Any) -> None:
    follow(browser, "a.step[href='/meaning']")
    choose(browser, "select[name=column]", "c2")
    follow(browser, "form[action='/meaning'] button.quiet")
    choose(browser, "select[name=rule]", "intervals")
    follow(browser, "#preview form button")
    until(lambda: browser.find_elements("css selector", "#hierarchy table"))
    follow(browser, "a.step[href='/rules']")
    choose(browser, "select[name=rule]", "k_anonymity")
    type_in(browser, "input[name=threshold]", "5")
    press(browser, "input[name=threshold]", ENTER)
    until(lambda: "at least 5" in text(browser, "#in-force"))
    click(browser, "input[name=given][value=c2]")
    choose(browser, "select[name=target]", "c7")
    click(browser, "form[action='/rules/need'] button")
    until(lambda: "degree, in the unprotected data" in text(browser, "#needs"))


def cancelled_then_protected(browser: Any) -> None:
    """Try protections, and cancel in the middle: nothing is changed, and the page says so."""
    follow(browser, "a.step[href='/protect']")
    follow(browser, "form[action='/protect/try'] button.big")
    click(browser, ".job button")
    until(lambda: "stopped; nothing was changed" in text(browser, ".job"))
    assert not browser.find_elements("css selector", ".candidate")


def protected_again(browser: Any, address: str) -> None:
    browser.get(f"{address}/protect")
    for way in ("generalise", "local"):
        click(browser, f"input[name=way][value={way}]")
    follow(browser, "form[action='/protect/try'] button.big")
    find(browser, ".candidate")
    follow(browser, ".candidate form button")
    until(lambda: "What an intruder gains" in text(browser))


def handed_over(browser: Any, address: str, home: Path) -> None:
    """Tick the columns that nobody measured, and take what may leave."""
    until(lambda: "The release stays here." in text(browser))
    find(browser, ".step.locked")
    for at in range(len(browser.find_elements("css selector", "form[action='/verdict/tick'] input[type=checkbox]"))):
        click(browser, f"form[action='/verdict/tick'] input[value='{at}']")
    follow(browser, "form[action='/verdict/tick'] button")
    until(lambda: "The release may be published." in text(browser))
    follow(browser, "a.button.big")
    until(lambda: browser.current_url.startswith(f"{address}/handover"))
    release = pl.read_csv(downloaded(browser, "release", "staff-release.csv"))
    assert "Employee_Name" not in release.columns
    assert "EmpID" not in release.columns
    assert min(release.group_by("Age", "Sex", "State", "Department").len()["len"].to_list()) >= 5
    assert "å" not in downloaded(browser, "auditor", "auditor.html").read_text(encoding="utf-8")
    log = json.loads(downloaded(browser, "log", "decisions.json").read_text(encoding="utf-8"))
    assert any("chose a protection" in one["what"] for one in log["decisions"])
    click(browser, "form[action='/handover/save'] button")
    until((home / "staff-release.csv").is_file)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Open the file as it should be."""
    staff().drop("Household", "DOB").write_csv(tmp_path / "staff.csv")
    made = Desk(tmp_path)
    made.open(str(tmp_path / "staff.csv"))
    return made


def test_a_crash_of_a_job_is_one_line(browser: Any, desk: Desk) -> None:
    desk.memory["overview"] = desk.jobs.start("overview", "Looking at the columns", crashing)
    with served(desk) as address:
        enter(browser, address)
        browser.get(f"{address}/columns")
        until(lambda: "ended without an answer" in text(browser, ".job-line"))
        assert "Traceback" not in browser.page_source
        click(browser, "form[action='/columns/look'] button")
        until(lambda: len(browser.find_elements("css selector", "article.column")) == 10)


def test_two_people_at_once(browser: Any, desk: Desk) -> None:
    """Two browsers on one project: what the last one says holds, the other is told, and nothing is lost."""
    with served(desk) as address, chromium() as other:
        for one in (browser, other):
            enter(one, address)
            one.get(f"{address}/columns")
            find(one, "#card-c2")
        click(browser, "#card-c2 input[value='key']")
        until(lambda: "Age" in desk.project.names("key"))
        click(other, "#card-c3 input[value='sensitive']")
        until(lambda: "Sex" in desk.project.names("sensitive"))
        until(lambda: "added on top" in text(other, "#messages"))
        browser.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: find(browser, "#stale").is_displayed())
        assert Project.read(desk.project.path).names("key") == ("Age",)
        follow(browser, "#stale a")
        until(lambda: find(browser, "#card-c3 input[value='sensitive']").is_selected())
