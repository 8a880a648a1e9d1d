"""Distance-based linkage against every pair written out from the definition, its laws, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import binomtest

import unveil
from helpers import shared
from unveil.attacks import distance_linkage
from unveil.attacks.linkage.distance import Distance
from unveil.attacks.linkage.lines import LinkedAttribute
from unveil.attacks.linkage.rates import LinkageRates, checked_persons, link_chances, share_bounds
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, NullsError, UnsupportedDataError

SAME = 1e-9


def expected(distances: NDArray[np.float64], truth: Sequence[int]) -> tuple[float, float]:
    """Return the shares linked and linked to the second nearest: the mean over all orders of what is tied."""
    first = second = 0.0
    for record, true in enumerate(truth):
        if true < 0:
            continue
        row = distances[record]
        closer = sum(d < row[true] - SAME for d in row)
        tied = sum(abs(d - row[true]) <= SAME for d in row)
        ranks = range(closer + 1, closer + tied + 1)
        first += sum(rank == 1 for rank in ranks) / tied
        second += sum(rank == 2 for rank in ranks) / tied
    return first / len(truth), second / len(truth)


def agrees(found: LinkageRates, distances: NDArray[np.float64], truth: Sequence[int]) -> None:
    first, second = expected(distances, truth)
    assert found.value == pytest.approx(first, abs=1e-9)
    assert found.linked_second == pytest.approx(second, abs=1e-9)
    assert found.not_linked == pytest.approx(1.0 - first - second, abs=1e-9)


# --- one attribute: a released value, written as a text, and how far each original value is from it --------------------------


@dataclass(frozen=True)
class Told:
    """A released value and the gap it leaves to an original one; None is the gap to what has no place."""

    text: Any
    gap: Callable[[Any, float], float]


def number(at: int) -> Told:
    return Told(at, lambda x, _: abs(x - at))


def everything(text: Any) -> Told:
    return Told(text, lambda _x, _: 0.0)


def interval(low: float, high: float, *, left: bool, right: bool, text: str) -> Told:
    def gap(x: float, span: float) -> float:
        begin = low if left else low + (span or 1.0) * 5e-7
        end = high if right else high - (span or 1.0) * 5e-7
        return max(begin - x, x - end, 0.0)

    return Told(text, gap)


def one_of(members: Sequence[int], text: str) -> Told:
    return Told(text, lambda x, _: min(abs(x - member) for member in members))


@st.composite
def told_numbers(draw: st.DrawFn) -> Told:
    a, b = sorted(draw(st.lists(st.integers(0, 9), min_size=2, max_size=2, unique=True)))
    return draw(
        st.sampled_from(
            [
                number(a),
                interval(a, b, left=True, right=False, text=f"[{a}, {b})"),
                interval(a, b, left=False, right=True, text=f"({a}; {b}]"),
                interval(a, b, left=True, right=True, text=f"{a}-{b}"),
                interval(a, math.inf, left=True, right=False, text=f">= {a}"),
                interval(-math.inf, b, left=False, right=False, text=f"<{b}"),
                interval(10 * a, 10 * a + 10, left=True, right=False, text=f"{a}*" if a else "[0, 10)"),
                one_of([a, b], f"{{{a}, {b}}}"),
                everything("*"),
                everything(None),
            ]
        )
    )


ORDER = ("low", "middle", "high", "top")
KINDS = {"ab": "a", "ac": "a", "b": "b", "cde": "c"}
TREE = unveil.Hierarchy.from_levels(list(KINDS), list(KINDS.values()), ["any"] * 4, column="kind")


def category(text: Any, covered: Sequence[str]) -> Told:
    return Told(text, lambda x, _: 0.0 if x in covered else 1.0)


def ranks(text: Any, covered: Sequence[str]) -> Told:
    return Told(text, lambda x, _: min(abs(ORDER.index(x) - ORDER.index(one)) for one in covered))


TOLD_KINDS = [
    *(category(text, [text]) for text in ("ab", "ac", "b", "cde")),
    category("{ab, b}", ["ab", "b"]),
    category("ac|cde|new", ["ac", "cde"]),
    category("a*", ["ab", "ac"]),
    category("c*", ["cde"]),
    category("a", ["ab", "ac"]),
    category("any", list(KINDS)),
    category("new", []),
    everything("**"),
    everything(None),
    everything("{ab, b, +2}"),
]
TOLD_RANKS = [*(ranks(text, [text]) for text in ORDER), ranks("{low, high}", ["low", "high"]), everything("*"), everything(None)]


@st.composite
def mixed_tables(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, list[Told]], list[int]]:
    """Draw an original and a release of numbers, ordered and unordered categories, with nulls and generalised values."""
    originals, records = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    nulls = draw(st.booleans())

    def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(values, st.none()) if nulls else values

    def column(values: st.SearchStrategy[Any], size: int) -> list[Any]:
        return draw(st.lists(values, min_size=size, max_size=size))

    original = {
        "number": column(maybe(st.integers(0, 30)), originals),
        "rank": column(st.sampled_from(ORDER), originals),
        "kind": column(maybe(st.sampled_from(list(KINDS))), originals),
    }
    release = {
        "number": column(told_numbers(), records),
        "rank": column(st.sampled_from(TOLD_RANKS), records),
        "kind": column(st.sampled_from(TOLD_KINDS), records),
    }
    return original, release, column(st.integers(-1, originals - 1), records)


ATTRIBUTES = [
    LinkedAttribute("number", kind="continuous"),
    LinkedAttribute("rank", order=ORDER),
    LinkedAttribute("kind", hierarchy=TREE),
]


def gaps_of(original: Sequence[Any], release: Sequence[Told], unit: Callable[[list[Any]], float]) -> NDArray[np.float64]:
    """Return all gaps of an attribute in its unit; a null of the original is a unit away from whatever says something."""
    known = [x for x in original if x is not None]
    size = unit(known) if known else 0.0
    span = max(known) - min(known) if known and not isinstance(known[0], str) else 0.0
    out = np.zeros((len(release), len(original)))
    for i, told in enumerate(release):
        for j, x in enumerate(original):
            suppressed = told.text is None or told.text in ("*", "**", "{ab, b, +2}")
            gap = float(not suppressed) if x is None else told.gap(x, span)
            out[i, j] = gap if x is None else gap / size if size else float(gap > 0)
    return out


@given(mixed_tables(), st.sampled_from(["deviation", "range"]))
def test_the_mixed_distance_is_what_its_definition_says(
    tables: tuple[dict[str, list[Any]], dict[str, list[Told]], list[int]], scale: str
) -> None:
    original, release, truth = tables
    units: dict[str, Callable[[list[Any]], float]] = {
        "number": lambda known: float(4 * np.std(known) if scale == "deviation" else np.ptp(known)),
        "rank": lambda known: len(ORDER) - 1.0 if len(set(known)) > 1 else 0.0,
        "kind": lambda _: 1.0,
    }
    distances = sum(gaps_of(original[name], release[name], units[name]) for name in original)
    texts = {name: [told.text for told in column] for name, column in release.items()}
    found = distance_linkage(original, texts, truth, attributes=ATTRIBUTES, distance="mixed", scale=scale)  # type: ignore[arg-type]
    agrees(found, np.asarray(distances), truth)
    assert found.baseline == pytest.approx(sum(t >= 0 for t in truth) / len(truth) / len(original["rank"]))


@given(st.data())
def test_the_euclidean_distance_to_generalised_numbers_is_what_its_definition_says(data: st.DataObject) -> None:
    originals, records = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5))
    numbers = st.lists(st.integers(0, 30), min_size=originals, max_size=originals)
    original = {name: data.draw(numbers) for name in ("a", "b")}
    release = {name: data.draw(st.lists(told_numbers(), min_size=records, max_size=records)) for name in ("a", "b")}
    truth = data.draw(st.lists(st.integers(-1, originals - 1), min_size=records, max_size=records))
    gaps = [gaps_of(original[name], release[name], lambda known: float(np.std(known))) for name in ("a", "b")]
    texts = {name: [told.text for told in column] for name, column in release.items()}
    found = distance_linkage(original, texts, truth, attributes=["a", "b"])
    agrees(found, np.sqrt(sum(gap**2 for gap in gaps)), truth)


# --- points: the tree ---------------------------------------------------------------------------------------------------------


def points(originals: int, records: int, columns: int = 2, most: int = 4) -> st.SearchStrategy[Any]:
    def matrix(rows: int) -> st.SearchStrategy[NDArray[np.float64]]:
        row = st.lists(st.integers(0, most).map(float), min_size=columns, max_size=columns)
        return st.lists(row, min_size=rows, max_size=rows).map(np.array)

    truth = st.lists(st.integers(-1, originals - 1), min_size=records, max_size=records)
    return st.tuples(matrix(originals), matrix(records), truth)


drawn_points = st.tuples(st.integers(1, 30), st.integers(1, 12)).flatmap(lambda sizes: points(*sizes))


def standardised(original: NDArray[np.float64], release: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    spread = original.std(axis=0)
    unit = np.where(spread > 0, spread, np.inf)
    return original / unit, release / unit


@given(drawn_points)
def test_points_with_duplicates_and_ties_are_ranked_as_all_pairs_are(
    drawn: tuple[NDArray[np.float64], NDArray[np.float64], list[int]],
) -> None:
    original, release, truth = drawn
    one, other = standardised(original, release)
    found = distance_linkage(original, release, truth)
    assert found.made["search"] == "tree"
    agrees(found, cdist(other, one), truth)


@given(drawn_points)
def test_the_tree_serves_the_mixed_distance_of_numbers(
    drawn: tuple[NDArray[np.float64], NDArray[np.float64], list[int]],
) -> None:
    original, release, truth = drawn
    one, other = standardised(original, release)
    found = distance_linkage(original, release, truth, distance="mixed")
    assert found.made["search"] == "tree"
    agrees(found, cdist(other, one, "cityblock"), truth)


@given(drawn_points)
def test_the_scan_finds_what_the_tree_finds(drawn: tuple[NDArray[np.float64], NDArray[np.float64], list[int]]) -> None:
    """A column that the release suppresses adds nothing to any distance, and sends the search through all pairs."""
    original, release, truth = drawn
    one, other = ({str(at): column for at, column in enumerate(table.T)} for table in (original, release))
    distances: tuple[Distance, ...] = ("euclidean", "mixed")
    for distance in distances:
        tree = distance_linkage(one, other, truth, distance=distance)
        known = {**one, "x": np.arange(len(original), dtype=float)}
        scan = distance_linkage(known, {**other, "x": np.full(len(release), np.nan)}, truth, distance=distance)
        assert (tree.made["search"], scan.made["search"]) == ("tree", "scan")
        assert (scan.value, scan.linked_second, scan.ties) == pytest.approx((tree.value, tree.linked_second, tree.ties))


def test_more_coordinates_than_a_tree_can_use_are_scanned() -> None:
    random = np.random.default_rng(3)
    original = random.normal(size=(60, 17))
    release = original + random.normal(scale=0.7, size=original.shape)
    found = distance_linkage(original, release, range(60))
    assert found.made["search"] == "scan"
    agrees(found, cdist(*reversed(standardised(original, release))), range(60))


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_mahalanobis_is_scipys(columns: int) -> None:
    random = np.random.default_rng(columns)
    original = random.normal(size=(80, columns)) @ random.normal(size=(columns, columns)) + 5
    release = original + random.normal(scale=0.8, size=original.shape)
    inverse = np.linalg.inv(np.atleast_2d(np.cov(original.T, bias=True)))
    truth = random.permutation(80)
    agrees(
        distance_linkage(original, release[truth], truth, distance="mahalanobis"),
        cdist(release[truth], original, "mahalanobis", VI=inverse),
        truth.tolist(),
    )


@given(drawn_points)
def test_mahalanobis_takes_the_pseudo_inverse_where_attributes_depend_on_each_other(
    drawn: tuple[NDArray[np.float64], NDArray[np.float64], list[int]],
) -> None:
    original, release, truth = drawn
    original, release = (np.column_stack([table, table.sum(axis=1)]) for table in (original, release))
    one, other = standardised(original, release)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(one.T, bias=True)), hermitian=True, rcond=1e-10)
    gaps = other[:, None, :] - one[None, :, :]
    squares = np.einsum("ijk,kl,ijl->ij", gaps, inverse, gaps)
    agrees(distance_linkage(original, release, truth, distance="mahalanobis"), np.sqrt(np.maximum(squares, 0.0)), truth)


# --- laws ---------------------------------------------------------------------------------------------------------------------

sizes = st.integers(2, 25)
WAYS: tuple[Distance, ...] = ("euclidean", "mahalanobis", "mixed")


def rates(found: LinkageRates) -> tuple[float, ...]:
    return found.value, found.linked_second, found.not_linked, found.ties, found.interval.low, found.interval.high


@given(drawn_points, st.randoms(use_true_random=False), st.sampled_from(WAYS))
def test_the_order_of_either_table_changes_nothing(drawn: Any, random: Any, distance: Distance) -> None:
    original, release, truth = drawn
    plain = distance_linkage(original, release, truth, distance=distance)
    order = random.sample(range(len(release)), len(release))
    moved = distance_linkage(original, release[order], [truth[at] for at in order], distance=distance)
    assert rates(moved) == pytest.approx(rates(plain))
    order = random.sample(range(len(original)), len(original))
    place = {row: at for at, row in enumerate(order)}
    moved = distance_linkage(original[order], release, [place.get(true, -1) for true in truth], distance=distance)
    assert rates(moved) == pytest.approx(rates(plain))


@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=2, max_size=30), st.sampled_from(WAYS))
def test_a_table_linked_to_itself_links_all_that_is_distinct_and_shares_duplicates_out(
    rows: list[tuple[int, ...]], distance: Distance
) -> None:
    table = np.array(rows, dtype=float)
    found = distance_linkage(table, table, range(len(rows)), distance=distance)
    assert found.value == pytest.approx(len(set(rows)) / len(rows))
    nominal = {str(at): [str(x) for x in column] for at, column in enumerate(table.T)}
    assert distance_linkage(nominal, nominal, range(len(rows)), distance="mixed").value == pytest.approx(found.value)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=12), st.data())
def test_people_far_away_change_nothing(ages: list[int], data: st.DataObject) -> None:
    """On one attribute the scale orders nothing, so newcomers beyond everyone's reach leave every rank as it was."""
    noise = data.draw(st.lists(st.integers(-3, 3), min_size=len(ages), max_size=len(ages)))
    released = [float(age + by) for age, by in zip(ages, noise, strict=True)]
    plain = distance_linkage({"age": ages}, {"age": released}, range(len(ages)))
    more = distance_linkage({"age": [*ages, 5000, 7000]}, {"age": released}, range(len(ages)))
    if len(set(ages)) > 1:
        assert rates(more) == pytest.approx(rates(plain))
    assert more.baseline == pytest.approx(1 / (len(ages) + 2))


