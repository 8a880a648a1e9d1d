"""Compiled loops: the compiler is loaded when one is needed, array operations give the same, and a warm-up misses none."""

from __future__ import annotations

import ast
import gc
import itertools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.compiler import Compiler

import unveil
from unveil import warm_up
from unveil.cli import run
from unveil.compilation import LOOPS, Pace, compiled, compiled_in_place, compiled_within, loops_at_once
from unveil.search.lattice import class_table, rollup
from unveil.search.lattice.capacity import Capacity


@compiled_in_place
def doubled(number: Any) -> Any:
    return 2 * number


@compiled
def summed(numbers: Any) -> Any:
    total = 0
    for number in numbers:
        total += doubled(number)
    return total


def test_a_loop_calls_another_and_takes_its_own_place() -> None:
    loop, numbers = summed, np.arange(5)
    assert loop(numbers) == summed(numbers) == 20
    assert loop is not summed
    assert loop.is_compiled


def test_the_compiler_is_not_loaded_for_a_small_table(tmp_path: Path) -> None:
    words = ["anonymize", "adult", "--key", "age", "--key", "sex", "--key", "race", "--k", "5", "--suppression", "0.04"]
    program = f"import sys; from unveil.cli import run; assert run({[*words, '--out', str(tmp_path / 'r.csv')]!r}) == 0; "
    program += "print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")


def test_it_is_loaded_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    pace = Pace()
    assert not pace.pays(1_000_000)
    assert pace.pays(10_000_000)
    assert pace.pays(1)


@compiled
def halved(number: Any) -> Any:
    return number / 2


def test_a_loop_that_is_not_kept_is_compiled_once_that_pays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loop = halved
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    one, other = Pace(loop), Pace(loop, loads=False)
    assert [one.pays(1), other.pays(1), one.pays(10_000_000)] == [False, False, True]
    with loops_at_once():
        assert other.pays(1)
    assert not other.pays(1)
    assert loop(3) == 1.5
    assert one.pays(0)
    assert other.pays(1)
    assert Pace(compiled(loop.loop)).pays(1), "what an earlier run has compiled is kept"
    monkeypatch.delitem(sys.modules, "numba")
    assert not Pace(loop, loads=False).pays(10_000_000)


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_a_loop_is_compiled(enabled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at_work, untouched = [], Compiler.compile_extra

    def noted(*of: Any) -> Any:
        at_work.append(gc.isenabled())
        return untouched(*of)  # type: ignore[no-untyped-call]

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Compiler, "compile_extra", noted)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert compiled(lambda number: number + 1)(1) == 2
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert at_work == [False]


@compiled_within
def tripled(number: Any) -> Any:
    return 3 * number


@compiled
def tripled_sum(numbers: Any) -> Any:
    total = 0
    for number in numbers:
        total += tripled(number)
    return total


def test_a_loop_within_others_is_refused_to_python() -> None:
    inner = tripled
    with pytest.raises(TypeError, match="tripled is called by other compiled loops only"):
        inner(1)
    assert tripled_sum(np.arange(5)) == 30
    with pytest.raises(TypeError, match="called by other compiled loops only"):
        inner(1)
    assert inner.is_compiled


def test_loops_within_others_are_named_by_loops_only() -> None:
    """Python would call nothing there, and end."""
    package = Path(unveil.__file__).parent
    texts = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    homes = {path.stem for path, text in texts.items() if "@compiled_within" in text}
    modules = {path: ast.parse(text) for path, text in texts.items() if path.stem in homes or any(home in text for home in homes)}
    marks = {
        (path, one.name): {getattr(mark, "id", "") for mark in one.decorator_list}
        for path, module in modules.items()
        for one in module.body
        if isinstance(one, ast.FunctionDef)
    }
    within = {name for name, mark in marks.items() if "compiled_within" in mark}
    assert within
    for path, module in modules.items():
        own = {name for where, name in within if where == path}
        for one in module.body:
            if isinstance(one, ast.FunctionDef) and any(mark.startswith("compiled") for mark in marks[path, one.name]):
                continue
            named = {some.id for some in ast.walk(one) if isinstance(some, ast.Name)}
            brought = {some.name for some in ast.walk(one) if isinstance(some, ast.alias)}
            assert not named & own, path
            if any(isinstance(some, ast.ImportFrom) and str(some.module).endswith("kernels") for some in ast.walk(one)):
                assert not brought & {name for _, name in within}, path


class Never(Pace):
    def pays(self, steps: int) -> bool:  # noqa: ARG002
        return False


