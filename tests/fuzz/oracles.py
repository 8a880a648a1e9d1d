"""What the answers should be, from the definitions, in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import narwhals as nw

from fuzz.calls import Scene
from helpers import entropy, kind, rate
from unveil import models
from unveil.attributes import names_of

__all__ = ["ORACLES"]

Arguments = Mapping[str, Any]
_CLOSE = 1e-9


class _UnsureError(Exception):
    """The table has values of which it is open which of them are the same."""


def _canonical(cells: Sequence[Any]) -> list[Hashable]:
    """Return cells so that equal values compare equal and nulls, NaN among them, are None."""
    found: list[Hashable] = []
    for cell in cells:
        try:
            missing = cell is None or bool(cell != cell)  # noqa: PLR0124 - a NaN differs from itself
            hash(cell)
        except (TypeError, ValueError, ArithmeticError):
            raise _UnsureError from None
        found.append(None if missing or str(cell) in {"NaT", "<NA>"} else cell)
    present = [cell for cell in found if cell is not None]
    by_text = {(type(cell).__name__, str(cell)) for cell in present if cell != 0}
    if len(by_text) != len({cell for cell in present if cell != 0}) or len({type(cell) for cell in present if cell == 0}) > 1:
        raise _UnsureError
    return found


def _columns(scene: Scene, names: Sequence[str]) -> list[list[Hashable]]:
    if any(name not in scene.table.cells for name in names):
        raise _UnsureError
    return [_canonical(scene.table.cells[name]) for name in names]


def _kept(scene: Scene, arguments: Arguments, key: Sequence[str], secret: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Return key and sensitive values of the records that the null policy keeps."""
    if any(arguments.get(name) for name in ("partitions", "weights", "person", "household")):
        raise _UnsureError
    rows = list(zip(*_columns(scene, [*key, *secret]), strict=True))
    if arguments.get("nulls") == "drop":
        rows = [row for row in rows if None not in row]
    return [row[: len(key)] for row in rows], [row[len(key) :] for row in rows]


def _rate(scene: Scene, arguments: Arguments, answer: Any) -> None:
    key, secret = names_of(arguments["key"]), names_of(arguments.get("sensitive"))
    y, x = _kept(scene, arguments, key, secret)
    x = x if secret else [(row,) for row in range(len(y))]
    assert math.isclose(answer.value, rate(x, y), abs_tol=_CLOSE), "the rate is not that of the definition"
    assert math.isclose(answer.entropy, entropy(x), abs_tol=_CLOSE), "the entropy is not that of the definition"
    if len(x) * len(set(y)) < 20_000:
        assert answer.kind == kind(x, y), "the kind of identifier is not that of the definition"


def _count(scene: Scene, arguments: Arguments, answer: Any) -> None:
    rows, _ = _kept(scene, arguments, names_of(arguments["columns"]), ())
    assert sorted(answer.n.tolist()) == sorted(Counter(rows).values()), "the counts are not those of the records"


def _scan(scene: Scene, arguments: Arguments, answer: Any) -> None:
    secret = names_of(arguments.get("sensitive"))
    if arguments.get("nulls") == "drop":
        raise _UnsureError
    for subset in answer.subsets[:20]:
        y, x = _kept(scene, arguments, subset.key, secret)
        x = x if secret else [(row,) for row in range(len(y))]
        if subset.dr is not None:
            assert math.isclose(subset.dr, rate(x, y), abs_tol=_CLOSE), "a subset's rate is not that of the definition"


def _figures(classes: Mapping[Any, Sequence[Any]], everything: Sequence[Any]) -> dict[str, float]:
    """Return k, l and t of classes of sensitive values."""
    overall = Counter(everything)
    return {
        "k_anonymity": min(map(len, classes.values())),
        "distinct_l_diversity": min(len(set(some)) for some in classes.values()),
        "p_sensitivity": min(len(set(some)) for some in classes.values()),
        "entropy_l_diversity": min(2 ** entropy(some) for some in classes.values()),
        "alpha": max(max(Counter(some).values()) / len(some) for some in classes.values()),
        "t_closeness": max(_distance(Counter(some), overall) for some in classes.values()),
    }


