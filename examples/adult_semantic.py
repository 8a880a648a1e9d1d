"""Can a 0.3-close release tell more than a 10-diverse one? The thesis's semantic Discrimination Rate on Adult."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import semantic

Console().print(semantic.run())
