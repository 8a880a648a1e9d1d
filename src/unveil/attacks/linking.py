"""Which linkages do two tables allow? Chosen by the kinds of the attributes; every rate with its baseline and interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.attack_sections import StructureMatches
from unveil.attacks.linkage.distance import Distance, distance_linkage
from unveil.attacks.linkage.given import placed
from unveil.attacks.linkage.intervals import Method, interval_disclosure
from unveil.attacks.linkage.known_method import KnownMethod, linked_by_method
from unveil.attacks.linkage.lines import LinkedAttribute
from unveil.attacks.linkage.linkage_sections import (
    AgreementWeights,
    DistanceMatches,
    IntervalMatches,
    LikelihoodMatches,
    NoMatches,
    PatternMatches,
    RecordLinkage,
    of_persons,
)
from unveil.attacks.linkage.probabilistic import probabilistic_linkage
from unveil.attacks.linkage.structure import structure_linkage
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, UnveilError
from unveil.formats import jsonable
from unveil.results import Figures
from unveil.run import Stages, active_run
from unveil.sources import Alignment, Data, Source, align, common_codes, load, open_beside
from unveil.study import ColumnPair, Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.project import Project

__all__ = ["by_structure", "linkage"]

_MOST_PAIRS = 2_000_000_000
_MOST_PATTERNS = 12
"""The largest number of attributes in probabilistic linkage, which examines every subset of them."""


def linkage(pair: Pair, seed: int, control: Data | None, method: KnownMethod | None = None) -> RecordLinkage:
    """Link the release's records to the original ones in every way that the attributes allow.

    Attributes that are numbers in both tables, without nulls in the original, are compared by the standardised Euclidean
    distance and, if there are several, by Mahalanobis'; any others by the mixed distance, in which numbers for which the
    release has labels are compared as categories, and named. A way that is not possible is None, with the reason.

    Parameters
    ----------
    pair, seed
        The attacked pair, and the seed of the sample if there are too many pairs.
    control
        People who are not in the release, with the original's columns: each distance also reports how often it mistakes one of
        them for a released record's person.
    method
        How the release was made, if the intruder knows.
    """
    if pair.alignment is None:
        return RecordLinkage(reason="rates of linkage need the correspondence of records")
    pairs = pair.whole
    if not pairs:
        return RecordLinkage(reason="original and release hold no attribute pair")
    linker = _Linker(pair, pair.alignment, seed, control)
    ways: dict[str, Callable[[Stages], Figures]] = {}
    if linker.placed:
        ways["euclidean"] = lambda steps: linker.by_distance("euclidean", steps)
        if len(pairs) > 1:
            ways["mahalanobis"] = lambda steps: linker.by_distance("mahalanobis", steps)
    else:
        ways["mixed"] = lambda steps: linker.by_distance("mixed", steps)
    if linker.numeric:
        ways["interval_rank"] = lambda steps: linker.by_interval("rank", steps)
        ways["interval_deviation"] = lambda steps: linker.by_interval("deviation", steps)
    ways["probabilistic"] = lambda _: linker.by_agreement()
    sections: dict[str, Any] = {name: _tried(way, f"linkage, {name.replace('_', ' ')}") for name, way in ways.items()}
    if method is not None:
        sections["known_method"] = linker.by_method(method)
    shares = {name: way["linked"] for name, way in sections.items() if way.get("linked") is not None}
    strongest = max(shares, key=lambda name: shares[name], default=None)
    return RecordLinkage(attributes=[[one.original, one.release] for one in pairs], strongest=strongest, **sections)


def by_structure(pair: Pair, external: Source, seed: int) -> StructureMatches:
    """Link data that shares no key attribute with the release by the structure of both, using every column except the id.

    The id only scores the links; numbers and dates have positions, everything else is a category.
    """
    identity, release = pair.identity, pair.release.held()
    if identity is None or identity not in external.names:
        raise ArgumentError(
            "the external data has no key attribute in common with the release; rename its columns. To link it by structure "
            "alone, give it the id column that says who is who, and name that as the id."
        )
    alignment = align(external, release, identity=identity)
    truth = () if alignment is None else alignment.truth
    one, other = (_placed_columns(source, identity) for source in (external, release))
    rates = structure_linkage(one, other, truth, seed=seed)
    return StructureMatches([], rates.originals, rates.to_dict())


def _placed_columns(source: Source, identity: str) -> list[NDArray[Any]]:
    names = [name for name in source.names if name != identity]
    if not names:
        raise ArgumentError(f"{source.place} has no column but the id; there is no structure to link by.")
    return [placed(column, source.place) for column in load(source, names).columns]


def _tried(way: Callable[[Stages], Figures], stage: str) -> Figures:
    with active_run().stage(stage) as steps:
        try:
            return way(lambda _, done, total: steps(done, total))
        except UnveilError as reason:
            return NoMatches(None, str(reason))


def _outsiders(control: Data, project: Project | None, names: list[str]) -> Any:
    """Return the records of people who are not in the release, with the compared columns."""
    source = open_beside(control, project)
    for name in names:
        if name not in source.names:
            raise ColumnNotFoundError(f"the control: {ColumnNotFoundError.among(name, source.names)}")
    records = source.collect(names)
    if not records.height:
        raise EmptyDataError.no_records("the control")
    return records


def _has_nulls(series: Any) -> bool:
    return bool(series.null_count() or (series.dtype.is_float() and series.is_nan().any()))


class _Linker:
    """The columns to compare, and the released records to link: all of them, or a sample if there are too many pairs."""

    def __init__(
        self,
        pair: Pair,
        alignment: Alignment,
        seed: int,
        control: Data | None,
    ) -> None:
        pairs: Sequence[ColumnPair] = pair.whole
        names = list(dict.fromkeys(one.original for one in pairs))
        self.pairs, self.alignment, self.whose = pairs, alignment, pair.whose
        self.original = pair.original.collected(names)
        self.release = pair.release.collected(list(dict.fromkeys(one.release for one in pairs)))
        self.control = None if control is None else _outsiders(control, pair.original.project, names)
        self.attributes = [
            LinkedAttribute(one.original, one.release, hierarchy=pair.hierarchies.get(one.original)) for one in pairs
        ]
        originals, releases = list(self.original), list(self.release)
        self.numeric = all(series.dtype.is_numeric() for series in (*originals, *releases))
        known = originals if self.control is None else [*originals, *self.control]
        self.placed = self.numeric and not any(map(_has_nulls, known))
        self.rows = np.arange(alignment.release_records)
        searched = self.original.height + (0 if self.control is None else self.control.height)
        most = max(_MOST_PAIRS // searched, 1)
        points = self.placed and not any(map(_has_nulls, releases))
        if not points and len(self.rows) > most:
            self.rows = np.sort(np.random.default_rng(seed).choice(len(self.rows), most, replace=False))

    def by_distance(self, distance: Distance, progress: Stages) -> DistanceMatches:
        """Link to the nearest record."""
        release = self.release[self.rows.tolist()] if len(self.rows) < self.alignment.release_records else self.release
        truth = self.alignment.truth[self.rows]
        rates = distance_linkage(
            self.original, release, truth, attributes=self.attributes, distance=distance, control=self.control,
            persons=self.whose, progress=progress,
        )  # fmt: skip
        matches = DistanceMatches(
            linked=rates.value,
            baseline=rates.baseline,
            interval=rates.interval,
            value=rates.value,
            linked_second=rates.linked_second,
            not_linked=rates.not_linked,
            records=rates.records,
            control=rates.control,
            excess=rates.excess,
            distance=rates.distance,
            ties=rates.ties,
            made=jsonable(rates.made),
            sampled=len(self.rows) < self.alignment.release_records,
            as_categories=self._as_categories(rates.made),
        )
        return matches if rates.by_person is None else of_persons(matches, rates.by_person)

    def _as_categories(self, made: Mapping[str, Any]) -> list[str]:
        """Return the numbers that were compared as categories, because the release has labels for them."""
        names = [attribute["original"] for attribute in made["attributes"] if attribute["kind"] == "nominal"]
        return [name for name in names if self.original[name].dtype.is_numeric() or self.original[name].dtype.is_temporal()]

    def by_interval(self, method: Method, progress: Stages) -> IntervalMatches:
        """Count the original values that fall into an interval around the released one, over the aligned records."""
        kept = np.flatnonzero(self.alignment.truth >= 0)
        original, release = self.original[self.alignment.truth[kept].tolist()], self.release[kept.tolist()]
        begun: dict[str, int] = {}

        def tell(stage: str, done: int, total: int) -> None:
            progress(stage, begun.setdefault(stage, len(begun)) * total + done, len(self.attributes) * total)

        with active_run().telling(tell):
            shares = interval_disclosure(original, release, attributes=self.attributes, method=method)
        return IntervalMatches(
            shares.value,
            shares.baseline,
            shares.by_attribute,
            shares.together,
            shares.method,
            shares.records,
            jsonable(shares.made),
        )

    def by_method(self, method: KnownMethod) -> LikelihoodMatches:
        """Link by the likelihood under the method, which the intruder knows."""
        return linked_by_method(self.original, self.release, self.pairs, self.alignment.truth, method, self.whose)

    def by_agreement(self) -> PatternMatches:
        """Link by the weight of agreements; a generalised or suppressed value agrees with nothing but itself."""
        used = self.pairs[:_MOST_PATTERNS]
        codes = [common_codes(self.original[pair.original], self.release[pair.release]) for pair in used]
        linked = probabilistic_linkage(
            [one for one, _ in codes], [other for _, other in codes], self.alignment.truth, persons=self.whose
        )
        figures = {name: figure for name, figure in linked.to_dict().items() if name not in ("interval", "weights", "persons")}
        weights = [AgreementWeights(*both) for both in zip(linked.agreement, linked.disagreement, strict=True)]
        matches = PatternMatches(
            **figures,
            interval=linked.interval,
            weights=weights,
            records=linked.releases,
            attributes=[pair.original for pair in used],
        )
        return matches if linked.by_person is None else of_persons(matches, linked.by_person)
