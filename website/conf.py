"""How the documentation becomes a site: the pages of docs/ as they are, and a reference made from the code."""  # noqa: INP001

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import unveil

_CALLABLE_ROOMS = {"utility": "unveil.utility.needs", "assess": "unveil.assess.assessment"}
"""Rooms that are called as a function, and where the function lives."""

project = "unveil"
copyright = "the unveil authors, Apache-2.0"  # noqa: A001 - Sphinx's own name
version = release = unveil.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["conftest.py"]
html_theme = "furo"
html_title = "unveil"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_math_renderer = "mathml"  # the browser sets it, so that nothing is fetched
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # as for parameters: types are in the signature
autodoc_typehints = "none"
autodoc_member_order = "bysource"
suppress_warnings = ["misc.highlighting_failure", "myst.xref_missing", "ref.footnote", "ref.python"]  # some links leave docs/
nitpicky = False


def setup(app: Any) -> None:
    """Add what the build needs."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("source-read", _without_last_blank_lines)
    app.connect("config-inited", lambda app, _config: write_generated(Path(app.srcdir)))


def write_generated(folder: Path) -> None:
    """Write the reference, and behind the index the tables of contents, in its own order; the folder is a copy of docs/."""
    (folder / "reference").mkdir(exist_ok=True)
    for name, lines in _reference():
        (folder / "reference" / f"{name}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")
    index = folder / "index.md"
    text, contents = index.read_text("utf-8"), []
    place = {page: at for at, page in enumerate(re.findall(r"\]\(([\w/-]+)\.md\)", text))}
    first = {page.partition("/")[0]: at for page, at in reversed(place.items())}
    rooms = sorted({page.parent.name for page in folder.glob("*/*.md")}, key=lambda room: first.get(room, len(place)))
    for part in ("Learn and do", *(room.capitalize() for room in rooms), "Reference"):
        pages = sorted(_pages(folder, part), key=lambda page: (place.get(page, len(place)), page))
        contents += ["", "```{toctree}", ":hidden:", f":caption: {part}", "", *pages, "```"]
    index.write_text(text + "\n".join(contents) + "\n", encoding="utf-8")


def _pages(folder: Path, part: str) -> list[str]:
    reference = {"command-line", "python", "parameters", "project-file", "input", "notation", "published-figures"}
    if part == "Reference":
        return [*sorted(reference), *(f"reference/{name}" for name, _ in _reference())]
    if part == "Learn and do":
        return [page.stem for page in folder.glob("*.md") if page.stem not in {*reference, "index"}]
    return [f"{part.lower()}/{page.stem}" for page in (folder / part.lower()).glob("*.md")]


def _reference() -> list[tuple[str, list[str]]]:
    """Return a page for every public name, with what its docstring says."""
    pages = []
    for room in ("unveil", "unveil.models", "unveil.mechanisms", "unveil.attacks"):
        module = import_module(room)
        for name in sorted(module.__all__, key=str.lower):
            found = getattr(module, name)
            if name.startswith("__") or (room == "unveil.attacks" and name in unveil.__all__):
                continue
            if isinstance(found, ModuleType):
                found = getattr(import_module(_CALLABLE_ROOMS[name]), name) if name in _CALLABLE_ROOMS else None
            if found is None:
                continue
            title = f"{room}.{name}"
            kind = "autoclass" if isinstance(found, type) else "autofunction" if callable(found) else "autodata"
            lines = [title, "=" * len(title), "", f".. {kind}:: {getattr(found, '__module__', room)}.{name}"]
            pages.append((title, [*lines, *(["   :members:"] if kind == "autoclass" else [])]))
    return pages


def _without_last_blank_lines(_app: Any, _page: str, source: list[str]) -> None:
    """Close code blocks after their last line: doctests end in a blank one."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(_mathml(node.astext(), display=False))
    from docutils.nodes import SkipNode

    raise SkipNode


def _display(translator: Any, node: Any) -> None:
    translator.body.append(f"<p>{_mathml(node.astext(), display=True)}</p>")
    from docutils.nodes import SkipNode

    raise SkipNode


def _mathml(latex: str, *, display: bool) -> str:
    from latex2mathml.converter import convert

    return str(convert(latex, display="block" if display else "inline"))
