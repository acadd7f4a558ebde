"""The random order: weighted sampling without replacement over the leaves of a tree.

Keys ``u^(1/w)`` in descending order (Efraimidis and Spirakis, 2006). The weight of a leaf is the
product, along its path, of each node's weight relative to its siblings that have active leaves.
"""

from collections.abc import Iterator
from math import log

from stretto.base.rng import Rng
from stretto.offers.allocator.sorting.nodes import ClientKind, SorterNode


def draw(root: SorterNode, rng: Rng) -> list[SorterNode]:
    """The active leaves in a random order."""
    drawn = [(log(rng.random() or 1e-300) / weight, leaf) for leaf, weight in chances(root, 1.0)]
    drawn.sort(key=lambda each: -each[0])
    return [leaf for _, leaf in drawn]


def chances(node: SorterNode, chance: float) -> Iterator[tuple[SorterNode, float]]:
    """Active leaves below a node, each with its share of ``chance``."""
    living = [child for child in node.children.values() if _is_active(child)]
    total = sum(child.weight for child in living)
    for child in living:
        part = chance * child.weight / total
        if child.kind is ClientKind.ACTIVE:
            yield child, part
        else:
            yield from chances(child, part)


def _is_active(node: SorterNode) -> bool:
    if node.kind is ClientKind.INTERNAL:
        return any(_is_active(child) for child in node.children.values())
    return node.kind is ClientKind.ACTIVE
