"""The result of one benchmark: a figure, which way is better, its goal, and what it was measured against.

`what` names the row and must not change: by it, a figure is compared with the one stored before. What changes from run to run is
in `measured`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Row", "at_most", "faster", "not_measured", "seconds", "slower"]

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure and its goal.

    Attributes
    ----------
    what
        The job, without any figure that a run may change.
    measured
        The figure in words.
    value
        The figure; None if it could not be measured.
    goal, met
        What it should be, and whether it is; empty and None if there is no goal.
    better
        Which way is better.
    unit
        "times" if the value is a ratio, which can be compared between machines; else "s", "MB" and so on.
    against
        For a ratio of times: the other tool and the job in a few letters, the label of the chart.
    """

    what: str
    measured: str
    value: float | None
    goal: str = ""
    met: bool | None = None
    better: Literal["higher", "lower"] = "lower"
    unit: str = "times"
    against: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


def faster(
    what: str, ours: float, theirs: float | None, *, against: str, least: float | None = None, finished: bool = True
) -> Row:
    """Say how many times faster than another tool we are; `theirs` is None if that could not be run.

    Parameters
    ----------
    what, against
        The row's name, and the label of the chart.
    ours, theirs
        Seconds of the same clock.
    least
        The goal.
    finished
        False if the other tool was stopped, so that its time is a lower bound.
    """
    goal = "" if least is None else f"{least:g} times faster" if least > 1 else "faster"
    if theirs is None:
        return not_measured(what, "the other tool could not be installed or run", goal)
    ratio = theirs / ours
    over = "" if finished else "over "
    shown, way = (ratio, "faster") if ratio >= 1 else (1 / ratio, "slower")
    words = f"{over}{shown:.{_digits(shown)}f} times {way} ({seconds(ours)} against {over}{seconds(theirs)})"
    return Row(what, words, ratio, goal, None if least is None else ratio >= least, "higher", against=against)


def slower(what: str, ours: float, theirs: float, *, against: str = "", most: float | None = None) -> Row:
    """Say how many times as long as something simpler we take, which can hardly be beaten, if at all."""
    ratio = ours / theirs
    words = f"{ratio:.{_digits(ratio)}f} times its time ({seconds(ours)} against {seconds(theirs)})"
    goal, met = ("", None) if most is None else (f"at most {most:g} times", ratio <= most)
    return Row(what, words, ratio, goal, met, against=against)


def at_most(what: str, value: float, most: float, unit: str, *, note: str = "") -> Row:
    """Report a figure that should not be above its goal."""
    words = seconds(value) if unit == "s" else f"{value:,.{_digits(value)}f} {unit}"
    return Row(what, words + (f" ({note})" if note else ""), value, f"at most {most:,g} {unit}", value <= most, unit=unit)


def not_measured(what: str, why: str, goal: str = "") -> Row:
    """Say why there is no figure."""
    return Row(what, f"not measured: {why}", None, goal)


def seconds(time: float) -> str:
    """Return a time in a unit that suits it."""
    if time < 1.0:
        return f"{time * 1e3:.{_digits(time * 1e3)}f} ms"
    return f"{time:.{_digits(time)}f} s" if time < 2 * _MINUTE else f"{time / _MINUTE:.1f} min"


def _digits(value: float) -> int:
    """Return the decimals that leave a number about three digits."""
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
