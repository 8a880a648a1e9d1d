"""HTML pages: templates with everything escaped; style sheets and scripts at addresses that change with their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from unveil import __version__
from unveil.formats import counted, number, visible
from unveil.results import Chart, Result, Table, View, html_parts, html_table, style_sheet
from unveil.results.svg import svg

__all__ = ["asset", "environment"]

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def environment() -> Environment:
    """Return the environment that renders the templates."""
    templates = Environment(
        loader=PackageLoader("unveil.app"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "number": number,
        "counted": lambda n, noun, nouns="": counted(n, noun, nouns) if nouns else counted(n, noun),
    }
    templates.filters["percent"] = percent
    templates.globals |= {
        "view": _view,
        "chart": _chart,
        "tables_of": _tables,
        "version_of_unveil": __version__,
        "static": _address,
        "zip": zip,
    }
    return templates


def percent(share: float) -> str:
    """Return a share in percent; only exactly none or all is written as 0 or 100."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return "< 0.1 %" if share < 0.001 else "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"  # noqa: PLR2004 - one digit


def asset(name: str) -> tuple[bytes, str] | None:
    """Return one of our static files with its type."""
    return _assets().get(name)


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    assets = {}
    for file in resources.files("unveil.app").joinpath("static").iterdir():
        ending = f".{file.name.rpartition('.')[2]}"
        if ending in _TYPES:
            assets[file.name] = (file.read_bytes(), _TYPES[ending])
    assets["views.css"] = (style_sheet().encode(), _TYPES[".css"])
    return assets


@cache
def _address(name: str) -> str:
    """Return the address of a static file; it changes with the content, so that a browser may cache the file."""
    content, _ = _assets()[name]
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def _view(shown: View | Result, level: int = 2) -> Markup:
    """Return a result as the reports show it."""
    view = shown.view() if isinstance(shown, Result) else shown
    return Markup('<div class="unveil-view">\n{}</div>').format(Markup(html_parts(view, level=level)[1]))  # noqa: S704 - escaped there


def _tables(shown: Sequence[Table]) -> Markup:
    """Return tables as the reports show them."""
    markup = "".join(html_table(table) for table in shown)
    return Markup('<div class="unveil-view">{}</div>').format(Markup(markup))  # noqa: S704 - escaped there


def _chart(shown: Chart) -> Markup:
    """Return one chart as the reports draw it, without its caption."""
    return Markup('<div class="unveil-view chart-only">{}</div>').format(Markup(svg(shown, visible)))  # noqa: S704 - escaped there


def rendered(template: str, values: dict[str, Any]) -> str:
    """Return a template, filled with values."""
    return environment().get_template(template).render(values)
