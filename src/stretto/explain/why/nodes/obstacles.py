"""Obstacles on the nodes of one topology domain, as a short clause."""

from collections.abc import Iterator

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.excluded import excluded_groups
from stretto.explain.words.amounts import format_count
from stretto.framework.contract.rule import BoolArray


def obstacles(inquiry: Inquiry, among: BoolArray) -> str:
    """Clause about the obstacles on each node of a mask; empty if one of the nodes would fit.

    Args:
        inquiry: the verdicts of all nodes.
        among: bool[k]: the nodes.
    """
    if not among.any() or (among & inquiry.fits).any():
        return ""
    count = int(among.sum())
    groups = sorted(_groups(inquiry, among), key=lambda group: (-group[0], group[1]))
    if len(groups) == 1:
        node = "its only node is" if count == 1 else f"all its {count:,} nodes are"
        return f"{node} {groups[0][1]}"
    texts = (f"{number:,} {'is' if number == 1 else 'are'} {text}" for number, text in groups)
    return f"of its {format_count(count, 'node')}, {', '.join(texts)}"


def _groups(inquiry: Inquiry, among: BoolArray) -> Iterator[tuple[int, str]]:
    """(number of nodes, obstacle); exclusions by node rules come first, then insufficient size."""
    left = among
    forbidden = left & ~inquiry.allowed()
    for number, text in excluded_groups(inquiry, forbidden):
        yield number, f"excluded by {text}"
    left = left & ~forbidden
    small = left & ~inquiry.large()
    if small.any():
        yield int(small.sum()), "too small"
    left = left & ~small
    full = left & inquiry.full()
    if full.any():
        yield int(full.sum()), "full"
    left = left & ~full
    for each in inquiry.refused:
        here = left & each.mask
        if here.any():
            yield int(here.sum()), f"refused ({each.reason})"
            left = left & ~here