@given(drawn_points, st.sampled_from(WAYS), st.sampled_from([0.25, 2.0, 1024.0]), st.integers(-4, 4))
def test_units_do_not_matter(drawn: Any, distance: Distance, factor: float, shift: int) -> None:
    original, release, truth = drawn
    one = distance_linkage(original, release, truth, distance=distance)
    other = distance_linkage(original * factor + shift, release * factor + shift, truth, distance=distance)
    assert rates(other) == pytest.approx(rates(one))


@given(originals=st.integers(1, 40), records=st.integers(1, 20), texts=st.booleans())
def test_a_release_that_says_nothing_links_what_a_guess_links(originals: int, records: int, *, texts: bool) -> None:
    names = [str(at) for at in range(originals)] if texts else list(range(originals))
    truth = [at % originals for at in range(records)]
    found = distance_linkage({"a": names}, {"a": [None] * records}, truth, distance="mixed")
    assert found.value == pytest.approx(1 / originals) == pytest.approx(found.baseline)
    assert found.linked_second == pytest.approx(1 / originals if originals > 1 else 0.0)


@given(drawn_points, st.integers(1, 4))
def test_an_original_repeated_m_times_is_linked_1_in_m(drawn: Any, times: int) -> None:
    original, release, truth = drawn
    plain = distance_linkage(original, release, truth)
    again = distance_linkage(np.tile(original, (times, 1)), release, truth)
    assert again.value == pytest.approx(plain.value / times)


