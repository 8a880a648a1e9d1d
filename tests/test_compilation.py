"""What was compiled is kept, and a file of it that cannot be read costs the time of compiling again, and nothing else."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import FunctionCache

from unveil.compilation import compiled


def doubled(number: int) -> int:
    return number * 2


@pytest.mark.parametrize("error", [OSError, EOFError, pickle.UnpicklingError, ModuleNotFoundError, AttributeError])
def test_what_another_version_has_kept_is_compiled_again(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: Any) -> None:
        raise error

    monkeypatch.setattr(FunctionCache, "load_overload", unreadable)
    monkeypatch.setattr(FunctionCache, "save_overload", unreadable)
    assert compiled(doubled)(21) == 42


def test_what_is_compiled_is_kept_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert compiled(doubled)(21) == 42
    assert [file.suffix for file in sorted(tmp_path.rglob("*.nb*"))] == [".nbc", ".nbi"]
    again = compiled(doubled)
    assert again(4) == 8
    assert again.stats.cache_hits
    next(tmp_path.rglob("*.nbc")).write_bytes(b"damaged")
    assert compiled(doubled)(5) == 10
