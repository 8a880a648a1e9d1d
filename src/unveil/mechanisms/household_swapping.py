"""What if households at risk move to another place? Targeted record swapping, as used in censuses.

Households that stand out where they live change places with similar households: geographic columns are exchanged, and nothing
else. Levels are processed from the coarsest to the finest. At each level, households with a member in a class of fewer than k
records (by the place and the risk columns) are paired with a household of another place of that level, within the same place of
the level above if possible, so that coarser tables stay as they are. At the finest level, further households are drawn until a
share of them has moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_share
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, shown
from unveil.formats import counted
from unveil.mechanisms.arguments import moved_or_kept
from unveil.mechanisms.columns import Chosen, choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.swapping import strata_of
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["swap_households"]


@heeds_study
@checked_arguments
def swap_households(  # noqa: PLR0913 - two places, and what decides who moves
    data: Data,
    attributes: Names,
    *,
    household: str | None = None,
    risk: Names = (),
    similar: Names | Sequence[Names] = (),
    carry: Names = (),
    k: int = 3,
    share: float = 0.05,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Let households at risk change places with similar households: targeted record swapping.

    Two households are alike if they have equally many members, with the same values of the columns `similar`. They exchange
    their geographic columns, and those of `carry`. So every table of other columns stays exactly as it was, and so does every
    table of the places and the columns that make households alike.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The geographic columns, from the coarsest to the finest; the same for all members of a household.
    household
        The column that identifies households; none: that of a study, else every record is a household.
    risk
        The columns that, with the place, single people out: a member in a class of fewer than k records puts a household at
        risk.
    similar
        The columns in which the members of two households that change places agree; or several lists of columns, each of which
        is used if the one before finds no partner.
    carry
        Further columns of households that move with the place.
    k
        The size of the smallest class that is not at risk.
    share
        The least share of households that move, from 0 to 1, as far as there are similar ones.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `households`, `swapped` (households), `moved` (records), `at_risk` (households, by level), `unmatched`
        (households at risk without a partner) and `swapped_at` (households, by level).

    Raises
    ------
    ArgumentError
        If members of one household live in different places.

    References
    ----------
    .. [1] Shlomo, Tudor, Groom (2010), Data swapping for protecting census tables, Privacy in Statistical Databases, LNCS 6344,
       41-51.
    .. [2] Antal, Enderle, Giessing (2017), Statistical disclosure control methods for harmonised protection of census data,
       Eurostat.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> people = pl.DataFrame({"area": list("nnnsss"), "town": list("aabccd"), "age": [1, 1, 9, 1, 1, 2]})
    >>> release = mechanisms.swap_households(people, ["area", "town"], risk="age", k=2, share=0, seed=1)
    >>> release.figures["swapped"], sorted(release.data["town"].to_list())
    (2, ['a', 'a', 'b', 'c', 'c', 'd'])
    """
    checked_count("k", k, least=1)
    checked_share("share", share)
    chance, chosen = chance_of(seed, key_file), choose(data, [*names_of(attributes), *names_of(carry)], None)
    levels, risky, profiles = names_of(attributes), names_of(risk), _profiles(similar)
    alike = list(dict.fromkeys(name for profile in profiles for name in profile))
    require_columns([*risky, *alike, *([household] if household else [])], chosen.records.names)
    moved_or_kept(chosen.names, (*risky, *alike), "swapped")
    settings = {
        "household": household, "risk": list(risky), "similar": alike if len(profiles) == 1 else [list(one) for one in profiles],
        "carry": list(names_of(carry)), "k": k, "share": share,
    }  # fmt: skip
    homes = _Homes.of(chosen, household, profiles)
    _require_constant(chosen, homes, household)
    moving = _Moving(homes, chosen.draws(chance, "household swapping", settings))
    figures = _moved(moving, chosen, levels, risky, k, share)
    source = moving.source()
    columns = {name: chosen.column(name).gather(source) for name in chosen.names}
    notes = _notes(figures, share)
    return treated("household swapping", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=notes)


