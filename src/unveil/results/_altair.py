"""Charts as `altair.Chart` objects over the same figures, which a user can change (extra `charts`)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from unveil.errors import MissingExtraError
from unveil.formats import jsonable

if TYPE_CHECKING:
    from unveil.results.views import Chart

__all__ = ["altair_chart"]


def altair_chart(chart: Chart) -> Any:
    """Return a chart of Altair: the figures as inline data, a mark, an encoding, and the title.

    Raises
    ------
    MissingExtraError
        If Altair is not installed.
    """
    try:
        import altair as alt
    except ImportError:
        raise MissingExtraError.needed("a chart that can be changed", extra="charts") from None
    fields = [f"c{at}" for at in range(len(chart.columns))]  # a name may contain characters that Vega would read as a path
    values = [dict(zip(fields, map(jsonable, row), strict=False)) for row in chart.rows]
    drawn = _offline(alt)(alt.InlineData(values=values), title=chart.title)
    tips = [alt.Tooltip(field=field, title=title) for field, title in zip(fields, chart.columns, strict=True)]
    return _MARKS[chart.kind](alt, drawn, chart.columns).encode(tooltip=tips)


@cache
def _offline(alt: Any) -> Any:
    """Return a chart that a notebook shows as a picture drawn here; otherwise it would fetch scripts from the network."""

    class OfflineChart(alt.Chart):  # type: ignore[misc]
        def _repr_mimebundle_(self, *args: Any, **named: Any) -> Any:
            try:
                import vl_convert
            except ImportError:
                return super()._repr_mimebundle_(*args, **named)
            return {"image/svg+xml": vl_convert.vegalite_to_svg(self.to_json())}

    return OfflineChart


def _bars(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    across = alt.X("c1:Q", title=names[1], scale=alt.Scale(domain=[0, 1], clamp=True))
    return drawn.mark_bar().encode(x=across, y=alt.Y("c0:N", title=names[0], sort=None))


def _columns(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    return drawn.mark_bar().encode(x=alt.X("c0:N", title=names[0], sort=None), y=alt.Y("c1:Q", title=names[1]))


def _dots(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    return drawn.mark_circle().encode(
        x=alt.X("c2:Q", title=names[2]), y=alt.Y("c0:N", title=names[0], sort=None), size=alt.Size("c3:Q", title=names[3])
    )


def _heat(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    return drawn.mark_rect().encode(
        x=alt.X("c1:N", title=names[1], sort=None),
        y=alt.Y("c0:N", title=names[0], sort=None),
        color=alt.Color("c2:Q", title=names[2], scale=alt.Scale(domain=[0, 1])),
    )


def _points(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    """Return points; requirements appear in the picture of a page, and in the titles of the axes."""
    return drawn.mark_point(filled=True, size=90).encode(
        x=alt.X("c1:Q", title=names[1]), y=alt.Y("c2:Q", title=names[2]), color=alt.Color("c3:N", title=names[3])
    )


def _lines(alt: Any, drawn: Any, names: tuple[str, ...]) -> Any:
    return drawn.mark_line().encode(
        x=alt.X("c1:Q", title=names[1]), y=alt.Y("c2:Q", title=names[2]), color=alt.Color("c0:N", title=names[0])
    )


_MARKS = {"bars": _bars, "columns": _columns, "dots": _dots, "heat": _heat, "lines": _lines, "points": _points, "spark": _columns}