class Always(Pace):
    def pays(self, steps: int) -> bool:  # noqa: ARG002
        return True


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 60), wide=st.booleans())
def test_array_operations_do_what_the_loops_do(seed: int, rows: int, wide: bool) -> None:
    """Keys merged, numbered and summed up: the same rows in the same order, and sums equal to the last bit."""
    random = np.random.default_rng(seed)
    sizes = [1 << 40, 1 << 40, 4] if wide else [8, 5, 4]
    codes = [random.integers(0, min(size, 8), rows) for size in sizes]
    fields = class_table.fields_of(sizes)
    keys = class_table.packed(codes, fields, rows)
    amounts = random.integers(1, 9, (rows, 2)).astype(np.int32)
    table, groups = class_table.ClassTable(keys, amounts), random.integers(0, 3, 8).astype(np.uint64)
    costs, chosen = [random.random(8) for _ in sizes], random.random(rows) < 0.5
    found = []
    for pace in (Never(), Always()):
        merged = rollup.Merger(amounts, len(keys), pace=pace).merged(table, fields[0], groups).copy()
        of_row, first = rollup.classes_of(keys, fields[:2], pace)
        found.append((merged.keys, merged.amounts, of_row, first, rollup.code_sums(table, fields, costs, chosen, pace)))
    one, other = found
    assert all(np.array_equal(a, b) for a, b in zip(one[0], other[0], strict=True))
    assert one[1].dtype == other[1].dtype
    assert all(np.array_equal(a, b) for a, b in zip(one[1:4], other[1:4], strict=True))
    assert one[4][0] == other[4][0]
    assert one[4][1].tolist() == other[4][1].tolist()


@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize("pace", [Never(), Always()])
@pytest.mark.parametrize("few", [0, 6, 1000])
def test_the_classes_of_every_node_are_those_of_its_codes(pace: Pace, few: int, many: int) -> None:
    """Rolled up step by step, in one go, or partly so, in any order of asking; where there are many rows, in one pass each."""
    capacity = Capacity(few_rows=few, many_rows=many, first_room=3, much_smaller=2, share_kept=1 + few % 2)
    options: dict[str, Any] = {"distinct": True, "capacity": capacity, "pace": pace}
    random = np.random.default_rng(few)
    levels = [
        [np.arange(8), np.arange(8) // 3, np.zeros(8, int)],
        [np.arange(3), np.zeros(3, int)],
        [np.arange(5), np.arange(5) // 2],
    ]
    codes = list(np.unique(random.integers(0, [8, 3, 5], (40, 3)), axis=0).T)
    amounts = random.integers(1, 9, (len(codes[0]), 2)).astype(np.int32)
    rolled = rollup.RollUp(codes, [8, 3, 5], amounts, levels, **options)
    nodes = [*itertools.product(range(3), range(2), range(2))]
    for at in random.permutation(len(nodes)).tolist() * 2:
        expected: dict[tuple[int, ...], list[int]] = {}
        for row in range(len(amounts)):
            key = tuple(int(one[level][code[row]]) for one, level, code in zip(levels, nodes[at], codes, strict=True))
            expected[key] = [a + b for a, b in zip(expected.get(key, [0, 0]), amounts[row].tolist(), strict=True)]
        table = rolled.table(nodes[at])
        keys = zip(*(table.codes(field).tolist() for field in rolled.fields), strict=True)
        assert list(zip(keys, table.amounts.tolist(), strict=True)) == list(expected.items())
        assert rolled.table_within(nodes[at], len(expected)) is not None
        if many == 1:
            fresh = rollup.RollUp(codes, [8, 3, 5], amounts, levels, **options)
            assert fresh.table_within(nodes[at], len(expected) - 1) is None


def test_the_classes_of_very_many_rows_are_numbered_as_a_table_over_their_codes_says() -> None:
    """A hash table of so many rows has fewer slots for each."""
    rows = np.arange((1 << 20) + 3) * 7919
    fields = class_table.fields_of([1000, 3000])
    keys = class_table.packed([rows % 1000, rows % 3000], fields, len(rows))
    of_row, first = rollup.classes_of(keys, fields, Always())
    assert np.array_equal(first, np.arange(3000))
    assert np.array_equal(of_row, np.arange(len(rows)) % 3000)


def test_the_warm_up_compiles_every_loop_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    homes = {
        str(path.relative_to(Path(unveil.__file__).parent).with_suffix("")).replace("/", ".")
        for path in Path(unveil.__file__).parent.rglob("*.py")
        if "\n@compiled" in path.read_text(encoding="utf-8")
    }
    assert homes == set(warm_up.HOMES)
    assert run(["warm-up"]) == 0
    assert "compiled loops" in capsys.readouterr().out
    own = [loop for loop in LOOPS if loop.__module__.startswith("unveil.")]
    assert [f"{loop.__module__}.{loop.__name__}" for loop in own if not loop.is_compiled] == []


def _doubled(number: int) -> int:
    return number * 2


@pytest.mark.parametrize("error", [OSError, EOFError, pickle.UnpicklingError, ModuleNotFoundError, AttributeError])
def test_what_another_version_has_kept_is_compiled_again(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import FunctionCache

    def unreadable(*_: Any) -> None:
        raise error

    monkeypatch.setattr(FunctionCache, "load_overload", unreadable)
    monkeypatch.setattr(FunctionCache, "save_overload", unreadable)
    assert compiled(_doubled)(21) == 42
