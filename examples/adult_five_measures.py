"""What do five privacy measures cost in time and data quality? Keys of a few sizes."""  # noqa: INP001

from __future__ import annotations

from rich.console import Console

from unveil.reproduce.experiments import five_measures

# without arguments: keys of all sizes, and several k and l; that takes about half a minute
Console().print(five_measures.run(sizes=[1, 3], parameters=[]))
