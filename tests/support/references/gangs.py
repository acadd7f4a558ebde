"""Reference of gang placement: every assignment of members to nodes, in plain Python."""

from collections.abc import Sequence
from itertools import combinations

Amounts = tuple[int, ...]


def gang_fits(nodes: Sequence[Amounts], members: Sequence[Amounts], at_least: int) -> bool:
    """Return whether some assignment places at least this number of members."""
    return any(
        _assigns([list(node) for node in nodes], chosen)
        for chosen in combinations(members, at_least)
    )


def _assigns(free: list[list[int]], left: Sequence[Amounts]) -> bool:
    if not left:
        return True
    for node in free:
        if all(have >= requested for have, requested in zip(node, left[0], strict=True)):
            for column, requested in enumerate(left[0]):
                node[column] -= requested
            if _assigns(free, left[1:]):
                return True
            for column, requested in enumerate(left[0]):
                node[column] += requested
    return False
