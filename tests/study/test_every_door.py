"""What a study says of nulls, partitions, hierarchies, orders and weights, at every public call that takes data.

Each pair of a call and a field is `USED` (the answer differs from that for the data alone), `REFUSED` (with an error of our own), or
has a reason why the field changes nothing there: then the answer is the same. A call that is not listed fails the first test.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil import Hierarchy, Need, Partition, Release, Step, Study, Task, attacks, mechanisms, queries, stream, tables
from unveil.assess.assessment import assess
from unveil.errors import NullsError, UnveilError
from unveil.models import KAnonymity, KMap, TCloseness
from unveil.partitions.builders import Intervals
from unveil.protect.chain import protect
from unveil.utility.needs import utility

N = 48
GRADES = ["low", "mid", "high", "top"]
PEOPLE = pl.DataFrame(
    {
        "id": [f"r{at}" for at in range(N)],
        "home": [at // 4 for at in range(N)],
        "place": [at // 12 for at in range(N)],
        "age": [20 + at * 5 % 7 for at in range(N)],
        "pay": [float(at * 11 % 48) for at in range(N)],
        "sex": ["f" if at * 7 % 5 < 2 else "m" for at in range(N)],
        "grade": [GRADES[at * at % 7 % 4] for at in range(N)],
        "ill": [["cold", "flu", "hiv"][at * 5 % 3 if at % 4 else 1] for at in range(N)],
        "items": [["tea", "tea;milk", "milk;beer", "beer"][at * 3 % 4] for at in range(N)],
        "w": [1.0 + at % 3 for at in range(N)],
    }
)
HOLES = PEOPLE.with_columns(
    pl.when((pl.int_range(pl.len()) + at) % 9 == 4).then(None).otherwise(pl.col(name)).alias(name)
    for at, name in enumerate(PEOPLE.columns[1:-1])
)
OTHER = PEOPLE.with_columns(age=pl.col("age").reverse(), grade=pl.col("grade").reverse())
COARSE = PEOPLE.with_columns(
    age=pl.col("age").replace_strict({age: "young" if age < 23 else "old" for age in range(20, 27)}),
    sex=pl.lit("person"),
    grade=pl.col("grade").replace_strict(dict(zip(GRADES, ["poor", "poor", "good", "good"], strict=True))),
)
TREES = {
    name: Hierarchy.from_levels(values, groups, ["*"] * len(values))
    for name, values, groups in (
        ("age", list(range(20, 27)), ["young"] * 3 + ["old"] * 4),
        ("sex", ["f", "m"], ["person"] * 2),
        ("grade", GRADES, ["poor", "poor", "good", "good"]),
        ("ill", ["cold", "flu", "hiv"], ["light", "light", "grave"]),
        ("items", ["tea", "milk", "beer"], ["hot", "cold", "cold"]),
    )
}
ORDERS = {"age": [26, 20, 21, 22, 25, 24, 23], "sex": ["m", "f"], "grade": GRADES, "ill": ["flu", "hiv", "cold"]}
BLOCKS: dict[str, Any] = {
    "home": {"edges": ["-inf", 5, "inf"]},
    "age": {"edges": ["-inf", 23, "inf"]},
    "pay": {"edges": ["-inf", 20, "inf"]},
    "sex": [["f", "m"]],
    "grade": [["low", "mid"], ["high", "top"]],
    "ill": [["cold", "flu"], ["hiv"]],
    "items": [["tea", "tea;milk"], ["milk;beer", "beer"]],
}
SAID: Mapping[str, Mapping[str, Any]] = {
    "nulls": {"nulls": "error"},
    "drop": {"nulls": "drop"},
    "partitions": {"partitions": {name: Partition.of(spec, column=name) for name, spec in BLOCKS.items()}},
    "hierarchies": {"hierarchies": TREES},
    "orders": {"orders": ORDERS},
    "weights": {"weights": "w"},
}

USED, REFUSED = "used", "refused"
VALUES = "goes by the values as they are"
COUNTS = "counts records, whatever they weigh"
EXACT = "goes by values, not by groups above them"
UNORDERED = "values have no order here"
RULE = "the window or stream has its own, named when it was made"
FIRST = "what the first table's study says holds for this one"
LOOKS = "says what the columns hold, nulls included, and judges nothing"
BY_CALL = "the groups are named in the call"
OWN_LEVELS = "suppresses cells, and generalises none"
CONDITION = "a condition is not true of a null"
WHOLE = "takes records whole, and protects no attribute"
SOUGHT = "is what is looked for"
NUMBERS = "numbers are put into blocks of as many records"
SUPPRESSED = "a null of the release is a suppressed cell"
LEFT_OUT = "nulls are left out, whatever a study says"
APART = "the column of weights is not compared"
LINKED_TOO = "records are linked whatever is null in them"


@dataclass(frozen=True)
class Door:
    """A call on data, and what it does with each field of a study; a null that is not allowed is refused unless it says more."""

    call: Callable[[Any], Any]
    partitions: str = VALUES
    hierarchies: str = EXACT
    orders: str = UNORDERED
    weights: str = COUNTS
    nulls: str = REFUSED
    drop: str = USED


S: dict[str, Any] = {"seed": 1, "keep_order": True}
PAIRED: dict[str, Any] = {"key": ["age", "sex"], "sensitive": "ill", "same_order": True}
SIDES: dict[str, Any] = {"key": ["age", "sex"], "sensitive": "ill"}
COMPARED = ["age", "sex", "grade", "ill"]
NEED, TASK = Need("illness", target="ill", given="sex"), Task("illness", "ill", ["age", "sex", "grade"])
K9 = [KAnonymity(9)]
RANKED = [*K9, TCloseness("ill", 0.9, "rank")]
FOLDER, NUMBER = Path(mkdtemp()), count()
KEY_FILE = FOLDER / "key"
KEY_FILE.write_bytes(b"k" * 40)
NOISE: dict[str, Any] = {"attributes": ["age", "pay"]}
LINKED = np.arange(N)
CODED = ["age", "sex", "grade", "ill"]
SEXES = {"sex": ["f", "m"]}
MINIMAL = unveil.anonymize(PEOPLE, ["sex", "grade"], [KAnonymity(9)], hierarchies=TREES, seed=1, keep_order=True).data
PUBLISHED = tables.table(PEOPLE, ["sex", "grade"]).suppress("threshold=5")
STRUCTURE: dict[str, Any] = {"hierarchies": TREES, "k": 9}


def fresh(end: str) -> Path:
    """Return the path of a file that is not there yet."""
    return FOLDER / f"{next(NUMBER)}.{end}"


def gated(data: Any) -> Any:
    gate = unveil.Gate(
        data, ledger=fresh("db"), policy=queries.Open(), key=["age", "sex", "grade"], sensitive="pay", bounds={"pay": (0, 100)}
    )
    answer = gate.ask(queries.total("pay", queries.col("sex") == "f"))
    return [number.to_dict() for number in answer.numbers]


def started(data: Any) -> str:
    made = unveil.start_project(data, fresh("toml"))
    return repr(made)


def window(data: Any, how: str) -> Any:
    made = stream.Window(["age", "sex"], "ill", every=10)
    if how == "feed":
        return [figures.to_dict() for figures in made.feed(data)]
    made.update(OTHER)
    made.update(data if how == "update" else data.source.collect(data.names) if isinstance(data, Study) else data)
    return (made if how == "update" else made.revert(data)).figures()


def streamed(data: Any) -> Any:
    made = stream.StreamRelease(["age", "sex"], "ill", k=3, delay=10, seed=1)
    return [publication.frame.rows() for publication in made.feed(data)]


def close(distance: str) -> dict[str, Any]:
    return {"t_closeness": {"attribute": "ill", "distance": distance, "at_most": 0.9}}


def published(data: Any) -> Any:
    """Return a published table; of a study, with what the study says."""
    table = PUBLISHED.to_frame()
    if not isinstance(data, Study):
        return table
    if data.nulls == "error":
        table = table.with_columns(sex=pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col("sex")))
    return Study(
        table, nulls=data.nulls, partitions={name: data.partitions[name] for name in ("sex", "grade") if data.partitions}
    )


DOORS: dict[str, Door] = {
    "Gate": Door(gated, drop=REFUSED),
    "Pair": Door(lambda data: unveil.attack(unveil.Pair(data, OTHER, **PAIRED)), partitions=USED),
    "Pair:release": Door(
        lambda data: unveil.attack(unveil.Pair(PEOPLE, data, **PAIRED)), partitions=USED, hierarchies=FIRST, orders=FIRST
    ),
    "Study": Door(lambda data: unveil.measure(Study(data), **SIDES), USED, USED, USED, USED),
    "Study:population": Door(
        lambda data: unveil.measure(Study(PEOPLE, population=data), **SIDES, models=[KMap(2)]), FIRST, FIRST, FIRST, drop=FIRST
    ),
    "anonymize": Door(lambda data: unveil.anonymize(data, ["sex", "grade"], K9, **S), REFUSED, USED),
    "anonymize:population": Door(
        lambda data: unveil.anonymize(PEOPLE.head(30), ["sex", "grade"], [KMap(2)], population=data, **S),
        FIRST,
        FIRST,
        FIRST,
        drop=FIRST,
    ),
    "anonymize_front": Door(
        lambda data: unveil.anonymize_front(data, ["age", "grade"], NEED, sensitive="ill", seed=1), REFUSED, USED
    ),
    "approximate_rate": Door(
        lambda data: unveil.approximate_rate(data, ["age", "sex"], "ill", max_distinct=10), REFUSED, weights=REFUSED, drop=REFUSED
    ),
    "assess": Door(lambda data: unveil.assess(data, **SIDES), USED, USED, USED, USED),
    "attack": Door(lambda data: unveil.attack(data, OTHER, **PAIRED), partitions=USED),
    "attack:release": Door(lambda data: unveil.attack(PEOPLE, data, **PAIRED), partitions=USED, hierarchies=FIRST, orders=FIRST),
    "attack:external": Door(
        lambda data: unveil.attack(PEOPLE, OTHER, **PAIRED, external=data), REFUSED, FIRST, FIRST, drop=FIRST
    ),
    "attack:control": Door(lambda data: unveil.attack(PEOPLE, OTHER, **PAIRED, control=data), REFUSED, FIRST, FIRST, drop=FIRST),
    "attack_table": Door(lambda data: tables.attack_table(data, ["home", "sex"], value="pay"), REFUSED, BY_CALL, weights=USED),
    "build_hierarchy": Door(lambda data: unveil.build_hierarchy(data, "age", Intervals((5, 10))), nulls=LOOKS, drop=LOOKS),
    "check": Door(lambda data: unveil.check(data, {"k_anonymity": 2}, **SIDES), REFUSED, weights=USED),
    "check:original": Door(
        lambda data: unveil.check(PEOPLE, {"linkage": 0.9}, **SIDES, original=data, same_order=True), nulls=USED, drop=LINKED_TOO
    ),
    "check:control": Door(
        lambda data: unveil.check(PEOPLE, {"singling_out": 0.9}, **SIDES, original=OTHER, control=data, seed=1),
        USED,
        FIRST,
        FIRST,
        nulls=USED,
        drop=FIRST,
    ),
    "check_hierarchy": Door(lambda data: unveil.check_hierarchy(TREES["age"], data, "age"), nulls=LOOKS, drop=LOOKS),
    "compare": Door(lambda data: unveil.compare({"original": PEOPLE, "other": data}, **SIDES, needs=NEED), REFUSED, nulls=USED),
    "compose": Door(
        lambda data: unveil.compose(
            data, ["age", "sex"], NEED, sensitive="ill", seed=1, candidates=[Step("generalize", ["age", "sex"], {"k": 9})]
        ),
        REFUSED,
        USED,
    ),
    "count": Door(lambda data: unveil.count(data, ["age", "sex"]), USED),
    "direct_identifiers": Door(unveil.direct_identifiers, nulls=LOOKS, drop=LOOKS),
    "discrimination_rate": Door(lambda data: unveil.discrimination_rate(data, ["age", "sex"], "ill"), USED, weights=USED),
    "generalize_subtrees": Door(lambda data: unveil.generalize_subtrees(data, ["sex", "grade"], K9, **S), REFUSED, USED),
    "loss": Door(lambda data: unveil.loss(data, OTHER, key="age", same_order=True), VALUES, USED, USED, USED),
    "loss:release": Door(
        lambda data: unveil.loss(OTHER, data, key="age", same_order=True), VALUES, USED, USED, USED, SUPPRESSED, drop=SUPPRESSED
    ),
    "measure": Door(lambda data: unveil.measure(data, **SIDES), USED, USED, USED, USED),
    "measure:population": Door(
        lambda data: unveil.measure(PEOPLE.head(30), **SIDES, population=data, models=[KMap(2)]), FIRST, FIRST, FIRST, drop=FIRST
    ),
    "measure:reference": Door(
        lambda data: unveil.measure(PEOPLE.head(30), **SIDES, reference=data, models=[TCloseness("ill", 0.5)]),
        FIRST,
        FIRST,
        FIRST,
        drop=FIRST,
    ),
    "mondrian": Door(lambda data: unveil.mondrian(data, ["age", "home"], K9, **S), REFUSED, USED, USED),
    "pmse": Door(lambda data: unveil.pmse(data, COARSE, COMPARED), drop=REFUSED),
    "pmse:release": Door(lambda data: unveil.pmse(PEOPLE, data, COMPARED), drop=REFUSED),
    "propose_hierarchy": Door(lambda data: unveil.propose_hierarchy(data, "age"), nulls=LOOKS, drop=LOOKS),
    "propose_partitions": Door(
        lambda data: unveil.propose_partitions(data, OTHER, "age", same_order=True), SOUGHT, NUMBERS, drop=LEFT_OUT
    ),
    "propose_partitions:release": Door(
        lambda data: unveil.propose_partitions(OTHER, data, "age", same_order=True), SOUGHT, NUMBERS, drop=LEFT_OUT
    ),
    "protect": Door(
        lambda data: unveil.protect(data, [Step("generalize", ["sex", "grade"], {"k": 9}), Step("swap", ["sex"])], **S),
        REFUSED,
        USED,
    ),
    "recode_locally": Door(lambda data: unveil.recode_locally(data, ["sex", "grade"], K9, **S), REFUSED, USED, USED),
    "scan": Door(lambda data: unveil.scan(data, ["age", "sex"], "ill"), USED, weights=USED),
    "source": Door(lambda data: unveil.source(data).collect(["age"]), nulls=LOOKS, drop=LOOKS),
    "start_project": Door(started, nulls=LOOKS, drop=LOOKS),
    "suppress_locally": Door(lambda data: unveil.suppress_locally(data, ["age", "sex"], k=4, **S), REFUSED, OWN_LEVELS),
    "table": Door(lambda data: unveil.table(data, ["age", "sex"]), REFUSED, BY_CALL, weights=USED),
    "tasks": Door(lambda data: unveil.tasks(data, COARSE, TASK, same_order=True, folds=2), drop=REFUSED),
    "tasks:release": Door(lambda data: unveil.tasks(PEOPLE, data, TASK, same_order=True, folds=2), drop=REFUSED),
    "trade_off": Door(
        lambda data: unveil.trade_off(data, {"other": OTHER}, **PAIRED, losses=["nominal", "ordinal", "precision"]),
        REFUSED,
        USED,
        USED,
        nulls=USED,
    ),
    "trade_off:releases": Door(
        lambda data: unveil.trade_off(PEOPLE, {"other": data}, **PAIRED, losses=["nominal"]), REFUSED, nulls=USED
    ),
    "utility": Door(lambda data: unveil.utility(data, NEED), REFUSED),
    "Window.feed": Door(lambda data: window(data, "feed"), REFUSED, RULE, RULE),
    "Window.revert": Door(lambda data: window(data, "revert"), REFUSED, RULE, RULE),
    "Window.update": Door(lambda data: window(data, "update"), REFUSED, RULE, RULE),
    "attacks.distance_linkage": Door(
        lambda data: attacks.distance_linkage(data, OTHER, LINKED, **NOISE), REFUSED, orders=USED, drop=REFUSED
    ),
    "attacks.distance_linkage:release": Door(
        lambda data: attacks.distance_linkage(PEOPLE, data, LINKED, **NOISE), REFUSED, FIRST, FIRST, drop=SUPPRESSED
    ),
    "attacks.distance_linkage:control": Door(
        lambda data: attacks.distance_linkage(PEOPLE, OTHER, LINKED, **NOISE, control=data), REFUSED, FIRST, FIRST, drop=REFUSED
    ),
    "attacks.interval_disclosure": Door(
        lambda data: attacks.interval_disclosure(data, OTHER, **NOISE), REFUSED, orders=USED, drop=LEFT_OUT
    ),
    "attacks.interval_disclosure:release": Door(
        lambda data: attacks.interval_disclosure(PEOPLE, data, **NOISE), REFUSED, FIRST, FIRST, drop=SUPPRESSED
    ),
    "attacks.known_items": Door(lambda data: attacks.known_items(data, "items"), REFUSED),
    "attacks.minimality": Door(
        lambda data: attacks.minimality(data, MINIMAL, ["sex", "grade"], "ill", **STRUCTURE), REFUSED, BY_CALL, drop=REFUSED
    ),
    "attacks.minimality:release": Door(
        lambda data: attacks.minimality(PEOPLE, data, ["sex", "grade"], "ill", **{**STRUCTURE, "k": 5}),
        REFUSED,
        FIRST,
        drop=REFUSED,
    ),
    "attacks.probabilistic_linkage": Door(
        lambda data: attacks.probabilistic_linkage(data, OTHER[CODED], LINKED), REFUSED, weights=APART, drop=REFUSED
    ),
    "attacks.probabilistic_linkage:release_codes": Door(
        lambda data: attacks.probabilistic_linkage(PEOPLE[CODED], data, LINKED), REFUSED, weights=APART, drop=SUPPRESSED
    ),
    "attacks.structure_linkage": Door(
        lambda data: attacks.structure_linkage(data, OTHER, LINKED), REFUSED, weights=USED, drop=REFUSED
    ),
    "attacks.structure_linkage:release": Door(
        lambda data: attacks.structure_linkage(PEOPLE, data, LINKED), REFUSED, weights=USED, drop=REFUSED
    ),
    "attacks.text_leaks": Door(lambda data: attacks.text_leaks(data, "items", known="ill"), REFUSED, drop=LEFT_OUT),
    "attacks.text_leaks:original": Door(
        lambda data: attacks.text_leaks(PEOPLE, "items", known="ill", original=data), REFUSED, drop=LEFT_OUT
    ),
    "stream.StreamRelease.feed": Door(streamed, REFUSED, RULE, RULE, drop=REFUSED),
    "stream.intersect_releases": Door(
        lambda data: stream.intersect_releases(data, PEOPLE, PEOPLE, ["age", "sex"], "ill"), REFUSED
    ),
    "stream.intersect_releases:earlier": Door(
        lambda data: stream.intersect_releases(PEOPLE, data, PEOPLE, ["age", "sex"], "ill"), REFUSED, FIRST
    ),
    "stream.intersect_releases:later": Door(
        lambda data: stream.intersect_releases(PEOPLE, PEOPLE, data, ["age", "sex"], "ill"), REFUSED, FIRST
    ),
    "stream.unicity": Door(lambda data: stream.unicity(data, "home", ["age", "sex"], p=[1, 2]), USED, drop=LEFT_OUT),
    "tables.audit": Door(lambda data: tables.audit(published(data), by=["sex", "grade"]), REFUSED, BY_CALL, drop=SUPPRESSED),
    "tables.audit:original": Door(
        lambda data: tables.audit(PUBLISHED.to_frame(), by=["sex", "grade"], original=data), REFUSED, BY_CALL, drop=REFUSED
    ),
    "tables.perturb_by_cell_keys": Door(
        lambda data: tables.perturb_by_cell_keys(data, ["age", "sex"], record="id", key_file=KEY_FILE), REFUSED, BY_CALL
    ),
    "mechanisms.add_noise": Door(lambda data: mechanisms.add_noise(data, "age", amount=0.1, **S)),
    "mechanisms.anatomize": Door(lambda data: mechanisms.anatomize(data, ["age", "sex"], "grade", l=2, **S), REFUSED),
    "mechanisms.dp_count": Door(lambda data: mechanisms.dp_count(data, epsilon=1.0), nulls=CONDITION, drop=CONDITION),
    "mechanisms.dp_histogram": Door(lambda data: mechanisms.dp_histogram(data, "sex", values=["f", "m"], epsilon=1.0)),
    "mechanisms.dp_marginals": Door(lambda data: mechanisms.dp_marginals(data, ["sex"], domains=SEXES, epsilon=1.0)),
    "mechanisms.dp_mean": Door(lambda data: mechanisms.dp_mean(data, "age", bounds=(0, 100), epsilon=1.0)),
    "mechanisms.dp_microaggregate": Door(
        lambda data: mechanisms.dp_microaggregate(data, "age", bounds={"age": (0, 100)}, k=5, epsilon=1.0)
    ),
    "mechanisms.dp_sum": Door(lambda data: mechanisms.dp_sum(data, "age", bounds=(0, 100), epsilon=1.0)),
    "mechanisms.dp_synthesize": Door(lambda data: mechanisms.dp_synthesize(data, ["sex"], domains=SEXES, epsilon=1.0)),
    "mechanisms.dp_synthesize:holdout": Door(
        lambda data: mechanisms.dp_synthesize(PEOPLE, ["sex"], domains=SEXES, epsilon=1.0, holdout=data), drop=FIRST
    ),
    "mechanisms.generalize_sets": Door(lambda data: mechanisms.generalize_sets(data, "items", k=15, **S), hierarchies=USED),
    "mechanisms.massc": Door(lambda data: mechanisms.massc(data, ["age", "grade"], risk=0.4, **S), REFUSED, weights=USED),
    "mechanisms.microaggregate": Door(lambda data: mechanisms.microaggregate(data, "grade", **S), orders=USED),
    "mechanisms.pram": Door(lambda data: mechanisms.pram(data, "sex", retention=0.8, **S)),
    "mechanisms.pseudonymize": Door(lambda data: mechanisms.pseudonymize(data, "sex", method="counter", **S)),
    "mechanisms.rank_swap": Door(lambda data: mechanisms.rank_swap(data, "age", **S), orders=USED),
    "mechanisms.redact_text": Door(lambda data: mechanisms.redact_text(data, "items", **S)),
    "mechanisms.resample": Door(lambda data: mechanisms.resample(data, "age", **S)),
    "mechanisms.round_values": Door(lambda data: mechanisms.round_values(data, "age", base=2, **S)),
    "mechanisms.safepub": Door(
        lambda data: mechanisms.safepub(data, ["sex"], epsilon=1.0, delta=0.1, seed=1, testing=True), REFUSED
    ),
    "mechanisms.sample": Door(
        lambda data: mechanisms.sample(data, share=0.5, strata="sex", method="stratified", **S), drop=WHOLE
    ),
    "mechanisms.shuffle": Door(lambda data: mechanisms.shuffle(data, "age", given="pay", **S), orders=USED),
    "mechanisms.swap": Door(lambda data: mechanisms.swap(data, "sex", share=0.5, **S)),
    "mechanisms.swap_households": Door(
        lambda data: mechanisms.swap_households(data, ["place"], household="home", risk="age", share=0.2, **S), drop=REFUSED
    ),
    "mechanisms.synthesize": Door(lambda data: mechanisms.synthesize(data, ["sex", "age"], seed=1)),
    "mechanisms.synthesize:holdout": Door(
        lambda data: mechanisms.synthesize(PEOPLE, ["sex", "age"], seed=1, holdout=data), drop=FIRST
    ),
    "mechanisms.top_bottom_code": Door(lambda data: mechanisms.top_bottom_code(data, "age", top=24, **S)),
}
"""By call, and by its parameter where that is not the first; those named in the package itself have no room."""

MORE: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("anonymize", "orders"): lambda data: unveil.anonymize(data, ["sex", "grade"], RANKED, **S),
    ("anonymize_front", "orders"): lambda data: unveil.anonymize_front(
        data, ["age", "grade"], NEED, sensitive="ill", models=RANKED, seed=1
    ),
    ("attack", "hierarchies"): lambda data: unveil.attack(data, COARSE, **PAIRED),
    ("attacks.distance_linkage", "hierarchies"): lambda data: attacks.distance_linkage(
        data, COARSE, LINKED, attributes=["age"], distance="mixed"
    ),
    ("attacks.interval_disclosure", "orders"): lambda data: attacks.interval_disclosure(data, OTHER, attributes=["ill"]),
    ("attacks.minimality", "hierarchies"): lambda data: attacks.minimality(data, MINIMAL, ["sex", "grade"], "ill", k=9),
    ("check", "hierarchies"): lambda data: unveil.check(data, close("hierarchical"), **SIDES),
    ("check", "orders"): lambda data: unveil.check(data, close("rank"), **SIDES),
    ("compose", "orders"): lambda data: unveil.compose(
        data, ["age", "grade"], NEED, sensitive="ill", candidates=[Step("rank_swap", ["grade"])], seed=1
    ),
    ("generalize_subtrees", "orders"): lambda data: unveil.generalize_subtrees(data, ["sex", "grade"], RANKED, **S),
    ("mondrian", "hierarchies"): lambda data: unveil.mondrian(data, ["age", "grade"], K9, **S),
    ("mondrian", "orders"): lambda data: unveil.mondrian(data, ["age", "grade"], K9, **S),
    ("Pair", "hierarchies"): lambda data: unveil.attack(unveil.Pair(data, COARSE, **PAIRED)),
    ("propose_partitions", "hierarchies"): lambda data: unveil.propose_partitions(data, OTHER, "grade", same_order=True),
    ("propose_partitions:release", "hierarchies"): lambda data: unveil.propose_partitions(OTHER, data, "grade", same_order=True),
    ("protect", "orders"): lambda data: unveil.protect(data, [Step("rank_swap", ["grade"], S)], **S),
    ("stream.intersect_releases", "hierarchies"): lambda data: stream.intersect_releases(
        data, COARSE, COARSE, ["age", "sex"], "ill"
    ),
}
"""Calls that use a field of a study only if more is asked of them."""

DRAWN = ("mechanisms.dp_",)
"""Answers whose noise nobody can repeat are compared by what they say of how they were made."""
UNREPEATED = {"seconds", "version", "made", "files", "place", "id"}


def doors() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every public call that takes data, with the parameters that take it."""
    takes = re.compile(r"\b(Data|Records)\b")
    seen: set[int] = set()
    for room in (unveil, attacks, mechanisms, queries, stream, tables, unveil.models, unveil.datasets):
        place = room.__name__.removeprefix("unveil").removeprefix(".")
        for name in room.__all__:
            one, here = getattr(room, name), f"{place}.{name}".lstrip(".")
            one = CALLED.get(one.__name__, one) if isinstance(one, ModuleType) else one
            each = {here: one} | ({f"{here}.{key}": method for key, method in vars(one).items()} if inspect.isclass(one) else {})
            for call, function in each.items():
                if callable(function) and not call.split(".")[-1].startswith("_") and id(function) not in seen:
                    seen.add(id(function))
                    if parameters := tuple(key for key, kind in hints_of(function).items() if takes.search(kind) and key != LINK):
                        yield call, parameters