def _distance(some: Counter[Any], overall: Counter[Any]) -> float:
    return sum(abs(some[value] / some.total() - n / overall.total()) for value, n in overall.items()) / 2


def _grouped(key: Sequence[Any], secret: Sequence[Any]) -> dict[Any, list[Any]]:
    classes: dict[Any, list[Any]] = {}
    for at, value in zip(key, secret, strict=True):
        classes.setdefault(at, []).append(value)
    return classes


def _agree(figures: Mapping[str, float], place: Sequence[str], measured: Any, what: str) -> None:
    name, distance = place[0], place[2:]
    if name in figures and measured.value is not None and distance in {(), ("equal",)}:
        assert math.isclose(measured.value, figures[name], abs_tol=1e-7), (
            f"{name} of {what} is {measured.value}, not {figures[name]}"
        )


def _measure(scene: Scene, arguments: Arguments, answer: Any) -> None:
    if answer.suppressed or arguments.get("nulls") == "wildcard" or arguments.get("reference") is not None:
        raise _UnsureError
    key = names_of(arguments["key"])
    sensitive = names_of(arguments.get("sensitive"))
    columns, secrets = _kept(scene, arguments, key, sensitive)
    for place, measured in answer.models.items():
        at = sensitive.index(place[1]) if len(place) > 1 and place[1] in sensitive else None
        values = [row[at] for row in secrets] if at is not None else columns
        if at is not None or len(place) == 1:
            _agree(_figures(_grouped(columns, values), values), place, measured, "the table")


def _listed(data: Any) -> dict[str, list[Any]]:
    frame = nw.from_native(data)
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: eager[name].to_list() for name in eager.columns}


def _release(scene: Scene, arguments: Arguments, answer: Any) -> None:
    """What a release claims, measured on the release itself."""
    released = _listed(answer.data)
    rows = len(next(iter(released.values()), []))
    assert rows == len(answer.origin) == len(set(answer.origin.tolist())), "records are lost or made"
    if arguments.get("nulls") != "drop" and scene.table.rows:
        assert rows == scene.table.rows, "records are lost or made"
    key = (
        names_of(arguments["attributes"]) if not isinstance(arguments["attributes"], Mapping) else tuple(arguments["attributes"])
    )
    if arguments.get("nulls") == "wildcard" or not hasattr(answer, "models"):
        raise _UnsureError
    rows_of_key = list(zip(*[_canonical(released[name]) for name in key], strict=True))
    if getattr(answer, "suppressed", 0):
        rows_of_key = _without_suppressed(rows_of_key, answer.suppressed)
    for model in arguments["models"]:
        _require_met(model, rows_of_key, released, key, suppressed=bool(getattr(answer, "suppressed", 0)))


_REQUIRED = {
    models.KAnonymity: "k_anonymity",
    models.DistinctLDiversity: "distinct_l_diversity",
    models.EntropyLDiversity: "entropy_l_diversity",
    models.TCloseness: "t_closeness",
}


def _require_met(model: Any, rows: list[Any], released: Mapping[str, list[Any]], key: Sequence[str], *, suppressed: bool) -> None:
    """Every class of the release meets what was asked; those of suppressed records are set apart where they can be told."""
    attribute = getattr(model, "attribute", None)
    if type(model) not in _REQUIRED or not rows or attribute in key or (attribute and (suppressed or attribute not in released)):
        return
    if getattr(model, "distance", "equal") != "equal":
        return
    values = _canonical(released[attribute]) if attribute else [0] * len(rows)
    figure = _figures(_grouped(rows, values), values)[_REQUIRED[type(model)]]
    met = figure >= model.threshold - _CLOSE if model.safe_is_high else figure <= model.threshold + _CLOSE
    assert met, f"{model} is not met by the release"


