"""How far do 10-anonymity and 10-diversity hide the occupation? The thesis's homogeneity attack on Adult."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import homogeneity

Console().print(homogeneity.run())
