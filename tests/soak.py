"""Twenty tabs that click for minutes: `make soak` shows whether the app errs or grows.

The server is the command itself, in a process of its own, so that its memory can be read. Every tab goes through the screens and
changes roles, toggles, levels and filters. An answer that is no page, a message of an unexpected failure, an error in the browser's console,
or memory that has grown by a tenth after the first fifth of the time ends it with exit code 1.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from browsing import chromium, until

_PAGES = (
    "open", "open?masked=1", "columns", "columns?show=key", "exposure", "exposure?asked=1&c=c0&c=c3&c=c9", "meaning",
    "meaning?column=c0&rule=intervals", "rules", "protect", "protect?explore=1&level-c0=2", "tables", "questions", "watch", "drift",
)  # fmt: skip
_GROWTH = 1.10


def resident(process: int) -> int:
    """Return the kilobytes of memory that a process holds."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def clicked(browser: Any, address: str, chance: random.Random) -> None:
    """Do something that a person does on the page that is shown."""
    choice = chance.random()
    if choice < 0.4:
        browser.get(f"{address}/{chance.choice(_PAGES)}")
        return
    boxes = browser.find_elements("css selector", "input[name=c], .choice input, select, a[data-swap], summary")
    shown = [box for box in boxes if box.is_enabled()]
    if shown:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", chance.choice(shown))


def soak(minutes: float, tabs: int) -> list[str]:
    """Let tabs click, and return what went wrong."""
    chance, problems = random.Random(1), []  # noqa: S311 - clicks
    command = [sys.executable, "-c", "from unveil.cli import main; main()", "app", "adult", "--no-browser"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server,
        chromium() as browser,
    ):
        assert server.stdout is not None
        entrance = server.stdout.readline().strip()
        address = entrance.partition("/?")[0]
        browser.get(entrance)
        until(lambda: "token" not in browser.current_url)
        browser.get(f"{address}/columns")
        until(lambda: browser.find_elements("css selector", "article.column"), 60)
        for _ in range(tabs - 1):
            browser.switch_to.new_window("tab")
            browser.get(f"{address}/exposure")
        start, settled, clicks = time.monotonic(), 0, 0
        while (passed := time.monotonic() - start) < 60 * minutes:
            browser.switch_to.window(chance.choice(browser.window_handles))
            try:
                clicked(browser, address, chance)
                if "This did not work" in browser.page_source or "nexpected failure" in browser.page_source:
                    problems.append(f"a failure at {browser.current_url}")
            except Exception as problem:  # noqa: BLE001 - an element that a swap has replaced is none of ours
                if "stale" not in str(problem):
                    problems.append(f"{type(problem).__name__} at {browser.current_url}")
            clicks += 1
            settled = settled or (resident(server.pid) if passed > 12 * minutes else 0)
        grown = resident(server.pid)
        severe = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        problems += severe + ([f"memory grew from {settled:,} to {grown:,} KB"] if settled and grown > _GROWTH * settled else [])
        sys.stdout.write(f"{clicks:,} clicks in {tabs} tabs; memory {settled:,} KB, then {grown:,} KB\n")
        server.terminate()
    return problems


def main() -> None:
    """Run it: minutes and tabs may be named."""
    minutes, tabs = (float(sys.argv[1]) if len(sys.argv) > 1 else 5.0), (int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    problems = soak(minutes, tabs)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems) or "no error\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
