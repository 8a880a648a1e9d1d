"""Every page's Python examples run in a folder of their own that holds the files the page shows."""  # noqa: INP001

from __future__ import annotations

import re
from pathlib import Path

import pytest

_FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block such as ```csv people.csv, which tests/test_docs.py reads the same way."""


@pytest.fixture(autouse=True)
def _folder_of_the_page(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, body in _FILE.findall(request.node.path.read_text("utf-8")):
        tmp_path.joinpath(name).write_text(body, "utf-8")
    monkeypatch.chdir(tmp_path)
