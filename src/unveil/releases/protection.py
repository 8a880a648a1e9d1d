"""The protection of a release: what one mechanism, one search or a chain of both adds to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.releases.records import ReleaseRecords
    from unveil.releases.release import Release
    from unveil.results import View

__all__ = ["Protection"]


class Protection(ABC):
    """The part of a release that is particular to the way it was made.

    A subclass is a frozen dataclass of figures. Its fields can be read from the release itself: ``release.score`` is
    ``release.protection.score``.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def made_by(self) -> str | Sequence[Mapping[str, Any]]:
        """What made the release, by name or step by step."""

    @property
    def guarantee(self) -> str | None:
        """What the release promises, if that is not a model."""
        return None

    @abstractmethod
    def treated(self, release: Release[Any]) -> Collection[str]:
        """Return the columns that were protected or measured; nothing is known about the others."""

    @abstractmethod
    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the part of the release's JSON that is particular to this way of protecting."""

    def claims(self) -> dict[str, Any]:
        """Return the last part of the JSON: what the release claims beyond its models."""
        return {}

    @abstractmethod
    def line(self, release: Release[Any]) -> str:
        """Return what was done in one line."""

    @abstractmethod
    def view(self, release: Release[Any]) -> View:
        """Return what a person should see."""

    def stated(self, release: Release[Any]) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - most meet no model
        """Return the models that the release was required to meet, as its record states them."""
        return ()

    def kept(self, records: ReleaseRecords) -> Sequence[str]:
        """Return the columns of the data that the release still has."""
        return records.names

    def tables(self, records: ReleaseRecords) -> Mapping[str, ReleaseRecords]:
        """Return the tables of the release by name; most releases have only one."""
        return {"": records}
