"""Size limits above which a lattice and its tables are handled in ways that need less memory or time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["USUAL", "Capacity"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The sizes from which a lattice and its tables are handled in ways that need less memory or time.

    Attributes
    ----------
    nodes
        Lattices of up to this many nodes are held as a whole; of larger ones, only the examined nodes are.
    nodes_in_time
        The same under a time limit, if the objective allows boxes: for larger lattices, a walk makes better use of the time.
    surveyed
        With more cells than this, nodes are examined one by one: all at once would take several times the memory.
    recoded
        How many cells of a count table are recoded at once.
    sensitive_values
        If there are more values of sensitive attributes than this, they are not counted class by class.
    few_rows
        Tables derived from one of at most this many rows are made in one step, and made again whenever they are needed.
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
"""The capacity of every search; tests use smaller ones, so that small tables are handled like large ones."""
