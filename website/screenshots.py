"""Pictures of every screen of the app for the documentation: `make screenshots` writes them into docs/pictures.

The way is that of a steward: a file of patients with names in it, its columns decided, protected, attacked, judged. Every screen
gets its picture, at 1280 pixels in light; `--all` adds dark, and 390 and 2560 pixels, in build/screenshots, to look at.
"""  # noqa: INP001

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from browsing import chromium, coloured, enter, served, until
from desks import finish, opened, posted
from unveil.app.screens import SCREENS
from unveil.app.state import Desk

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_SIZES = {390: 844, 1280: 860, 2560: 1440}
_ROLES = {
    "patient": "person",
    "name": "identifier",
    "postcode": "key",
    "age": "key",
    "sex": "key",
    "occupation": "key",
    "diagnosis": "sensitive",
    "bill": "keep",
}
_PLACES = {"meaning": "meaning?column=c6&rule=", "exposure": "exposure?asked=1&c=c2&c=c3&c=c4&c=c5&about=c6"}
_QUESTION = "SELECT COUNT(*) FROM data WHERE postcode = 75001 GROUP BY sex"
_PENSION = 66
_SCROLLS = {
    "meaning": "document.querySelector('#edit-0').open = true; document.querySelector('#groups-title').scrollIntoView()",
    "protect": "document.querySelector('#tried-title').scrollIntoView()",
    "tables": "document.querySelector('[aria-label=\"The table\"]').scrollIntoView()",
}
_SECRETS = {"flu": 9, "asthma": 6, "diabetes": 5, "depression": 3, "lung cancer": 2, "HIV": 1}
_JOBS = {"retired": 5, "clerk": 5, "nurse": 4, "teacher": 3, "driver": 3, "farmer": 1}


def patients(folder: Path) -> Path:
    """Write a file of people who do not exist."""
    chance = random.Random(4)  # noqa: S311 - a picture
    first, last = "Ann Bob Cid Dee Eve Fay Gus Hal Ida Jon".split(), "Abel Bloch Carr Dunn Ekman Fox Gray Holm Iles Jost".split()  # noqa: SIM905
    lines = ["patient,name,postcode,age,sex,occupation,diagnosis,bill"]
    for number in range(311):
        age = min(89, max(19, round(chance.gauss(52, 17))))
        secret = chance.choices(list(_SECRETS), list(_SECRETS.values()))[0]
        work = chance.choices(list(_JOBS), list(_JOBS.values()))[0] if age < _PENSION else "retired"
        place = chance.choices((75001, 75002, 75011, 75018, 92100, 93200), (6, 5, 4, 3, 2, 1))[0]
        name = f"{chance.choice(first)} {chance.choice(last)}"
        bill = 80 + 20 * chance.randint(0, 40)
        lines.append(f"P{number:04},{name},{place},{age},{chance.choice('fm')},{work},{secret},{bill}")
    path = folder / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def gone_the_way(folder: Path) -> Desk:
    """Open the file, and go the whole way with it."""
    desk, clicks = opened(folder, str(patients(folder)))
    desk.change_attributes({name: {"role": role} for name, role in _ROLES.items()}, "roles")
    groups = "common; flu; asthma\nchronic; diabetes; depression\nsevere; lung cancer; HIV"
    posted(clicks, "/meaning/groups", column=desk.code("diagnosis"), name="severity", lines=groups)
    posted(clicks, "/meaning/build", column=desk.code("age"), rule="intervals", steps="5, 10, 20")
    ways = ["mondrian", "generalise", "local", "suppress"]
    finish(desk, clicks, by=["occupation", "diagnosis"], question=_QUESTION, target="diagnosis", ways=ways)
    return desk


def taken(browser: Any, address: str, width: int, scheme: str, target: Path) -> None:
    """Take a picture of a page."""
    coloured(browser, scheme)
    size = {"width": width, "height": _SIZES[width], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    until(lambda: not browser.find_elements("css selector", "[data-stream]"), 120)
    target.parent.mkdir(parents=True, exist_ok=True)
    for name, script in _SCROLLS.items():
        if f"/{name}" in address:
            browser.execute_script(script)
    browser.save_screenshot(str(target))


def main() -> None:
    """Take the pictures; screens may be named."""
    named = [word for word in sys.argv[1:] if not word.startswith("-")]
    modes = [(width, scheme) for width in _SIZES for scheme in ("light", "dark")] if "--all" in sys.argv else [(1280, "light")]
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as private, chromium() as browser:
        folder = Path(private) / "hospital"
        folder.mkdir()
        os.chdir(folder)
        desk = gone_the_way(folder)
        with served(desk) as address:
            enter(browser, address)
            for screen in SCREENS:
                if named and screen.name not in named:
                    continue
                for width, scheme in modes:
                    place = f"{address}/{_PLACES.get(screen.name, screen.name)}"
                    kept = (width, scheme) == (1280, "light")
                    target = PICTURES / f"app-{screen.name}.png"
                    aside = here / "build/screenshots" / f"{screen.name}-{width}-{scheme}.png"
                    taken(browser, place, width, scheme, target if kept else aside)
                sys.stdout.write(f"{screen.name}\n")


if __name__ == "__main__":
    main()
