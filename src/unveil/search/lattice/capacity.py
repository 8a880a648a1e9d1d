"""How much of a lattice is held, or worked on at once; what is larger than that is worked on in another way."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["USUAL", "Capacity"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The sizes from which on a lattice and its tables are worked on in less memory, or in less time.

    Attributes
    ----------
    nodes
        Lattices up to this many nodes are held as a whole; of larger ones, only the nodes that were looked at.
    nodes_in_time
        The same under a time limit, if the objective has boxes: a walk makes better use of the seconds that more would take.
    surveyed
        If there are more cells, nodes are looked at one by one: all of them at once would take a multiple of the memory.
    recoded
        How many cells of a count table are recoded at once.
    sensitive_values
        If there are more values of sensitive attributes than this, they are not counted class by class.
    few_rows
        Tables that follow from one of at most this many rows are made in one go, and made again when needed again.
    many_rows
        Tables of more rows have fewer slots per row, and are rolled up in one pass each.
    first_room
        How many classes a pass has room for when it begins.
    much_smaller
        A table made in one pass is kept if it has at most this fraction of the rows of the first.
    share_kept
        The tables kept take at most this fraction of the bytes of the first.
    last_epoch
        When the numbers of epochs are used up to here, all slots of a hash table are emptied.
    """

    nodes: int = 1 << 26
    nodes_in_time: int = 1 << 22
    surveyed: int = 1 << 20
    recoded: int = 1 << 21
    sensitive_values: int = 128
    few_rows: int = 512
    many_rows: int = 1 << 20
    first_room: int = 1 << 16
    much_smaller: int = 8
    share_kept: int = 4
    last_epoch: int = (1 << 31) - 1


USUAL = Capacity()
"""That of every search; tests have another, so that small tables take the ways of large ones."""