def _profiles(similar: Names | Sequence[Names]) -> list[tuple[str, ...]]:
    """Return the lists of columns in which households must agree, the strictest first."""
    if isinstance(similar, str) or all(isinstance(one, str) for one in similar):
        return [tuple(names_of(cast("Names", similar)))]
    return [tuple(names_of(one)) for one in similar]


@dataclass(frozen=True, slots=True, eq=False)
class _Homes:
    """The households: that of each record, the first record of each, and, for each list of columns, which ones are alike."""

    of_record: NDArray[np.int64]
    first: NDArray[np.int64]
    profiles: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, chosen: Chosen, household: str | None, profiles: Sequence[Sequence[str]]) -> _Homes:
        """Group records into households, and households by their size and the values of their members."""
        records = chosen.records.records
        of_record = np.arange(records) if household is None else strata_of(chosen, [household])[0]
        number = int(of_record.max()) + 1 if records else 0
        first = np.full(number, records, dtype=np.int64)
        np.minimum.at(first, of_record, np.arange(records))
        return cls(of_record, first, tuple(_alike(of_record, strata_of(chosen, profile)[0]) for profile in profiles))

    def __len__(self) -> int:
        return len(self.first)


def _alike(of_record: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each household, which is the same for households with equally many members and the same values."""
    order = np.lexsort((values, of_record))
    members = np.split(values[order], np.flatnonzero(np.diff(of_record[order])) + 1)
    known: dict[bytes, int] = {}
    alike = [known.setdefault(one.tobytes(), len(known)) for one in active_run().through("profiles", members)]
    return np.array(alike, dtype=np.int64)


def _require_constant(chosen: Chosen, homes: _Homes, household: str | None) -> None:
    for name in chosen.names:
        codes = strata_of(chosen, [name])[0]
        apart = codes != codes[homes.first[homes.of_record]]
        if apart.any():
            wrong = counted(len(np.unique(homes.of_record[apart])), "household")
            raise ArgumentError(f"{wrong} of {shown(household)} with more than one value of {shown(name)}; each has one place.")


@dataclass(slots=True, eq=False)
class _Moving:
    """The pairs of households that change places."""

    homes: _Homes
    random: np.random.Generator
    partner: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.partner = np.arange(len(self.homes))

    @property
    def free(self) -> NDArray[np.bool_]:
        """The households that have not moved so far."""
        return np.asarray(self.partner == np.arange(len(self.homes)))

    def source(self) -> NDArray[np.int64]:
        """Return, for each record, the record whose place it gets."""
        return self.homes.first[self.partner[self.homes.of_record]]

    def pair(
        self,
        wanted: NDArray[np.int64],
        weight: NDArray[np.float64],
        profile: NDArray[np.int64],
        within: NDArray[np.int64],
        place: NDArray[np.int64],
    ) -> int:
        """Pair each wanted household, in order, with a free similar one of another place within the same wider place.

        Return the number of households that moved. Of the suitable ones, one with the highest weight is taken.

        Parameters
        ----------
        wanted
            The households to pair.
        weight
            The urgency with which each household should move.
        profile
            The profile of each household, equal for households that are alike.
        within, place
            The wider place and the place of every household.
        """
        run, number = active_run(), len(self.homes)
        ties = self.random.random(number)
        pools: dict[tuple[int, int], dict[int, list[int]]] = {}
        for home in np.lexsort((ties, weight)).tolist():
            run.check()
            if self.partner[home] == home:
                key = int(profile[home]), int(within[home])
                pools.setdefault(key, {}).setdefault(int(place[home]), []).append(home)
        moved = 0
        for home in run.through("households", wanted.tolist()):
            if self.partner[home] != home:
                continue
            other = self._taken(pools.get((int(profile[home]), int(within[home])), {}), int(place[home]), weight)
            if other is not None:
                self.partner[home], self.partner[other] = other, home
                moved += 2
        return moved

    def _taken(self, pool: dict[int, list[int]], own: int, weight: NDArray[np.float64]) -> int | None:
        """Take a free household of another place from a pool: a random one of those whose move is most urgent."""
        ends: list[int] = []
        for place, homes in pool.items():
            while homes and self.partner[homes[-1]] != homes[-1]:
                homes.pop()
            if homes and place != own:
                ends.append(place)
        if not ends:
            return None
        most = max(weight[pool[place][-1]] for place in ends)
        best = [place for place in ends if weight[pool[place][-1]] == most]
        sizes = np.array([len(pool[place]) for place in best], dtype=np.float64)
        return pool[best[int(self.random.choice(len(best), p=sizes / sizes.sum()))]].pop()


def _moved(moving: _Moving, chosen: Chosen, levels: Sequence[str], risky: Sequence[str], k: int, share: float) -> dict[str, Any]:
    """Pair the households at risk, level by level from the coarsest to the finest, then others up to the share."""
    homes = moving.homes
    at_risk, swapped, unmatched = {}, {}, 0
    wider = np.zeros(len(homes), dtype=np.int64)
    nowhere, chance = np.zeros(len(homes), dtype=np.int64), np.zeros(len(homes))
    place = wider
    for depth, name in enumerate(levels):
        place = strata_of(chosen, levels[: depth + 1])[0][homes.first]
        chance = _risk(chosen, homes, levels[: depth + 1], risky)
        wanted = np.flatnonzero((chance > 1.0 / k) & moving.free)
        wanted = wanted[np.lexsort((moving.random.random(len(wanted)), -chance[wanted]))]
        at_risk[name] = int(np.count_nonzero(chance > 1.0 / k))
        swapped[name] = sum(
            moving.pair(wanted, chance, alike, within, place) for alike in homes.profiles for within in (wider, nowhere)
        )
        unmatched += int(np.count_nonzero(moving.free[wanted]))
        wider = place
    if levels:
        finest, above = levels[-1], strata_of(chosen, levels[:-1])[0][homes.first]
        swapped[finest] += _filled(moving, chance, above, place, share)
    gone = ~moving.free
    return {
        "households": len(homes),
        "swapped": int(gone.sum()),
        "moved": int(gone[homes.of_record].sum()),
        "at_risk": at_risk,
        "unmatched": unmatched,
        "swapped_at": swapped,
        "skipped": chosen.skipped,
    }


def _notes(figures: Mapping[str, Any], share: float) -> tuple[str, ...]:
    """Return a note if more than half of the households, and more than requested, move because they are at risk."""
    households, swapped = figures["households"], figures["swapped"]
    level, at_risk = max(figures["at_risk"].items(), key=lambda pair: pair[1], default=("", 0))
    if 2 * swapped <= households or swapped <= round(share * households) + 1:
        return ()
    note = (
        f"{swapped:,} of {counted(households, 'household')} move, {swapped / households:.0%} instead of {share:.0%}: "
        f"{at_risk:,} are at risk by {shown(level)}; name fewer or coarser columns in `risk`, or a smaller `k`, to move fewer."
    )
    return (note,)


def _filled(
    moving: _Moving, chance: NDArray[np.float64], above: NDArray[np.int64], place: NDArray[np.int64], share: float
) -> int:
    """Draw further households, with those at a higher risk more often, until the share has moved or nobody else can."""
    moved, missing = 0, round(share * len(moving.homes)) - int(np.count_nonzero(~moving.free))
    if missing <= 0:
        return 0
    free = np.flatnonzero(moving.free)
    order = free[np.argsort(moving.random.exponential(size=len(free)) / chance[free])]
    nobody = np.zeros(len(moving.homes))
    for alike, within in product(moving.homes.profiles, (above, np.zeros_like(above))):
        at = 0
        while moved < missing and at < len(order):
            some = order[at : at + max(1, (missing - moved) // 2)]
            moved, at = moved + moving.pair(some, nobody, alike, within, place), at + len(some)
    return moved


def _risk(chosen: Chosen, homes: _Homes, levels: Sequence[str], risky: Sequence[str]) -> NDArray[np.float64]:
    """Return the highest risk of each household's members: one over the records of the same place and risk columns."""
    of_record, classes = strata_of(chosen, [*levels, *risky])
    size = np.bincount(of_record, minlength=classes)
    risk = np.zeros(len(homes))
    np.maximum.at(risk, homes.of_record, 1.0 / size[of_record])
    return risk
