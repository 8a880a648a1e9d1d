"""From rules to a release that leaves: what the screens do is what the verbs do, and nothing leaves that is not met."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import unveil
from browsing import Browser
from desks import Done, hostile, judged_here, opened, posted, protected
from unveil.app.screens import protect
from unveil.app.solution_space import solution_space
from unveil.app.state import Desk, reading
from unveil.releases.record import record_place

PEOPLE = 400


def people() -> pl.DataFrame:
    rows = range(PEOPLE)
    return pl.DataFrame(
        {
            "age": [20 + (7 * at) % 60 for at in rows],
            "sex": [("f", "m")[at % 2] for at in rows],
            "town": [("Ulm", "Bonn", "Kiel", "Jena")[(at // 3) % 4] for at in rows],
            "illness": [("flu", "gout", "none", "none")[(at // 5) % 4] for at in rows],
        }
    )


@pytest.fixture
def way(tmp_path: Path) -> tuple[Desk, Browser]:
    people().write_csv(tmp_path / "people.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "people.csv"))
    roles = {"age": "key", "sex": "key", "town": "key", "illness": "sensitive"}
    desk.change_attributes({name: {"role": role} for name, role in roles.items()}, "roles")
    return desk, browser


def test_presets_rules_and_needs_stand_in_the_project_file(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    page = posted(browser, "/rules/preset", preset="cell-size-5")
    assert "The preset cell-size-5 is now in force." in page
    posted(browser, "/rules/rule", rule="distinct_l_diversity", threshold="2", attribute=desk.code("illness"))
    page = posted(
        browser, "/rules/need", name="illness by age", target=desk.code("illness"), given=desk.code("age"), least="0.01"
    )
    project = unveil.Project.read(desk.project.path)
    assert [(rule.name, rule.threshold) for rule in project.policy.in_force()] == [
        ("k_anonymity", 5),
        ("distinct_l_diversity", 2),
    ]
    degree = unveil.utility(str(desk.opened.data), project.needs["illness by age"]).needs["illness by age"].degree
    assert f"{degree:.4f}"[:5] in page
    posted(browser, "/rules/preset", preset="cell-size-5")
    posted(browser, "/rules/leave", need="n0")
    project = unveil.Project.read(desk.project.path)
    assert not project.policy.presets
    assert not project.needs


@pytest.mark.parametrize(
    "form",
    [
        {"rule": "nothing", "threshold": "3"},
        {"rule": "k_anonymity", "threshold": "2.5"},
        {"rule": "sample_uniqueness", "threshold": "7"},
        {"rule": "k_anonymity", "threshold": "five"},
    ],
)
def test_a_rule_that_is_none_changes_nothing(way: tuple[Desk, Browser], form: dict[str, str]) -> None:
    desk, browser = way
    page = posted(browser, "/rules/rule", **form)
    assert 'class="message error"' in page
    assert not desk.project.policy


def test_candidates_are_the_releases_of_the_library(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    protected(desk, ["generalise", "mondrian", "suppress"])
    page = browser.get("/protect").text
    found = protect.tried(desk)
    assert found is not None
    assert found.comparison is not None
    assert all(not one.problem for one in found.candidates), found.candidates
    for one in found.candidates:
        assert one.title in page
        if one.way != "suppress":
            assert unveil.measure(one.file, ["age", "sex", "town"]).to_dict()["models"]["k_anonymity"]["value"] >= 5
    own = unveil.anonymize(desk.study, ["age", "sex", "town"], [unveil.models.KAnonymity(5)], suppression=0.1)
    sizes = [
        sorted(frame.group_by("age", "sex", "town").len()["len"].to_list())
        for frame in (own.data, pl.read_csv(found.candidates[0].file))
    ]
    assert sizes[0] == sizes[1]


def test_levels_are_explored_as_anonymize_measures_them(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    page = browser.get(f"/protect?explore=1&level-{desk.code('age')}=1&level-{desk.code('town')}=1").text
    lost = re.search(r"<dt>loss</dt><dd>([\d.]+)", page)
    assert lost is not None
    assert 0.0 < float(lost[1]) <= 1.0


def test_the_solution_space_is_that_of_anonymize(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    desk.memory["settings"] = {"k": 7}
    found = solution_space(desk.opened.data, reading(desk.project), desk.project, 7)
    assert found.all == math.prod(height + 1 for height in found.heights) >= len(found.nodes)
    assert len(solution_space(desk.opened.data, reading(desk.project), desk.project, 12).nodes) < found.all, "some leave nobody"
    desk.memory["solution space"] = Done(found)
    page = browser.get("/protect").text
    assert f"The best of {found.all} generalisations" in page
    best = found.best
    assert all(not (one.loss <= two.loss and one.suppressed <= two.suppressed) for one in best for two in best if one is not two)
    own = unveil.anonymize(desk.study, desk.study.key, [unveil.models.KAnonymity(7)], suppression=0.0)
    assert min(node.loss for node in found.nodes if not node.suppressed) == pytest.approx(own.score)
    asked = "&".join(f"level-{desk.code(name)}=0" for name in found.columns)
    page = browser.get(f"/protect?explore=1&{asked}").text
    finest = next(node for node in found.nodes if not any(node.levels))
    assert finest.suppressed
    assert "Who is suppressed" in page
    assert f"<dd>{finest.suppressed}</dd>" in page
    desk.change_attributes({"age": {"role": "keep"}}, "roles")
    assert "The best of" not in browser.get("/protect").text


def test_a_release_leaves_only_when_its_rules_are_met_or_answered_for(
    way: tuple[Desk, Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, browser = way
    posted(browser, "/rules/rule", rule="k_anonymity", threshold="50")
    protected(desk, ["mondrian"], k=5)
    browser.post("/protect/choose", {"way": "mondrian"})
    assert [step.mechanism for step in desk.project.protect.values()] == ["mondrian"]
    judged_here(desk)
    page = browser.get("/verdict").text
    assert "The release stays here." in page
    assert browser.get("/handover").status_code == 303
    assert browser.post("/handover/release").status_code == 303
    page = posted(
        browser,
        "/verdict/except",
        number="0",
        approver="the data protection officer",
        expires="2999-01-01",
        reason="under contract",
    )
    assert "under contract" in page
    assert "The release may be published." in page
    release = browser.post("/handover/release")
    assert release.status_code == 200
    assert release.content == Path(protect.chosen(desk).file).read_bytes()  # type: ignore[union-attr]
    record = json.loads(browser.post("/handover/record").content)
    assert record["repeatable"] is False
    assert "under contract" in browser.post("/handover/auditor").text
    log = json.loads(browser.post("/handover/log").content)
    assert log["exceptions"][0]["approver"] == "the data protection officer"
    assert any("chose a protection" in one["what"] for one in log["decisions"])
    python = re.findall(r'<pre tabindex="0"><code>(import unveil.*?)</code>', browser.get("/handover").text, flags=re.DOTALL)
    monkeypatch.chdir(desk.folder)
    exec(unescape(python[0]), {})  # noqa: S102 - the lines that the page offers to copy
    made = desk.folder / "people-release.csv"
    assert pl.read_csv(made).height == PEOPLE
    made.unlink()
    Path(record_place(made)).unlink(missing_ok=True)
    again = Desk(desk.folder)
    again.open(desk.opened.data)
    assert again.decisions == desk.decisions, "the log outlives the server"
    page = posted(browser, "/handover/save")
    assert "Written: people-release.csv" in page
    assert (desk.folder / "people-release.csv.unveil.json").is_file()
    assert "already exists" in posted(browser, "/handover/save")


def test_what_was_judged_before_a_change_lets_nothing_leave(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    posted(browser, "/rules/rule", rule="k_anonymity", threshold="3")
    protected(desk, ["mondrian", "suppress"], k=5)
    browser.post("/protect/choose", {"way": "mondrian"})
    judged_here(desk)
    assert browser.get("/handover").status_code == 200
    posted(browser, "/rules/rule", rule="k_anonymity", threshold="60")
    assert browser.get("/handover").status_code == 303
    assert browser.post("/handover/release").status_code == 303
    judged_here(desk)
    assert "The release stays here." in browser.get("/verdict").text
    signed = {"number": "0", "approver": "x", "expires": "2999-01-01", "reason": "y"}
    assert "The release may be published." in posted(browser, "/verdict/except", **signed)
    browser.post("/protect/choose", {"way": "suppress"})
    judged_here(desk)
    assert "The release stays here." in browser.get("/verdict").text, "an exception is of one release"
    desk.change_attributes({"age": {"role": "keep"}}, "roles")
    assert browser.get("/verdict").status_code == 303
    assert "Try them again." in browser.get("/protect").text


def test_an_exception_names_somebody_a_reason_and_a_day(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    posted(browser, "/rules/rule", rule="k_anonymity", threshold="50")
    protected(desk, ["mondrian"])
    browser.post("/protect/choose", {"way": "mondrian"})
    judged_here(desk)
    for form in ({"approver": ""}, {"reason": " "}, {"expires": "soon"}, {"expires": "1999-01-01"}, {"number": "7"}):
        whole = {"number": "0", "approver": "x", "expires": "2999-01-01", "reason": "y"} | form
        assert 'class="message error"' in posted(browser, "/verdict/except", **whole)
    assert not desk.memory.get("waivers")


def test_hostile_names_and_values_are_text_on_every_screen_of_the_way(tmp_path: Path) -> None:
    hostile(200).write_csv(tmp_path / "hostile.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "hostile.csv"))
    names = desk.opened.columns
    roles = dict.fromkeys(names, "keep") | dict.fromkeys(names[:2], "key") | {names[2]: "sensitive"}
    desk.change_attributes({name: {"role": role, "reason": "a test"} for name, role in roles.items()}, "roles")
    posted(browser, "/rules/rule", rule="k_anonymity", threshold="3")
    protected(desk, ["generalise"], k=3)
    browser.post("/protect/choose", {"way": "generalise"})
    judged_here(desk)
    for path in ("/rules", "/protect", "/verdict"):
        page = browser.get(path)
        assert page.status_code == 200, path
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert ">49<" not in page.text
        assert not re.search(r"<[^>]*\son\w+=", page.text)
