"""The base of every answer, the provenance of an answer, and an answer in the form and in the words for a reader.

A result holds data only. The forms in which it is displayed are imported when something is shown. A page or a terminal shows
commands, a notebook Python calls: only our own words are translated (titles, remarks, definitions), never a cell of a table,
which is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from unveil.arguments import checked_arguments, checked_count
from unveil.clock import today
from unveil.errors import ArgumentError, MissingExtraError
from unveil.formats import jsonable, of_one_type, whole
from unveil.results.masking import SMALL, UNMASKED

if TYPE_CHECKING:
    from rich.console import RenderableType

    from unveil.results.views import View

__all__ = ["Displayed", "Provenance", "Result", "in_python", "in_words", "reworded"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a result: enough to repeat it."""

    records: int
    nulls: str
    dropped: int = 0
    key: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    partitions: Mapping[str, Any] = field(default_factory=dict)
    weights: str | None = None
    person: str | None = None
    household: str | None = None
    seed: int | None = None
    version: str = ""
    date: str = field(default_factory=today)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "key": list(self.key),
            "sensitive": list(self.sensitive),
            "partitions": {name: jsonable(value) for name, value in self.partitions.items()},
            "nulls": self.nulls,
            "dropped": self.dropped,
            "weights": self.weights,
            **{name: getattr(self, name) for name in ("person", "household") if getattr(self, name) is not None},
            "seed": self.seed,
            "version": self.version,
            "date": self.date,
        }


class Result:
    """The base of every answer; a subclass is a frozen dataclass that defines `to_dict`, `columns` and `view`.

    It holds true figures, including values of single people. Its displayed forms are for others, so they are masked: `masked`
    removes the values, and a subclass that holds any defines how.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values, ready for JSON."""
        raise NotImplementedError

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the answer's table, column by column."""
        raise NotImplementedError

    def view(self) -> View:
        """Return the displayed view."""
        raise NotImplementedError

    def terminal_view(self) -> View:
        """Return the view displayed in a terminal."""
        return self.view()

    def terminal_form(self, view: View) -> RenderableType:
        """Return the form in which a terminal prints a view."""
        from unveil.results.terminal import to_rich

        return to_rich(view)

    def masked(self, small: int = SMALL) -> Result:  # noqa: ARG002 - one that names nobody is as it is
        """Return the answer without the values of classes of fewer than `small` records, and of those that disclose."""
        return self

    @checked_arguments
    def displayed(self, *, unmasked: bool = False, small: int = SMALL) -> Result:
        """Return the answer in the form in which it is shown, printed and written.

        Parameters
        ----------
        unmasked
            Whether to return it unchanged, and marked as such in every form: for the data steward's own eyes.
        small
            Otherwise classes with fewer records are masked, and those that reveal a sensitive value.

        Examples
        --------
        >>> import unveil
        >>> rate = unveil.discrimination_rate("paper-4", key="Age", sensitive="Disease")
        >>> rate.displayed().to_dict()["by_value"][0]["Age"]
        '(masked)'
        >>> rate.displayed(unmasked=True).to_dict()["unmasked"]
        True
        """
        checked_count("small", small, least=1)
        return Displayed(self, unmasked=True) if unmasked else Displayed(self.masked(small))

    @checked_arguments
    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the answer's table as a data frame of the named library.

        Values of several types in one column, and numbers that not every library can represent, become text.
        """
        import narwhals as nw

        columns = {whole(name): of_one_type(values) for name, values in self.columns().items()}
        numbered = {str(at): values for at, values in enumerate(columns.values())}  # some names are patterns to Polars
        try:
            frame = nw.from_dict(numbered, backend=backend)
        except ModuleNotFoundError:
            raise MissingExtraError.library(backend) from None
        except UnicodeEncodeError:  # halves of surrogate pairs, which few libraries can represent
            frame = nw.from_dict({at: list(map(whole, values)) for at, values in numbered.items()}, backend=backend)
        return frame.rename(dict(zip(numbered, columns, strict=True))).to_native()

    @checked_arguments
    def chart(self, name: str) -> Any:
        """Return one of the answer's charts as an `altair.Chart`, to be changed or stored (extra `charts`).

        Parameters
        ----------
        name
            The name of the chart; an unknown name is refused with a list of the existing ones.
        """
        known = self.displayed().view().every_chart()
        if name not in known:
            raise ArgumentError.not_one_of("chart", name, tuple(known)) if known else ArgumentError("this answer has no charts.")
        from unveil.results._altair import altair_chart

        return altair_chart(known[name])

    def __rich__(self) -> RenderableType:
        """Show the answer in a terminal, masked."""
        return self.in_terminal({}, {})

    def in_terminal(
        self, phrases: Mapping[str, str], names: Mapping[str, str], *, unmasked: bool = False, small: int = SMALL
    ) -> RenderableType:
        """Return the form in which a terminal prints the displayed answer, in the words of its reader (`reworded`)."""
        shown = self.displayed(unmasked=unmasked, small=small)
        view = shown.terminal_view()
        return shown.terminal_form(in_words(view, phrases, names) if phrases or names else view)

    def python_calls(self) -> Mapping[str, str]:
        """Return, for each command that the view names, the equivalent Python call, which a notebook shows instead."""
        return {}

    def _repr_html_(self) -> str:
        """Show the answer in a notebook, masked and in the words of Python."""
        from unveil.results.html_view import to_html

        return to_html(in_python(self.displayed().view(), self.python_calls()))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Displayed(Result):
    """An answer that is masked, or marked: by a banner when it is shown, by `unmasked` in JSON and in a table's last column."""

    result: Result
    unmasked: bool = False

    def __repr__(self) -> str:
        """Return the answer's own line."""
        return repr(self.result)

    def displayed(self, *, unmasked: bool = False, small: int = SMALL) -> Result:  # noqa: ARG002
        """Return the answer itself: whether it is masked is already decided."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values, and the mark."""
        return {**self.result.to_dict(), "unmasked": True} if self.unmasked else self.result.to_dict()

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the answer's table, and the mark."""
        columns = self.result.columns()
        rows = len(next(iter(columns.values()), ()))
        return {**columns, "unmasked": [True] * rows} if self.unmasked else columns

    def view(self) -> View:
        """Return the displayed view, under a banner if it is marked."""
        return self._marked(self.result.view())

    def terminal_view(self) -> View:
        """Return the view displayed in a terminal, under a banner if it is marked."""
        return self._marked(self.result.terminal_view())

    def terminal_form(self, view: View) -> RenderableType:
        """Return the answer's own form."""
        return self.result.terminal_form(view)

    def python_calls(self) -> Mapping[str, str]:
        """Return the Python calls that the answer names."""
        return self.result.python_calls()

    def _marked(self, view: View) -> View:
        return replace(view, banner=UNMASKED) if self.unmasked else view


