"""How well do protected releases still tell the income? The thesis's utility of Adult."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import income

Console().print(income.run())
