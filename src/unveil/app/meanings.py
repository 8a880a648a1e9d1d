"""Meanings as people write them: groups of values one per line, rules with their steps, hierarchies as rows of text."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil.errors import ArgumentError, HierarchyError
from unveil.partitions import (
    UNITS,
    Builder,
    Dates,
    Groups,
    Hierarchy,
    Intervals,
    Partition,
    PostalCodes,
    Rare,
    Redaction,
    RootOnly,
)

__all__ = ["WIZARDS", "Wizard", "edges_of", "groups_of", "hierarchy_of", "kept_hierarchy", "lines_of", "rows_text"]

_MOST_STEPS = 30


@dataclass(frozen=True, slots=True)
class Wizard:
    """A rule that builds a hierarchy, as a form offers it.

    Attributes
    ----------
    word, title
        Its name in forms, and for people.
    steps
        An example of its steps; empty if it takes none.
    option
        The command-line option that takes the steps.
    build
        Builds the rule from its steps.
    """

    word: str
    title: str
    steps: str
    option: str
    build: Callable[[tuple[str, ...]], Builder]

    def rule(self, steps: str) -> Builder:
        """Return the rule with the steps as written, or with those of the example if there are none."""
        return self.build(_words(steps) or _words(self.steps))


def _words(text: str) -> tuple[str, ...]:
    words = tuple(word for word in re.split(r"[\s,;]+", text) if word)
    if len(words) > _MOST_STEPS:
        raise ArgumentError(f"a hierarchy can have at most {_MOST_STEPS} levels here.")
    return words


def _whole(steps: Sequence[str]) -> tuple[int, ...]:
    if not all(step.isascii() and step.isdigit() for step in steps):
        raise ArgumentError("the steps must be increasing whole numbers, such as 5, 10, 20.")
    return tuple(map(int, steps))


def _numbers(steps: Sequence[str]) -> tuple[float, ...]:
    try:
        return tuple(int(step) if step.isdigit() else float(step) for step in steps)
    except ValueError:
        raise ArgumentError("the steps must be increasing numbers, such as 5, 10, 20.") from None


WIZARDS: dict[str, Wizard] = {
    one.word: one
    for one in (
        Wizard("dates", "Dates, by longer periods", "month, quarter, year", "--dates", lambda steps: Dates(_units(steps))),
        Wizard("postal", "Postal codes, shortened", "1, 2, 3", "--postal", lambda steps: PostalCodes(_whole(steps))),
        Wizard("intervals", "Numbers, in wider intervals", "5, 10, 20", "--interval", lambda steps: Intervals(_numbers(steps))),
        Wizard("codes", "Codes, masked at the end", "1, 2, 3", "--characters", lambda steps: Redaction("right", _whole(steps))),
        Wizard("rare", "Rare values, merged", "5, 20", "--rare", lambda steps: Rare(_whole(steps))),
        Wizard("neighbours", "Neighbours in order, in groups", "2, 4", "--groups", lambda steps: Groups(_whole(steps))),
        Wizard("root", "All or nothing", "", "", lambda steps: RootOnly()),  # noqa: ARG005 - it takes no step
    )
}
"""The rules by which a hierarchy can be built, by their word."""


def _units(steps: Sequence[str]) -> tuple[Any, ...]:
    for step in steps:
        if step not in UNITS:
            raise ArgumentError.not_one_of("the period", step, UNITS)
    return tuple(steps)


# Groups, one per line --------------------------------------------------------------------------------------------------


def _rows(text: str) -> list[list[str]]:
    """Read lines of texts separated by semicolons; a text with a semicolon, a quote, or blanks at its ends must be quoted."""
    tidy = re.sub(r"[ \t]+(?=;|$)", "", text.replace("\r\n", "\n"), flags=re.MULTILINE)
    try:
        rows = list(csv.reader(io.StringIO(tidy, newline=""), delimiter=";", skipinitialspace=True, strict=True))
    except csv.Error:
        raise ArgumentError("a quote is not closed; a text that contains a semicolon or a quote must be in quotes.") from None
    return [row for row in rows if any(row)]


def rows_text(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as such lines, which can be read back."""
    return "".join("; ".join(map(_cell, row)) + "\n" for row in rows)


def _cell(text: str) -> str:
    plain = text and text == text.strip() and not set(text) & set(';"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def groups_of(text: str, values: Iterable[str], rest: str = "") -> Partition:
    """Return the partition that is written as one group per line: its name, then its values.

    Parameters
    ----------
    text
        The lines.
    values
        All values of the column, as text.
    rest
        The name of the group of all values that no line names; if empty, every value must be named.
    """
    rows = _rows(text)
    labels = [row[0] for row in rows]
    blocks = [[cell for cell in row[1:] if cell] for row in rows]
    for number, (label, block) in enumerate(zip(labels, blocks, strict=True), 1):
        if not label or not block:
            raise ArgumentError(f"group {number:,}: a line must hold the name of the group, then its values: young; 18; 19.")
    named = {cell for block in blocks for cell in block}
    left = [value for value in values if value not in named]
    if rest.strip() and left:
        labels.append(rest.strip())
        blocks.append(left)
    if not blocks:
        raise ArgumentError("there is no group; write one per line: the name of the group, then its values.")
    return Partition.from_blocks(blocks, labels)


def edges_of(text: str) -> Partition:
    """Return the partition whose intervals begin at the numbers or dates of a line."""
    edges = list(_words(text.replace(",", " ")))
    if not edges:
        raise ArgumentError("there is no edge; name the numbers at which a new interval begins, such as 18, 30, 65.")
    return Partition.from_edges(["-inf", *edges, "inf"])


def lines_of(partition: Partition) -> str:
    """Return the groups of a partition as lines; empty if it has edges."""
    document = partition.to_dict()
    if "edges" in document or "blocks" not in document:
        return ""
    labels = document.get("labels") or [f"group {number}" for number in range(1, len(document["blocks"]) + 1)]
    return rows_text([str(label), *map(str, block)] for label, block in zip(labels, document["blocks"], strict=True))


# Hierarchies ----------------------------------------------------------------------------------------------------------


def hierarchy_of(column: str, text: str) -> Hierarchy:
    """Return the hierarchy that is written as rows in the form of ARX: a value, then its group at each level."""
    rows = _rows(text)
    if not rows:
        raise ArgumentError("there is no row; write one per value: the value, then its group at each level: Ulm; South; *.")
    if len(rows[0]) < 2:  # noqa: PLR2004 - a value and a group
        raise HierarchyError("a row must hold a value, then its group at each level, separated by semicolons: Ulm; South; *.")
    return Hierarchy(column, rows)


def kept_hierarchy(hierarchy: Hierarchy, folder: Path, code: str) -> Path:
    """Write a hierarchy into a folder under a name that changes with its content, so that undo finds the previous one."""
    text = rows_text(hierarchy.labels)
    column = hierarchy.column or ""
    name = column if re.fullmatch(r"\w[\w-]{0,40}", column, re.ASCII) else code
    place = folder / f"{name}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    hierarchy.write(place)
    return place
