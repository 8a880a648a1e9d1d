"""A hierarchy drawn in a terminal: a tree that stays small, because wide branches are cut and the rest is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from unveil.formats import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from unveil.partitions import Hierarchy

__all__ = ["HierarchyTree"]

_MOST_LINES = 40
_WIDEST = 12
_DEEPEST = 30
"""The most levels that are drawn; a hierarchy of masked characters can have thousands."""
_SHOWN_VALUES = 4
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class HierarchyTree:
    """A tree of a hierarchy from its root down; each group of level 1 is followed by its values, or the first few of them."""

    hierarchy: Hierarchy
    records: tuple[int, ...] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw as many branches as fit into some forty lines."""
        rows = range(len(self.hierarchy.labels))
        height = self.hierarchy.height
        width = next((n for n in range(_WIDEST, 1, -1) if self._lines(rows, height, n) <= _MOST_LINES), 1)
        tree = Tree(_text(str(self.hierarchy.column or "hierarchy"), options, "bold"), guide_style="dim")
        self._grow(tree, rows, height, width, options)
        yield tree

    def _groups(self, rows: Sequence[int], level: int) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {}
        for row in rows:
            groups.setdefault(self.hierarchy.labels[row][level], []).append(row)
        return groups

    def _lines(self, rows: Sequence[int], level: int, width: int, depth: int = 1) -> int:
        """Return how many lines the branches at a level take."""
        groups = self._groups(rows, level)
        lines = len(groups) if len(groups) <= width else width + 1
        for label, group in [*groups.items()][:width]:
            lowest = self._lowest(label, group, level)
            lines += self._lines(group, lowest - 1, width, depth + 1) if lowest > 1 and depth < _DEEPEST else 0
        return lines

    def _lowest(self, label: str, rows: Sequence[int], level: int) -> int:
        """Return the lowest level (at least 1) at which this group has the same label, so that equal levels share one line."""
        while level > 1 and all(self.hierarchy.labels[row][level - 1] == label for row in rows):
            level -= 1
        return level

    def _grow(self, tree: Tree, rows: Sequence[int], level: int, width: int, options: ConsoleOptions, depth: int = 1) -> None:
        groups = self._groups(rows, level)
        for label, group in [*groups.items()][:width]:
            lowest = self._lowest(label, group, level)
            branch = tree.add(self._line(label, group, lowest, options))
            if lowest > 1 and depth < _DEEPEST:
                self._grow(branch, group, lowest - 1, width, options, depth + 1)
            elif lowest > 1:
                branch.add(_text(f"... {lowest - 1:,} more levels", options, "dim"))
        rest = [row for group in [*groups.values()][width:] for row in group]
        if rest:
            tree.add(_text(f"... {len(groups) - width:,} more: {self._size(rest)}", options, "dim"))

    def _line(self, label: str, rows: Sequence[int], level: int, options: ConsoleOptions) -> Text:
        line = _text(label or '""', options)
        if level:
            line.append_text(_text(f"  {self._size(rows)}", options, "dim"))
        if level == 1:
            values = [self.hierarchy.labels[row][0] for row in rows[:_SHOWN_VALUES]]
            more = ", ..." if len(rows) > len(values) else ""
            line.append_text(_text(f": {', '.join(values)}{more}", options, "dim"))
        return line

    def _size(self, rows: Sequence[int]) -> str:
        values = f"{len(rows):,} {'value' if len(rows) == 1 else 'values'}"
        return values if self.records is None else f"{values}, {sum(self.records[row] for row in rows):,} records"


def _text(text: str, options: ConsoleOptions, style: str = "") -> Text:
    """Return literal text, in characters that the output can hold."""
    shown = visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
    written = shown.encode(options.encoding, "backslashreplace").decode(options.encoding)
    return Text(written, style, no_wrap=True, overflow="crop" if options.ascii_only else "ellipsis")