@given(drawn_points)
def test_records_made_from_nobody_are_never_linked(drawn: Any) -> None:
    original, release, _ = drawn
    found = distance_linkage(original, release, [-1] * len(release))
    assert (found.value, found.linked_second, found.not_linked, found.baseline) == (0.0, 0.0, 1.0, 0.0)


# --- control, interval, what a result says ------------------------------------------------------------------------------------


def outsider_share(distances: NDArray[np.float64], outside: Sequence[int]) -> float:
    """Return the share of release records whose nearest record is an outsider's, ties shared."""
    total = 0.0
    for row in distances:
        nearest = np.flatnonzero(row <= row.min() + SAME)
        total += sum(at in outside for at in nearest) / len(nearest)
    return total / len(distances)


@given(drawn=drawn_points, others=st.integers(1, 6).flatmap(lambda size: points(1, size)), scan=st.booleans())
def test_the_control_is_counted_among_original_and_outsiders_together(drawn: Any, others: Any, *, scan: bool) -> None:
    original, release, truth = drawn
    outsiders = others[1]
    both = np.vstack([original, outsiders])
    one, other = standardised(both, release)
    known, told, strangers = ({str(at): column for at, column in enumerate(t.T)} for t in (original, release, outsiders))
    if scan:
        known["hidden"], strangers["hidden"] = np.zeros(len(original)), np.zeros(len(outsiders))
        told["hidden"] = np.full(len(release), np.nan)
    found = distance_linkage(known, told, truth, control=strangers)
    control = found.control
    assert control is not None
    share = outsider_share(cdist(other, one), range(len(original), len(both)))
    assert control.linked == pytest.approx(share, abs=1e-9)
    assert control.value == pytest.approx(share / len(outsiders), abs=1e-9)
    assert control.expected == pytest.approx(len(outsiders) / len(both))
    assert control.interval.low - 1e-12 <= control.value <= control.interval.high + 1e-12
    assert rates(found) == rates(distance_linkage(known, told, truth))


