"""A reader of the .ahs files of ARX, each of which holds a rule for a hierarchy as Java wrote it."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from unveil.arguments import checked_arguments
from unveil.errors import DataNotFoundError, HierarchyError, is_unicode, reason_of, shown
from unveil.partitions import not_there
from unveil.project.arx.java_stream import JavaObject, JavaStreamError, read_objects
from unveil.project.arx.rule_calendar import JavaCalendar
from unveil.project.arx.rule_intervals import EndRange, HalfOpen, IntervalRule, LevelGroup
from unveil.project.arx.rule_labels import GroupLabel, LabelKind
from unveil.project.arx.rule_types import ArxType, DateType, NumberType, TextType
from unveil.project.arx.rules import ArxRule, DateRule, OrderRule, PriorityRule, RedactionRule

__all__ = ["arx_rule"]

_LARGEST = 1 << 24
"""A rule of more bytes than this cannot be genuine."""
_HOME = "org.deidentifier.arx."
_PERIODS: Mapping[str, tuple[str, int | None]] = {
    "SECOND_MINUTE_HOUR_DAY_MONTH_YEAR": ("dd.MM.yyyy-HH:mm:ss", None), "MINUTE_HOUR_DAY_MONTH_YEAR": ("dd.MM.yyyy-HH:mm", None),
    "HOUR_DAY_MONTH_YEAR": ("dd.MM.yyyy-HH:00", None), "DAY_MONTH_YEAR": ("dd.MM.yyyy", None),
    "WEEK_MONTH_YEAR": ("W/MM.yyyy", None),
    "WEEK_YEAR": ("ww/yyyy", None), "MONTH_YEAR": ("MM/yyyy", None), "QUARTER_YEAR": ("QQQ yyyy", None), "WEEKDAY": ("e", None),
    "WEEK": ("w", None), "QUARTER": ("QQQ", None), "YEAR": ("yyyy", None), "DECADE": ("yyyy", 10), "CENTURY": ("yyyy", 100),
    "MILLENNIUM": ("yyyy", 1000),
}  # fmt: skip
"""ARX's periods in the order of their length, with their default formats."""
_LABELS: Mapping[str, LabelKind] = {
    "GenericSet": "set", "GenericSetOfPrefixes": "prefixes", "GenericCommonPrefix": "prefix", "GenericConstant": "constant",
    "GenericBounds": "bounds", "GenericInterval": "interval", "GenericArithmeticMean": "mean",
    "GenericArithmeticMeanOfBounds": "middle", "GenericGeometricMean": "geometric",
    "GenericGeometricMeanOfBounds": "geometric-middle",
}  # fmt: skip


@checked_arguments
def arx_rule(file: str | os.PathLike[str]) -> ArxRule:
    """Read a rule for a hierarchy that ARX saved as an .ahs file; `unveil.build_hierarchy` applies it to a column.

    Parameters
    ----------
    file
        The file. Nothing in it is executed.

    Returns
    -------
    ArxRule
        The rule, one of intervals, ordered groups, masked characters, dates or priorities.

    Raises
    ------
    DataNotFoundError
        If the file does not exist.
    HierarchyError
        If it is not such a file, is damaged, or holds a rule that cannot be read without ARX.
    """
    place = Path(file)
    if "\0" in str(place) or not is_unicode(place):
        raise HierarchyError(f"{shown(place)}: the file cannot be read: no file can have this name.")
    try:
        with place.open("rb") as opened:
            return _rule(opened.read(_LARGEST + 1))
    except FileNotFoundError:
        raise DataNotFoundError(not_there(place)) from None
    except OSError as problem:
        raise HierarchyError(f"{shown(place)}: the file cannot be read: {reason_of(problem)}.") from None
    except JavaStreamError as problem:
        raise HierarchyError(f"{shown(place)}: this is not a rule of ARX (.ahs): {problem}.") from None
    except HierarchyError as problem:  # which is also a ValueError
        raise HierarchyError(f"{shown(place)}: {problem}") from None
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError, struct.error, ZeroDivisionError):
        raise HierarchyError(f"{shown(place)}: this is not a rule of ARX (.ahs), or the file is damaged.") from None


