"""One name for one thing, small functions and modules, and rooms that keep to each other's front doors."""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from io import StringIO
from itertools import chain
from pathlib import Path
from tokenize import COMMENT, generate_tokens

import pytest

import unveil

HOME = Path(unveil.__file__).parent
ROOMS = sorted(place.parent.name for place in HOME.glob("*/__init__.py"))


@cache
def modules() -> dict[Path, ast.Module]:
    """Return the modules of the package by their files; read once, by the tests and not when they are collected."""
    gc.disable()  # millions of nodes, none of which is garbage
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(HOME.rglob("*.py"))}
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _forgotten_at_the_end() -> Iterator[None]:
    yield
    modules.cache_clear()
    imports.cache_clear()


def public_classes() -> dict[str, list[str]]:
    """Return the modules of every public class, by its name."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(HOME)))
    return places


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: modules for name, modules in public_classes().items() if len(modules) > 1}
    assert shared == {}


MOST_PARAMETERS = 8
COMPILED = ("njit", "compiled", "vectorize")
"""What marks a compiled loop, which may be longer than other functions and take more."""
MARKS = ("checked_arguments", "command", "overload", *COMPILED)
"""What marks a public call, a verb of the command line, a form of a public call or a compiled loop: these may take more."""


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the functions below a node, but those of public classes, which are doors."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef):
            yield inner
        if not (isinstance(inner, ast.ClassDef) and inner.name in unveil.__all__):
            yield from _functions(inner)


def parameters(function: ast.FunctionDef) -> int:
    """Return how many parameters a function takes."""
    arguments = function.args
    named = [
        one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if one.arg not in ("self", "cls")
    ]
    return len(named) + (arguments.vararg is not None) + (arguments.kwarg is not None)


def test_no_inner_function_takes_more_than_eight_parameters() -> None:
    crowded = [
        (f"{path.relative_to(HOME)}: {function.name}", parameters(function))
        for path, tree in modules().items()
        for function in _functions(tree)
        if parameters(function) > MOST_PARAMETERS
        and not any(mark in ast.unparse(one) for one in function.decorator_list for mark in MARKS)
    ]
    assert crowded == []


LONGEST_MODULE = 450
LONGEST_FUNCTION = 50


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Return how many lines of code a function has, from `def` on: no docstring, blank line or comment."""
    first = function.body[0]
    docstring = range(first.lineno, (first.end_lineno or 0) + 1) if ast.get_docstring(function, clean=False) is not None else ()
    code = [at for at in range(function.lineno, (function.end_lineno or 0) + 1) if at not in docstring]
    return sum(bool(lines[at - 1].strip()) and not lines[at - 1].lstrip().startswith("#") for at in code)