def test_a_control_of_rows_stays_among_the_candidates() -> None:
    original = np.array([[0.0], [1.0], [2.0], [9.0]])
    found = distance_linkage(original, np.array([[0.1], [1.9], [8.0]]), [0, 2, 0], control=[1, 3])
    assert found.control is not None
    assert found.control.linked == pytest.approx(1 / 3)
    assert (found.control.records, found.control.expected) == (2, 0.5)
    assert found.excess == pytest.approx((2 / 3 - 1 / 6) / (1 - 1 / 6))


def test_a_release_of_strangers_links_its_people_no_more_than_the_control() -> None:
    random = np.random.default_rng(0)
    people, others, release = (random.normal(size=(400, 3)) for _ in range(3))
    found = distance_linkage(people, release, range(400), control=others)
    assert found.control is not None
    assert found.interval.low <= found.control.value <= found.interval.high
    assert found.control.linked == pytest.approx(found.control.expected, abs=0.08)
    close = distance_linkage(people, people + random.normal(scale=0.05, size=people.shape), range(400), control=others)
    assert close.control is not None
    assert close.value > 0.9
    assert close.control.value < 1e-3


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_is_the_exact_one(linked: int, records: int, confidence: float) -> None:
    linked = min(linked, records)
    theirs = binomtest(linked, records).proportion_ci(confidence, method="exact")
    ours = share_bounds(linked, records, confidence)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.integers(0, 4), st.integers(1, 6))