def hints_of(function: Any) -> dict[str, str]:
    """Return the annotations of a call's parameters, as they are written."""
    try:
        return {name: str(one.annotation) for name, one in inspect.signature(function).parameters.items()}
    except ValueError:  # it is written in C
        return {}


CALLED = {"unveil.assess": assess, "unveil.protect": protect, "unveil.utility": utility}
"""The rooms that are called themselves, with what they call."""
LINK = "link"
"""A correspondence of records is no table of people."""


def digest(answer: Any, *, drawn: bool = False) -> str:
    """Return what an answer says, without what differs from run to run or only repeats the study."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(name): plain(one) for name, one in value.items() if name not in UNREPEATED}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    if drawn:
        return repr({name: one for name, one in plain(answer.settings).items() if name != "records"})
    if isinstance(answer, Release):
        return repr((answer.data.rows(), plain(getattr(answer.protection, "to_dict", dict)())))
    if isinstance(answer, pl.DataFrame):
        return repr(answer.rows())
    return repr(plain(answer.to_dict() if hasattr(answer, "to_dict") else answer))


def outcome(call: Callable[[Any], Any], data: Any, *, drawn: bool) -> str | UnveilError:
    try:
        return digest(call(data), drawn=drawn)
    except UnveilError as problem:
        return problem


def test_every_public_call_that_takes_data_is_listed() -> None:
    known = {call if not at else f"{call}:{name}" for call, names in doors() for at, name in enumerate(names)}
    assert known == set(DOORS)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("name", DOORS)
def test_a_call_heeds_what_a_study_says_or_refuses_it_or_has_no_use_for_it(name: str, said: str) -> None:
    door, drawn = DOORS[name], name.startswith(DRAWN)
    data, expected = HOLES if said in ("nulls", "drop") else PEOPLE, getattr(door, said)
    plain, found = (outcome(door.call, one, drawn=drawn) for one in (data, Study(data, **SAID[said])))
    if expected == REFUSED:
        assert isinstance(found, UnveilError)
        assert said != "nulls" or isinstance(found, NullsError) or name == "approximate_rate"
        return
    assert isinstance(found, str) or expected == FIRST, found
    assert (repr(found) != repr(plain)) == (expected == USED)


@pytest.mark.parametrize(("name", "said"), MORE)
def test_a_call_uses_what_a_study_says_where_more_is_asked(name: str, said: str) -> None:
    call = MORE[name, said]
    plain, found = (outcome(call, one, drawn=False) for one in (PEOPLE, Study(PEOPLE, **SAID[said])))
    assert isinstance(found, str), found
    assert isinstance(plain, UnveilError) or plain != found
