"""An answer as it is given to a reader: masked, or unmasked and marked as such in every form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unveil.results import Result, View
from unveil.results.masking import SMALL, UNMASKED

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Displayed"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Displayed(Result):
    """An answer that is masked, or marked: by a banner when it is shown, by `unmasked` in JSON and in a table's last column."""

    result: Result
    unmasked: bool = False

    def __repr__(self) -> str:
        """Return the answer's own line."""
        return repr(self.result)

    def displayed(self, *, unmasked: bool = False, small: int = SMALL) -> Result:  # noqa: ARG002
        """Return the answer itself: whether it is masked has been decided."""
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
        """Return what a person should see, under a banner if it is marked."""
        return self._marked(self.result.view())

    def terminal_view(self) -> View:
        """Return what a person should see in a terminal, under a banner if it is marked."""
        return self._marked(self.result.terminal_view())

    def terminal_form(self, view: View) -> RenderableType:
        """Return the answer's own form."""
        return self.result.terminal_form(view)

    def python_calls(self) -> Mapping[str, str]:
        """Return the Python calls that the answer names."""
        return self.result.python_calls()

    def _marked(self, view: View) -> View:
        return replace(view, banner=UNMASKED) if self.unmasked else view