def test_chances_of_first_and_second_are_means_over_all_orders(closer: int, tied: int) -> None:
    first, second, shared_place = link_chances(np.array([float(closer)]), np.array([float(tied)]))
    ranks_of = range(closer + 1, closer + tied + 1)
    assert first[0] == pytest.approx(sum(rank == 1 for rank in ranks_of) / tied)
    assert second[0] == pytest.approx(sum(rank == 2 for rank in ranks_of) / tied)
    assert bool(shared_place[0]) == (closer <= 1 and tied > 1)


def test_the_answer_shows_itself() -> None:
    table = {"age": [20, 30, 40]}
    found = distance_linkage(table, table, [0, 1, 2], control={"age": [90]})
    assert found.to_dict()["control"]["records"] == 1
    assert found.to_frame()["share"].to_list() == [1.0, 0.0, 0.0]
    assert [figure.label for figure in found.view().figures] == ["Linked", "Random guess", "Control"]
    assert "1.0000 linked" in repr(found)


def test_frames_of_any_library_are_taken() -> None:
    frame = pl.DataFrame({"age": [20, 30, None], "kind": ["a", "b", "b"]})
    truth = [0, 1, 2]
    found = [
        distance_linkage(table, table, truth, distance="mixed").value for table in (frame, frame.to_pandas(), frame.to_dict())
    ]
    assert found == pytest.approx([found[0]] * 3)
    # the null of the release may be anyone's, the original's own null is covered by nothing else
    assert found[0] == pytest.approx(1.0 - 0.5 / 3)


