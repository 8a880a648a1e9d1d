"""Searches and mechanisms take the key, the sensitive attributes, models and needs of a study or project that they do not name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError
from unveil.models import KAnonymity

KEY, MODELS = ["age", "sex", "race"], [KAnonymity(5)]
NEED = unveil.Need("pay", "income-per-year", ["education"])
KEPT: dict[str, Any] = {"keep_order": True, "seed": 1}
STEPS: dict[str, Any] = {"chains": False, "candidates": [unveil.Step("rank_swap", ["age"])], "seed": 1}

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "anonymize": (unveil.anonymize, {"attributes": KEY, "models": MODELS, **KEPT}),
    "mondrian": (unveil.mondrian, {"attributes": KEY, "models": MODELS, **KEPT}),
    "recode_locally": (unveil.recode_locally, {"attributes": KEY, "models": MODELS, **KEPT}),
    "generalize_subtrees": (unveil.generalize_subtrees, {"attributes": KEY, "models": MODELS, **KEPT}),
    "suppress_locally": (unveil.suppress_locally, {"attributes": KEY, **KEPT}),
    "anonymize_front": (
        unveil.anonymize_front, {"attributes": KEY, "needs": NEED, "sensitive": "occupation", "models": MODELS, **KEPT},
    ),
    "compose": (unveil.compose, {"key": KEY, "needs": NEED, "sensitive": "occupation", **STEPS}),
    "approximate_rate": (unveil.approximate_rate, {"key": KEY, "sensitive": "occupation", "max_distinct": 10**6}),
    "anatomize": (mechanisms.anatomize, {"key": KEY, "sensitive": "occupation", **KEPT}),
    "massc": (mechanisms.massc, {"key": KEY, "risk": 0.05, **KEPT}),
}  # fmt: skip
"""The calls, with what they are told where no study or project says it."""
PLANNED = ("attributes", "key", "models", "needs", "sensitive")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    unveil.datasets.adult().head(2_000).write_csv(folder / "people.csv")
    roles = [f'{name}.role = "key"' for name in KEY] + ['occupation.role = "sensitive"']
    need = ["[needs.pay]", 'target = "income-per-year"', 'given = ["education"]']
    text = ["[data]", 'path = "people.csv"', "[attributes]", *roles, "[models]", "k = 5", *need]
    (folder / "unveil.toml").write_text("\n".join(text), encoding="utf-8")
    return folder / "unveil.toml"


@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_named_is_as_the_study_or_project_says(name: str, project: Path) -> None:
    call, options = CALLS[name]
    planned = {name: one for name, one in options.items() if name not in PLANNED}
    named = shown(call(unveil.Study.of(project), **options))
    assert shown(call(unveil.Study.of(project), **planned)) == named
    assert shown(call(str(project), **planned)) == named


def shown(answer: Any) -> Any:
    """Return what an answer says, without how long it took."""
    said = answer.to_dict()
    said.pop("seconds", None)
    data = answer.data.rows() if isinstance(answer, unveil.Release) else None
    return str(answer), said.get("settings"), data


@pytest.mark.parametrize("name", CALLS)
def test_data_that_says_nothing_is_refused_without_a_key(name: str) -> None:
    call, options = CALLS[name]
    planned = {name: one for name, one in options.items() if name not in ("attributes", "key")}
    with pytest.raises(ArgumentError, match=r"no (key )?attribute is named"):
        call("adult", **planned)


@pytest.mark.parametrize("name", ["anonymize_front", "compose", "anatomize"])
def test_data_that_says_nothing_is_refused_without_a_sensitive_attribute(name: str) -> None:
    call, options = CALLS[name]
    planned = {argument: one for argument, one in options.items() if argument != "sensitive"}
    with pytest.raises(ArgumentError, match="no sensitive attribute is named; use `sensitive`"):
        call("adult", **planned)


def test_anatomy_does_not_choose_among_sensitive_attributes() -> None:
    several = unveil.Study("adult", key=KEY, sensitive=["occupation", "workclass"])
    with pytest.raises(ArgumentError, match="several sensitive attributes"):
        mechanisms.anatomize(several)


def test_what_is_named_goes_before_what_the_project_says(project: Path) -> None:
    release = unveil.anonymize(unveil.Study.of(project), "education", [KAnonymity(50)])
    assert release.settings["models"] == ["k_anonymity >= 50"]
    assert release.settings["key"] == ["education"]
