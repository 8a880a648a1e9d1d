"""Run the benchmarks, all or those named, and print one table of ratios with their goals."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.page import write_page
from benchmarks.record import LATEST, STORED, Record, accept, read, recorded, slow_downs, write

PARTS = (
    "foundation", "first_use", "alternatives", "growth", "engines", "models", "mechanisms", "privacy_mechanisms", "sdcmicro",
    "attacks", "synthetic", "utility", "search", "recoding", "tables", "large_tables", "queries", "scale", "streams", "large",
    "distinct", "lattices", "coverage", "intruders", "dp_synthesis", "app",
)  # fmt: skip
"""The parts: each is a module of this package with a function `run`."""
_ON_REQUEST = ("tables", "large_tables", "large", "distinct", "lattices", "coverage", "intruders", "dp_synthesis", "app")
"""The parts that run only when they are named."""
_WIDTH = 160
"""The width of the table when it is printed into a file."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the figures, or accept those of the last run, or write the page."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.store:
        write(STORED, _in_order(accept(read(LATEST), read(STORED))))
    if options.store or options.page:
        write_page(read(STORED))
        return
    measured: dict[str, Record] = {}
    for part in options.parts or [part for part in PARTS if part not in _ON_REQUEST]:
        measured[part] = recorded(import_module(f"benchmarks.{part}").run())
        write(LATEST, measured)
    _show(measured, read(STORED))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure unveil against what one would do instead.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--store", action="store_true", help=f"accept the figures of the last run, in {LATEST}; write the page")
    either.add_argument("--page", action="store_true", help="write docs/speed.md and docs/speed.svg from the accepted figures")
    return parser


def _in_order(parts: Mapping[str, Record]) -> dict[str, Record]:
    return {part: parts[part] for part in PARTS if part in parts}


def _show(measured: Mapping[str, Record], stored: Mapping[str, Record]) -> None:
    """Print the table, and below it what has become slower."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    words = {True: "yes", False: "NO", None: ""}
    table = Table("what", "measured", "goal", "met", title="unveil, against what one would do instead")
    for record in measured.values():
        for row in record["rows"]:
            table.add_row(escape(row["what"]), escape(row["measured"]), row["goal"], words[row["met"]])
        table.add_section()
    console.print(table)
    for line in slow_downs(measured, stored):
        console.print(f"over 30 % worse than stored: {line}", markup=False)


if __name__ == "__main__":
    main()