_PHRASES = {
    "the whole answer has": "`to_dict()` has",
    "Run: `": "In Python: `",
}
_ARGUMENT = re.compile(r"`([a-z][a-z_]*)`")
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")


def in_python(view: View, calls: Mapping[str, str]) -> View:
    """Return a view in the words of Python.

    Parameters
    ----------
    view
        The view to translate.
    calls
        For each command, the equivalent Python call.
    """
    phrases = {**calls, **_PHRASES}

    def said(text: str) -> str:
        for command, python in phrases.items():
            text = text.replace(command, python)
        return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", text)

    return _worded(view, said)


def in_words(view: View, phrases: Mapping[str, str], names: Mapping[str, str]) -> View:
    """Return a view in the words of its reader: phrases, and the names of arguments, as in `reworded`."""
    return _worded(view, lambda text: reworded(text, phrases, names))


def reworded(text: str, phrases: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return a text with other phrases, and with the reader's names for the arguments in backticks that have one.

    Examples
    --------
    >>> reworded("name `hierarchies` or a `seed`", {"name": "give"}, {"hierarchies": "--hierarchy"})
    'give --hierarchy or a `seed`'
    """
    for phrase, other in phrases.items():
        text = text.replace(phrase, other)
    return _ARGUMENT.sub(lambda named: names.get(named[1], named[0]), text)


def _worded(view: View, said: Callable[[str], str]) -> View:
    """Return a view with other words in our own texts, never in data."""
    return replace(
        view,
        banner=said(view.banner),
        lead=said(view.lead),
        figures=tuple(replace(one, meaning=said(one.meaning), definition=said(one.definition)) for one in view.figures),
        tables=tuple(
            replace(one, title=said(one.title), note=said(one.note), definition=said(one.definition)) for one in view.tables
        ),
        charts=tuple(replace(one, note=said(one.note), definition=said(one.definition)) for one in view.charts),
        notes=tuple(map(said, view.notes)),
        parts=tuple(_worded(part, said) for part in view.parts),
    )
