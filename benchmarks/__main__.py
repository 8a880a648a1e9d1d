"""Run every benchmark and print one table of ratios with their goals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import attacks, engines, foundation, mechanisms, models, privacy_mechanisms, recoding, scale, search, utility


def main() -> None:
    """Run the benchmarks; with a path as argument write the figures there as JSON too."""
    rows = [
        *foundation.run(),
        *engines.run(),
        *models.run(),
        *mechanisms.run(),
        *privacy_mechanisms.run(),
        *attacks.run(),
        *utility.run(),
        *search.run(),
        *scale.run(),
        *recoding.run(),
    ]
    table = Table("what", "measured", "goal", "met", title="unveil, against what one would do instead")
    for row in rows:
        table.add_row(row.what, row.measured, row.goal, "yes" if row.met else "NO")
    Console().print(table)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps([row.to_dict() for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
