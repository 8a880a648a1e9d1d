"""Checks of the settings of a window: its extent, its steps, its keys and its needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.arguments import checked_count
from unveil.attributes import Names, names_of, sides_of
from unveil.counts import ByNumber, ByTime, Expiry, MovingCounts, Never
from unveil.errors import ArgumentError, shown
from unveil.project import Need
from unveil.stream.fields import Fields
from unveil.stream.figures import KeySet, NeedSet
from unveil.stream.times import Duration, duration_of
from unveil.study import checked_partitions

__all__ = ["check_extent", "checked_step", "expiry_of", "key_sets", "need_sets", "sampling"]


def checked_step(every: int | Duration | None, *, timed: bool) -> int | None:
    """Return the number of records, or of microseconds, after which figures are due."""
    if every is None:
        return None
    if timed:
        step = duration_of("every", every)
        if step <= 0:
            raise ArgumentError("every must be a duration above 0.")
        return step
    if not isinstance(every, int):
        raise ArgumentError("every is a duration, which requires the records' own times; name their column with time=.")
    return checked_count("every", every, least=1)


def check_extent(size: int | None, duration: int | None, lateness: int, *, timed: bool) -> None:
    """Refuse an extent that does not define a window."""
    if size is not None and (duration is not None or timed):
        raise ArgumentError("a window has either a size in records, or a duration and a column of times; give only one of them.")
    if duration is not None and (duration <= 0 or not timed):
        raise ArgumentError("a duration must be above 0 and requires the records' own times; name their column with time=.")
    if lateness and not timed:
        raise ArgumentError("lateness concerns the records' own times; name their column with time=.")


def expiry_of(counts: MovingCounts, size: int | None, duration: int | None) -> Expiry:
    """Return the rule by which records expire."""
    if size is not None:
        return ByNumber(counts, size)
    return Never(counts) if duration is None else ByTime(counts, duration)


def key_sets(
    fields: Fields, key: Any, sensitive: Names | None, person: str | None, partitions: Mapping[str, Any] | None
) -> list[KeySet]:
    """Return the keys to measure; a list of lists stands for several keys."""
    several = not isinstance(key, str) and any(not isinstance(one, str) for one in key)
    sides = [sides_of(names_of(one), sensitive) for one in (key if several else [key])]
    everything = [name for keys, sensitive_names in sides for name in (*keys, *sensitive_names)]
    blocks = checked_partitions(partitions, everything)
    if person is not None and person in everything:
        raise ArgumentError(f"column {shown(person)} names persons, so it can be neither key nor sensitive.")
    sets = []
    for keys, sensitive_names in sides:
        of_person = None if person is None else fields.label(person, None)
        sets.append(KeySet(keys, fields.labels(keys, blocks), fields.labels(sensitive_names, blocks), of_person))
    return sets


def sampling(sets: Sequence[KeySet]) -> dict[str, tuple[str, ...]]:
    """Return the columns by which to sample a window beyond its limit, shared by all keys, and those still counted in full."""
    shared = [name for name in sets[0].key if all(name in one.key for one in sets)]
    return {"sampled": tuple(shared), "kept": tuple(dict.fromkeys(name for one in sets for name in one.sensitive))}


def need_sets(fields: Fields, needs: Need | Sequence[Need]) -> list[NeedSet]:
    """Return the needs to measure."""
    sets = []
    for need in [needs] if isinstance(needs, Need) else needs:
        given = fields.labels(need.given, need.partitions)
        sets.append(NeedSet(need, given, fields.label(need.target, need.partitions.get(need.target))))
    return sets
