"""Other tools, each in a virtual environment of its own, made when first needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["peer", "printed"]

_FOLDER = Path("build/peers")


def peer(name: str, *packages: str) -> Path:
    """Return the Python of a virtual environment that holds the packages."""
    home = _FOLDER / name
    python = home / "bin" / "python"
    if not (home / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)  # noqa: S603
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)  # noqa: S603
        (home / ".installed").touch()
    return python.absolute()


def printed(packages: tuple[str, ...], code: str, *arguments: str, timeout: float | None = None) -> list[str] | None:
    """Run code in the environment of a tool, the first package, and return the words of its last line; None if it fails.

    Raises
    ------
    TimeoutExpired
        If it takes longer than `timeout` seconds.
    """
    try:
        command = [str(peer(packages[0], *packages)), "-c", code, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout)  # noqa: S603
    except subprocess.CalledProcessError as error:
        print(f"{packages[0]}: {(error.stderr or str(error)).strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return done.stdout.splitlines()[-1].split()
