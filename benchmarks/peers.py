"""Other tools, each in a virtual environment of its own, made when first needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["peer"]

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
