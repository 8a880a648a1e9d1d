"""One name for one thing: no two public classes of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import unveil

HOME = Path(unveil.__file__).parent


def public_classes() -> dict[str, list[str]]:
    """Return the modules of every public class, by its name."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(HOME)))
    return places


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: modules for name, modules in public_classes().items() if len(modules) > 1}
    assert shared == {}


MOST_PARAMETERS = 8
MARKS = ("checked_arguments", "command", "overload", "njit", "compiled", "vectorize")
"""What marks a public call, a verb of the command line, a form of a public call, and a compiled loop: these may take more."""


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
        for path in sorted(HOME.rglob("*.py"))
        for function in _functions(ast.parse(path.read_text(encoding="utf-8")))
        if parameters(function) > MOST_PARAMETERS
        and not any(mark in ast.unparse(one) for one in function.decorator_list for mark in MARKS)
    ]
    assert crowded == []
