"""Which records did the thesis use? Its counts beside those of the built-in Adult."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import records

Console().print(records.run())
