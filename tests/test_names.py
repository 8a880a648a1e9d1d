"""One name for one thing: no two public classes of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
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