@pytest.mark.parametrize("name", ["census", "tarragona"])
def test_linkage_falls_as_groups_of_a_reference_set_grow(name: str) -> None:
    table = reference(name)
    found = [distance_linkage(table, averaged(table, k), range(len(table))).value for k in (1, 3, 5, 10)]
    assert found[0] > found[1] > found[2] > found[3] > 1 / len(table)


def reference(name: str) -> NDArray[np.float64]:
    frame = pl.read_csv(shared(f"data/casc/{name}.csv"), infer_schema_length=None)
    return frame.to_numpy().astype(float)


def averaged(table: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Replace each record by the mean of its group of k, taken in the order of the first principal component."""
    score = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-12)
    order = np.argsort(score @ np.linalg.svd(score, full_matrices=False)[2][0], kind="stable")
    out = np.empty_like(table)
    for rows in np.array_split(order, max(len(table) // k, 1)):
        out[rows] = table[rows].mean(axis=0)
    return out


# --- what is refused ----------------------------------------------------------------------------------------------------------

AGES = {"age": [20.0, 30.0], "kind": ["a", "b"]}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ArgumentError, "these are nominal: kind"),
        ({"attributes": ["size"]}, ColumnNotFoundError, "size"),
        ({"attributes": []}, ArgumentError, "no attribute to compare"),
        ({"attributes": ["age"], "distance": "cosine"}, ArgumentError, "distance"),
        ({"attributes": ["age"], "scale": "unit"}, ArgumentError, "scale"),
        ({"attributes": ["age"], "intervals": "middle"}, ArgumentError, "intervals"),
        ({"attributes": ["age"], "confidence": 1.0}, ArgumentError, "confidence"),
        ({"attributes": ["age"], "truth": [0]}, ArgumentError, "1 entries for 2 release records"),
        ({"attributes": ["age"], "truth": [0, 2]}, ArgumentError, "not a row of the original"),
        ({"attributes": ["age"], "truth": [0.0, 1.0]}, ArgumentError, "as whole numbers"),
        ({"attributes": ["age"], "release": {"age": []}, "truth": []}, EmptyDataError, "the release"),
        ({"attributes": ["age"], "original": {"age": [1.0, None]}}, NullsError, "'age' \\(1\\)"),
        ({"attributes": ["age"], "original": {"age": [1.0, math.inf]}}, UnsupportedDataError, "no finite number"),
        ({"attributes": ["age"], "release": {"age": ["young", 3]}}, ArgumentError, "these are nominal: age"),
        (
            {"attributes": ["age"], "release": {"age": ["[0, 9]", 3]}, "distance": "mahalanobis"},
            ArgumentError,
            "one number per value",
        ),
        ({"attributes": ["age"], "control": {"size": [1]}}, ColumnNotFoundError, "age"),
        ({"attributes": ["age"], "control": {"age": []}}, ArgumentError, "the control is empty"),
        ({"attributes": ["age"], "control": [0]}, ArgumentError, "1 of 1 control rows are true rows"),
        ({"attributes": ["age"], "control": [2]}, ArgumentError, "row numbers of the original"),
        ({"attributes": [LinkedAttribute("kind", kind="ordinal")], "distance": "mixed"}, ArgumentError, "give its order"),
        ({"attributes": [LinkedAttribute("kind", order=("a",))], "distance": "mixed"}, ArgumentError, "missing from its order"),
        (
            {"attributes": [LinkedAttribute("kind", order=("a", "b"))], "release": {"kind": ["a", "c"]}, "distance": "mixed"},
            ArgumentError,
            "1 of its 2 values are not a category",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    arguments = {"original": AGES, "release": AGES, "truth": [0, 1], **options}
    with pytest.raises(error, match=words):
        distance_linkage(**arguments)


def test_messages_hold_no_values() -> None:
    with pytest.raises(UnsupportedDataError) as problem:
        distance_linkage({"age": [1, 2]}, {"age": ["secret", 3]}, [0, 1], attributes=[LinkedAttribute("age", kind="continuous")])
    assert "secret" not in str(problem.value)


@pytest.mark.parametrize("distance", ["euclidean", "mahalanobis", "mixed"])
def test_numbers_whose_squares_are_none_are_linked_like_others(distance: Distance) -> None:
    near = pl.DataFrame({"x": [1.0, -1.0, 1.7, 0.25, 0.5], "y": [3.0, 1.0, 4.0, 1.0, 5.0]})
    moved = pl.DataFrame({"x": [0.9, 0.3, 1.0, 0.25, 0.5], "y": [3.0, 1.0, 4.5, 1.0, 4.0]})
    far, far_moved = (table.with_columns(pl.col("x") * 1e308) for table in (near, moved))
    found, expected = (distance_linkage(*tables, range(5), distance=distance) for tables in ((far, far_moved), (near, moved)))
    assert found.value == pytest.approx(expected.value)
    assert 0.0 < found.value < 1.0


def test_persons_that_are_lists_are_refused() -> None:
    with pytest.raises(ArgumentError, match="persons holds lists"):
        checked_persons([[1], [2, 3]], 2)


def test_a_release_of_new_values_alone_is_as_far_from_the_control_as_from_anybody() -> None:
    original, release = pl.DataFrame({"x": ["a", "b", "a"]}), pl.DataFrame({"x": ["c", "d", "e"]})
    answer = distance_linkage(original, release, [0, 1, 2], distance="mixed", control=original)
    assert answer.control is not None
    assert answer.control.linked == pytest.approx(0.5)  # all six are equally far, and three are outsiders