def _rule(content: bytes) -> ArxRule:
    if len(content) > _LARGEST:
        raise HierarchyError("the file is too large to be a rule of ARX (.ahs).")
    builder = next(iter(read_objects(content)), None)
    known: Mapping[str, Callable[[Mapping[str, Any]], ArxRule]] = {
        "HierarchyBuilderIntervalBased": _intervals, "HierarchyBuilderOrderBased": _order,
        "HierarchyBuilderRedactionBased": _redaction, "HierarchyBuilderDate": _dates,
        "HierarchyBuilderPriorityBased": _priorities,
    }  # fmt: skip
    name = builder.name.removeprefix(f"{_HOME}aggregates.") if isinstance(builder, JavaObject) else ""
    if not isinstance(builder, JavaObject) or name not in known:
        raise HierarchyError("this is not a rule of ARX (.ahs), or one of another version.")
    return known[name](builder.fields)


def _intervals(fields: Mapping[str, Any]) -> ArxRule:
    kind = _type(fields["datatype"])
    if isinstance(kind, TextType):
        raise HierarchyError("only numbers and dates have intervals.")
    intervals = tuple(
        HalfOpen(_plain(one.fields["min"]), _plain(one.fields["max"]), _label(one.fields["function"]))
        for one in _elements(fields["intervals"])
    )
    if not intervals or any(not one.low < one.high for one in intervals):
        raise HierarchyError("the rule has no intervals, or one that is empty.")
    if any(one.high != other.low for one, other in pairwise(intervals)):
        raise HierarchyError("there is a gap between two intervals of the rule.")
    ends = [_range(fields[name]) for name in ("lowerRange", "upperRange")]
    return ArxRule("interval", IntervalRule(kind, intervals, _levels(fields["groups"]), *ends))


def _range(one: JavaObject) -> EndRange:
    return EndRange(*(_plain(one.fields[name]) for name in ("repeatBound", "snapBound", "labelBound")))


def _order(fields: Mapping[str, Any]) -> ArxRule:
    comparator = fields["comparator"]
    captured = comparator.fields if isinstance(comparator, JavaObject) else {}
    kind = _type(fields["datatype"])
    if "val$map" in captured:
        order: ArxType = TextType({str(text): int(_plain(place)) for text, place in _pairs(captured["val$map"])})
    elif "val$type" in captured and "val$comparator" not in captured:
        order = _type(captured["val$type"])
    else:
        raise HierarchyError("the rule follows an order that only ARX, or the data in ARX, knows; export the hierarchy as CSV.")
    return ArxRule("order", OrderRule(kind, order, _levels(fields["groups"])))


def _redaction(fields: Mapping[str, Any]) -> ArxRule:
    right = "RIGHT_TO_LEFT"
    return ArxRule(
        "redaction",
        RedactionRule(
            chr(fields["paddingCharacter"]),
            chr(fields["redactionCharacter"]),
            fields["aligmentOrder"] == right,
            fields["redactionOrder"] == right,
        ),
    )


def _dates(fields: Mapping[str, Any]) -> ArxRule:
    kind = _type(fields["datatype"])
    if not isinstance(kind, DateType):
        raise HierarchyError("only dates have periods.")
    own = fields["format"]
    forms = dict(_pairs(own.fields["map"])) if isinstance(own, JavaObject) else {}
    granularities = sorted(fields["granularities"], key=list(_PERIODS).index)
    periods = tuple((str(forms.get(one, _PERIODS[one][0])), _PERIODS[one][1]) for one in granularities)
    zone = fields["timeZone"].fields["ID"] if isinstance(fields["timeZone"], JavaObject) else None
    bottom, top = (_plain(fields[name], zone) for name in ("bottomCoding", "topCoding"))
    return ArxRule("date", DateRule(kind, periods, bottom, top))


def _priorities(fields: Mapping[str, Any]) -> ArxRule:
    priorities = fields["priorities"]
    known = None if priorities is None else {str(text): int(_plain(number)) for text, number in _pairs(priorities)}
    kind = TextType() if fields["type"] is None else _type(fields["type"])
    highest = fields["priority"] == "HIGHEST_TO_LOWEST"
    return ArxRule("priority", PriorityRule(kind, known, highest, max(1, int(fields["maxLevels"]))))