def test_no_module_is_longer_than_450_lines() -> None:
    lengths = {str(path.relative_to(HOME)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_no_function_has_more_than_50_lines_of_code() -> None:
    lengths = [
        (f"{path.relative_to(HOME)}: {node.name}", code_lines(node, path.read_text(encoding="utf-8").splitlines()))
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any(mark in ast.unparse(one) for one in node.decorator_list for mark in COMPILED)
    ]
    assert [(name, length) for name, length in lengths if length > LONGEST_FUNCTION] == []


LONGEST_WITHOUT_COMMENT = 14


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any(mark in ast.unparse(one) for one in function.decorator_list for mark in COMPILED)


def test_a_compiled_loop_says_what_its_phases_do() -> None:
    silent = []
    for path, tree in modules().items():
        loops = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _is_compiled(node)]
        if loops:
            tokens = generate_tokens(StringIO(path.read_text(encoding="utf-8")).readline)
            comments = {one.start[0] for one in tokens if one.type == COMMENT and "noqa" not in one.string}
            for node in loops:
                first = node.body[ast.get_docstring(node) is not None].lineno
                body = range(first, (node.end_lineno or 0) + 1)
                if len(body) > LONGEST_WITHOUT_COMMENT and not comments & set(body):
                    silent.append(f"{path.relative_to(HOME)}: {node.name}")
    assert silent == []


def _imports(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules of this package that a module imports, without the package's name, and the names taken from each."""
    for node in ast.walk(modules()[path]):
        if isinstance(node, ast.Import):
            yield from ((one.name.removeprefix("unveil."), ()) for one in node.names if one.name.startswith("unveil."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unveil."):
            module = (node.module or "").removeprefix("unveil.")
            yield module, tuple(one.name for one in node.names)
            yield from (
                (f"{module}.{one.name}", ())
                for one in node.names
                if _is_module(f"{module}.{one.name}") and one.name not in (door(module) if module in ROOMS else ())
            )


def _is_module(name: str) -> bool:
    place = HOME.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def door(room: str) -> dict[str, str]:
    """Return the names that a room's front door takes from the room's modules, each with its module: what type checkers read."""
    place = f"unveil.{room}."
    body = modules()[HOME / room / "__init__.py"].body
    return {
        one.name: (node.module or "").removeprefix(place)
        for node in chain(body, *(part.body for part in body if isinstance(part, ast.If)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(place)
        for one in node.names
    }


def loaded_later(room: str) -> dict[str, str]:
    """Return the names that a room's front door loads when they are first used, each with its module: what is run."""
    calls = [
        node
        for node in ast.walk(modules()[HOME / room / "__init__.py"])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazily"
    ]
    return {name: home for call in calls for home, names in ast.literal_eval(call.args[1]).items() for name in names}


@cache
def imports() -> list[tuple[Path, str, tuple[str, ...]]]:
    """Return what every module takes from which module."""
    return [(path, module, names) for path in modules() for module, names in _imports(path)]


DATA_SETS = "sources.datasets"
"""A module that is public as it is."""


def _is_namesake(module: str, names: tuple[str, ...]) -> bool:
    """Say whether a module is taken from for nothing but the function it is called after, which its room's door would hide."""
    return names == (module.rpartition(".")[2],)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_reaches_past_the_front_door_of_another(room: str) -> None:
    """Who needs more names it in the room's `__init__`."""
    private, past = [], []
    for path, module, names in imports():
        if module.partition(".")[0] == room and not path.is_relative_to(HOME / room):
            place = str(path.relative_to(HOME))
            private += [f"{place}: {module}.{name}" for name in names if name.startswith("_")]
            if "." in module and module != DATA_SETS and not _is_namesake(module, names):
                past.append(f"{place}: {module}")
    assert not private
    assert past == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_front_door_loads_what_it_says_it_has(room: str) -> None:
    names, later = door(room), loaded_later(room)
    assert {name: home for name, home in names.items() if name in later} == later
    front = import_module(f"unveil.{room}")
    for name, home in names.items():
        assert getattr(front, name) is getattr(import_module(f"unveil.{room}.{home}"), name), name


@pytest.mark.parametrize("room", ROOMS)
def test_a_front_door_has_nothing_that_nobody_takes(room: str) -> None:
    taken = {
        name for path, module, names in imports() if module == room and not path.is_relative_to(HOME / room) for name in names
    }
    public = {*getattr(import_module(f"unveil.{room}"), "__all__", ())}
    assert {*loaded_later(room)} - taken - public == set()


ON_PURPOSE = {
    ("tables.crosstable", "tables.suppression.suppress"): (
        "a table has the method that suppresses its cells, and that takes a table of costs, too: the method is one call, while a "
        "base class without it would be what every rule, attack and perturbation is typed with"
    ),
}
"""Modules that import each other inside functions, and why."""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")


def _run_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that are run, inside functions, too: all but those for type checkers."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.unparse(inner.test):
            continue
        if isinstance(inner, ast.Import | ast.ImportFrom):
            yield inner
        yield from _run_imports(inner)


def _needed(tree: ast.AST) -> set[str]:
    """Return the modules that a module imports when it runs; of a name, the module that has it."""
    needed: set[str] = set()
    for node in _run_imports(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unveil."):
            home = (node.module or "").removeprefix("unveil.")
            needed |= {f"{home}.{one.name}" if _is_module(f"{home}.{one.name}") else home for one in node.names}
        elif isinstance(node, ast.Import):
            needed |= {one.name.removeprefix("unveil.") for one in node.names if one.name.startswith("unveil.")}
    return needed


def test_modules_import_each_other_only_on_purpose() -> None:
    needs = {_module(path): _needed(tree) for path, tree in modules().items()}

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [*needs[start]]
        while waiting:
            if (one := waiting.pop()) in needs and one not in seen:
                seen.add(one)
                waiting += needs[one]
        return seen

    within = {name: seen for name in needs if name in (seen := reached(name))}
    cycles = {
        tuple(sorted(other for other in within if other in seen and name in within[other])) for name, seen in within.items()
    }
    assert cycles == set(ON_PURPOSE)
