"""The command line: one verb per job, each a thin door onto one public function.

Results go to standard output, progress and complaints to standard error. Exit codes: 0 done, 1 a policy or model is not met, and
nothing else, 2 bad usage, bad input or no room (one line, no traceback), 3 an unexpected failure (one line; the traceback with
`--debug`), 130 interrupted, 143 terminated.
"""

from __future__ import annotations

from unveil.cli.process import main, run

__all__ = ["main", "run"]