def _levels(groups: JavaObject) -> tuple[tuple[LevelGroup, ...], ...]:
    levels = {int(_plain(number)): _elements(level.fields["list"]) for number, level in _pairs(groups)}
    if sorted(levels) != list(range(len(levels))):
        raise HierarchyError("a level of the rule is missing.")
    return tuple(
        tuple(LevelGroup(max(1, int(one.fields["size"])), _label(one.fields["function"])) for one in levels[number])
        for number in sorted(levels)
    )


def _label(function: JavaObject) -> GroupLabel:
    name, fields = function.name.rpartition("$")[2], function.fields
    if name not in _LABELS:
        raise HierarchyError("a group of the rule is labelled by a function that only ARX knows; export the hierarchy as CSV.")
    text = fields.get("value", fields.get("redaction"))
    if isinstance(text, JavaObject):
        text = chr(text.fields["value"])
    closed = (bool(fields.get("lowerIncluded", True)), bool(fields.get("upperIncluded", True)))
    return GroupLabel(_LABELS[name], text, int(fields.get("length", 1)), closed)


def _type(one: JavaObject) -> ArxType:
    name, form = one.name.removeprefix(f"{_HOME}DataType$"), one.fields.get("string")
    if name in ("ARXInteger", "ARXDecimal"):
        if form is not None:
            raise HierarchyError("the rule is about numbers in a format of their own; export the hierarchy as CSV.")
        return NumberType(name == "ARXInteger")
    if name == "ARXDate":
        return DateType(str(form or DateType.form), _calendar(one.fields.get("format")))
    if name == "ARXOrderedString":
        order = one.fields.get("order")
        return TextType({} if order is None else {str(text): int(_plain(place)) for text, place in _pairs(order)})
    if name == "ARXString":
        return TextType()
    raise HierarchyError("the rule is about values of a type that is not known.")


def _calendar(form: Any) -> JavaCalendar | None:
    """Return the conventions that Java saved with the format of dates: start of weeks, names of months, language, century."""
    if not isinstance(form, JavaObject):
        return None
    held = [form.fields.get(name) for name in ("calendar", "formatData", "locale")]
    weeks, names, place = (one if isinstance(one, JavaObject) else JavaObject("") for one in held)
    if weeks.name != "java.util.GregorianCalendar" or not names.name or not place.name:
        return None
    first, least = int(weeks.fields["firstDayOfWeek"]), int(weeks.fields["minimalDaysInFirstWeek"])
    months, short = (tuple(str(one) for one in names.fields[name][:12]) for name in ("months", "shortMonths"))
    if not (1 <= first <= 7 and 1 <= least <= 7) or not all(len(one) == 12 and all(one) for one in (months, short)):  # noqa: PLR2004
        return None
    return JavaCalendar(
        first, least, months, short, str(place.fields["language"]), _plain(form.fields.get("defaultCenturyStart"))
    )


def _plain(value: Any, zone: str | None = None) -> Any:
    """Return a boxed number unboxed, and a date as a moment by the wall clock of a zone, by default the local one."""
    if not isinstance(value, JavaObject):
        return value
    if value.name == "java.util.Date":
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=struct.unpack(">q", value.written[0])[0])
        try:
            return moment.astimezone(None if zone is None else ZoneInfo(zone)).replace(tzinfo=None)
        except ZoneInfoNotFoundError:
            raise HierarchyError("the time zone of the rule is not known here.") from None
    return value.fields["value"]


def _elements(collection: JavaObject) -> list[JavaObject]:
    """Return the elements of a Java list."""
    return [one for one in collection.written if not isinstance(one, bytes)]


def _pairs(collection: JavaObject) -> list[tuple[Any, Any]]:
    """Return the keys and values of a Java map."""
    held = [one for one in collection.written if not isinstance(one, bytes)]
    return list(zip(held[::2], held[1::2], strict=True))
