"""One check of seeds: every public call with a seed refuses one that is none, in one wording, and never as a verdict."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError

PEOPLE = pl.DataFrame({
    "age": [20, 25, 30, 35, 40, 45, 50, 55] * 3,
    "pay": [1.0, 2.5, 3.0, 4.5] * 6,
    "town": list("aabb") * 6,
    "sex": list("fm") * 12,
    "note": ["call 030 123456"] * 24,
    "job": list("xyzxyz") * 4,
})  # fmt: skip
NEED = unveil.Need("pay", target="sex", given="age")
ROOMS = ("", "attacks", "mechanisms", "queries", "stream", "tables")

Call = Callable[[Any], Any]
CALLS: dict[str, Call] = {
    "anonymize": lambda call: call(PEOPLE, ["age"], [unveil.models.KAnonymity(2)], seed=-1),
    "anonymize_front": lambda call: call(PEOPLE, ["age"], NEED, sensitive="job", seed=-1),
    "approximate_rate": lambda call: call(PEOPLE, "age", "job", max_distinct=5, seed=-1),
    "attack": lambda call: call(PEOPLE, PEOPLE, key="age", sensitive="job", seed=-1),
    "check": lambda call: call(PEOPLE, {"linkage": 0.5, "singling_out": 0.5}, key="age", original=PEOPLE, seed=-1),
    "compare": lambda call: call({"original": PEOPLE, "same": PEOPLE}, "age", "job", seed=-1),
    "compose": lambda call: call(PEOPLE, "age", NEED, sensitive="job", seed=-1),
    "direct_identifiers": lambda call: call(PEOPLE, seed=-1),
    "loss": lambda call: call(PEOPLE, PEOPLE, same_order=True, seed=-1),
    "pmse": lambda call: call(PEOPLE, PEOPLE, seed=-1),
    "protect": lambda call: call(PEOPLE, [unveil.Step("swap", ["age"], {"share": 0.5})], seed=-1),
    "tasks": lambda call: call(PEOPLE, PEOPLE, unveil.Task("sex", "sex", "age"), seed=-1),
    "trade_off": lambda call: call(PEOPLE, {"same": PEOPLE}, key="age", sensitive="job", needs=[NEED], seed=-1),
    "mondrian": lambda call: call(PEOPLE, ["age"], [unveil.models.KAnonymity(2)], seed=-1),
    "recode_locally": lambda call: call(PEOPLE, ["age"], [unveil.models.KAnonymity(2)], seed=-1),
    "generalize_subtrees": lambda call: call(PEOPLE, ["age"], [unveil.models.KAnonymity(2)], seed=-1),
    "suppress_locally": lambda call: call(PEOPLE, ["age"], k=2, seed=-1),
    "attacks.minimality": lambda call: call(PEOPLE, PEOPLE, key="age", sensitive="job", k=2, seed=-1),
    "attacks.structure_linkage": lambda call: call([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]], [0, 1, 2], seed=-1),
    "mechanisms.add_noise": lambda call: call(PEOPLE, "pay", seed=-1),
    "mechanisms.microaggregate": lambda call: call(PEOPLE, "pay", k=3, seed=-1),
    "mechanisms.rank_swap": lambda call: call(PEOPLE, "pay", seed=-1),
    "mechanisms.resample": lambda call: call(PEOPLE, "pay", seed=-1),
    "mechanisms.round_values": lambda call: call(PEOPLE, "pay", base=2, seed=-1),
    "mechanisms.sample": lambda call: call(PEOPLE, share=0.5, seed=-1),
    "mechanisms.shuffle": lambda call: call(PEOPLE, "pay", given="age", seed=-1),
    "mechanisms.swap": lambda call: call(PEOPLE, "pay", share=0.5, seed=-1),
    "mechanisms.swap_households": lambda call: call(PEOPLE, ["town"], risk="age", k=2, share=0.1, seed=-1),
    "mechanisms.top_bottom_code": lambda call: call(PEOPLE, "pay", top=2, seed=-1),
    "mechanisms.pram": lambda call: call(PEOPLE, "town", retention=0.5, seed=-1),
    "mechanisms.anatomize": lambda call: call(PEOPLE, ["age"], "job", l=2, seed=-1),
    "mechanisms.dp_synthesize": lambda call: call(
        PEOPLE, ["town", "sex"], epsilon=1.0, domains={"town": ["a", "b"], "sex": ["f", "m"]}, seed=-1, testing=True
    ),
    "mechanisms.generalize_sets": lambda call: call(PEOPLE, "note", k=2, m=1, seed=-1),
    "mechanisms.redact_text": lambda call: call(PEOPLE, "note", seed=-1),
    "mechanisms.pseudonymize": lambda call: call(PEOPLE, "note", seed=-1),
    "mechanisms.synthesize": lambda call: call(PEOPLE, ["age", "town"], seed=-1),
    "mechanisms.massc": lambda call: call(PEOPLE, ["town", "age"], risk=0.5, seed=-1),
    "mechanisms.safepub": lambda call: call(PEOPLE, ["town"], epsilon=1.0, delta=0.01, seed=-1, testing=True),
    "stream.StreamRelease": lambda call: call(["age"], k=2, delay=10, seed=-1),
    "stream.unicity": lambda call: call(PEOPLE, "note", "town", p=1, seed=-1),
    "tables.round_table": lambda call: call(unveil.table(PEOPLE, ["town", "sex"]), base=3, method="random", seed=-1),
}
"""Every call with a seed, with all else that it needs."""
RESULTS = {"stream.Unicity"}
"""What holds the seed of the call that made it."""


def doors() -> Iterator[tuple[str, Any]]:
    """Yield every public function and class with a parameter for a seed, by the name that a user would write."""
    seen = set()
    for room in ROOMS:
        home = importlib.import_module(f"unveil.{room}".rstrip("."))
        for name in home.__all__:
            thing = getattr(home, name)
            if callable(thing) and id(thing) not in seen and _has_seed(thing):
                seen.add(id(thing))
                yield f"{room}.{name}".removeprefix("."), thing


def _has_seed(thing: Any) -> bool:
    try:
        return "seed" in inspect.signature(thing).parameters
    except ValueError:  # what an extension compiled has no signature
        return False


DOORS = dict(doors())


def test_every_call_with_a_seed_is_tried() -> None:
    assert set(DOORS) - RESULTS == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_seed_that_is_none_is_refused_in_one_wording(name: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        CALLS[name](DOORS[name])
    assert str(refused.value) == "seed is -1; it must be a whole number from 0 to 9,223,372,036,854,775,807."


def test_what_draws_for_a_study_takes_seeds_of_63_bits() -> None:
    pytest.importorskip("sklearn")
    far = PEOPLE.with_columns(pay=pl.Series(range(24)).cast(pl.Float64))
    figures = [unveil.pmse(PEOPLE, far, seed=seed).value for seed in (1, 2**32 + 1, 2**63 - 1)]
    assert figures[0] == figures[1]
    work = unveil.tasks(PEOPLE, far, unveil.Task("sex", "sex", ["age", "pay"]), same_order=True, folds=2, seed=2**63 - 1)
    groups = unveil.Task("groups", None, ["age", "pay"], kind="clustering", clusters=2)
    assert work.made.seed == 2**63 - 1
    assert unveil.tasks(PEOPLE, far, groups, same_order=True, folds=2, seed=2**32 - 1).to_dict()["tasks"]
