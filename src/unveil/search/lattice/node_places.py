"""Where a node lies in its lattice: the nodes beside and below it, and its place among all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unveil.search.lattice.space import Node

__all__ = ["lowest_first", "neighbours", "node_at", "nodes_below"]


def lowest_first(node: Node) -> tuple[int, Node]:
    """Return the sort key for nodes of equal cost: the sum of their levels, then the levels one by one."""
    return sum(node), node


def node_at(place: int, shape: Sequence[int]) -> Node:
    """Return the node at a place of the flattened lattice."""
    levels = []
    for size in reversed(shape):
        place, level = divmod(place, size)
        levels.append(level)
    return tuple(reversed(levels))


def nodes_below(node: Node) -> tuple[slice, ...]:
    """Return where a node and all below it are in an array over the lattice."""
    return tuple(slice(0, level + 1) for level in node)


def neighbours(node: Node, shape: Sequence[int]) -> Iterator[Node]:
    """Return the nodes one step below, and those where one attribute goes down and another up."""
    for down, level in enumerate(node):
        if level == 0:
            continue
        lower = (*node[:down], level - 1, *node[down + 1 :])
        yield lower
        for up, size in enumerate(shape):
            if up != down and lower[up] < size - 1:
                yield (*lower[:up], lower[up] + 1, *lower[up + 1 :])