def _suppressed_cells(scene: Scene, arguments: Arguments, answer: Any) -> None:
    """A null that local suppression leaves matches any value: k is the fewest records that one can be confused with."""
    released = _listed(answer.data)
    names = names_of(arguments["attributes"])
    rows = Counter(zip(*[_canonical(released[name]) for name in names], strict=True))
    assert rows.total() == scene.table.rows or not scene.table.rows, "records are lost or made"
    alike = {
        row: sum(n for other, n in rows.items() if all(a is None or b is None or a == b for a, b in zip(row, other, strict=True)))
        for row in rows
    }
    for place, measured in answer.models.items():
        if place == ("k_anonymity",):
            assert measured.value <= min(alike.values()), "fewer records look alike than the release says"


def _without_suppressed(rows: list[tuple[Any, ...]], suppressed: int) -> list[tuple[Any, ...]]:
    """Return the rows but as many of those that are suppressed throughout as the release says there are."""
    blank = [row for row in rows if all(cell in {"*", None} for cell in row)]
    assert len(blank) >= suppressed, "fewer records are suppressed than the release says"
    if len(set(blank)) > 1:
        raise _UnsureError
    return [row for row in rows if row not in blank] + blank[suppressed:]


def _in_one_form(cell: Any) -> Any:
    """Return a cell as a release has it: a NaN is a null, and -0.0 is 0.0."""
    if not isinstance(cell, float):
        return cell
    return None if math.isnan(cell) else cell + 0.0


def _same_rows(scene: Scene, arguments: Arguments, answer: Any) -> None:
    """A mechanism that changes values neither loses records nor makes any."""
    released = _listed(answer.data)
    skips = arguments.get("nulls") == "drop"
    rows = len(next(iter(released.values()), []))
    assert rows == len(answer.origin), "the link does not fit the records"
    assert skips or not scene.table.rows or rows == scene.table.rows, "records are lost or made"
    before = _listed(scene.table.data) if scene.table.library == "pyarrow" else scene.table.cells  # its moments are its own
    for name, cells in released.items():
        if (
            name not in answer.attributes
            and name in before
            and not skips
            and scene.table.library in {"polars", "lazy", "pyarrow", "parquet"}
        ):
            kept = [_in_one_form(before[name][row]) for row in answer.origin]
            mixed = (
                scene.table.kinds.get(name) == "object" and kept == cells
            )  # Python objects may come back as numbers of one type
            assert mixed or repr(kept) == repr(cells), "a column that was not named has changed"


_RECODINGS = ("anonymize", "mondrian", "recode_locally", "generalize_subtrees")
_MASKINGS = (
    "add_noise",
    "microaggregate",
    "rank_swap",
    "resample",
    "round_values",
    "shuffle",
    "swap",
    "swap_households",
    "top_bottom_code",
    "pram",
    "pseudonymize",
)
_ALL: dict[str, Callable[[Scene, Arguments, Any], None]] = {
    "discrimination_rate": _rate,
    "count": _count,
    "scan": _scan,
    "measure": _measure,
    **dict.fromkeys(_RECODINGS, _release),
    "suppress_locally": _suppressed_cells,
    **{f"mechanisms.{name}": _same_rows for name in _MASKINGS},
}


def _or_unsure(oracle: Callable[[Scene, Arguments, Any], None]) -> Callable[[Scene, Arguments, Any], bool]:
    def judged(scene: Scene, arguments: Arguments, answer: Any) -> bool:
        try:
            oracle(scene, arguments, answer)
        except _UnsureError:
            return False
        return True

    return judged


ORACLES: dict[str, Callable[[Scene, Arguments, Any], bool]] = {label: _or_unsure(oracle) for label, oracle in _ALL.items()}
"""By call: asserts that an answer is right, and says whether it could tell."""
