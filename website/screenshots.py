"""Pictures of every screen of the app for the documentation: `make screenshots` writes them into docs/pictures.

The way is that of a steward: a file of patients with names in it, its columns decided, and what is left to see. Every screen that
there is gets its picture, at 1280 pixels in light; `--all` adds dark, and 390 and 2560 pixels, for looking at.
"""  # noqa: INP001

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from browsing import TOKEN, chromium, coloured, served, until
from unveil.app.look import looking
from unveil.app.screens import SCREENS
from unveil.app.state import Desk

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_SIZES = {390: 844, 1280: 860, 2560: 1440}
_ROLES = {"patient": "identifier", "name": "identifier", "zip": "key", "born": "key", "sex": "key", "diagnosis": "sensitive"}


def patients(folder: Path) -> Path:
    """Write a file of people who do not exist."""
    chance = random.Random(4)  # noqa: S311 - a picture
    first, last = "Ann Bob Cid Dee Eve Fay Gus Hal Ida Jon".split(), "Abel Bloch Carr Dunn Ekman Fox Gray Holm Iles Jost".split()  # noqa: SIM905
    lines = ["patient,name,zip,born,sex,diagnosis,income"]
    for number in range(311):
        born = chance.randint(1938, 2004)
        secret = chance.choices(("flu", "asthma", "diabetes", "cancer", "?"), (5, 3, 3, 1, 1))[0]
        place = chance.choice((75001, 75002, 75011, 75018, 92100, 93200))
        name = f"{chance.choice(first)} {chance.choice(last)}"
        lines.append(f"P{number:04},{name},{place},{born},{chance.choice('fm')},{secret},{chance.randint(14, 90)}000")
    path = folder / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def taken(browser: Any, address: str, name: str, width: int, scheme: str, target: Path) -> None:
    """Take a picture of a page."""
    coloured(browser, scheme)
    size = {"width": width, "height": _SIZES[width], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(f"{address}/{name}")
    until(lambda: not browser.find_elements("css selector", "[data-stream]"), 120)
    browser.save_screenshot(str(target))


def main() -> None:
    """Take the pictures."""
    modes = [(1280, "light")]
    if "--all" in sys.argv:
        modes = [(width, scheme) for width in _SIZES for scheme in ("light", "dark")]
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        desk = Desk(Path(folder), private=Path(folder))
        with served(desk) as address:
            browser.get(f"{address}/?token={TOKEN}")
            desk.open(str(patients(Path(folder))))
            until(lambda: not looking(desk).running, 60)
            desk.change_attributes({name: {"role": role} for name, role in _ROLES.items()}, "roles")
            for screen in SCREENS:
                for width, scheme in modes:
                    more = "" if (width, scheme) == (1280, "light") else f"-{scheme}-{width}"
                    folder_of = PICTURES if not more else Path("build/screenshots")
                    folder_of.mkdir(parents=True, exist_ok=True)
                    taken(browser, address, screen.name, width, scheme, folder_of / f"app-{screen.name}{more}.png")
                sys.stdout.write(f"{screen.name}\n")


if __name__ == "__main__":
    main()
