"""How far do 10- and 15-anonymity hide the original attributes? The thesis's identity attack on Adult."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import identity

Console().print(identity.run())
