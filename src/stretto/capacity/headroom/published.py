"""The part of a headroom that is published: amounts too small to be useful become zero."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stretto.capacity.model.profiles import CapacityProfile

Reclaimed = Mapping[str, int]
"""Amounts by resource: milli-CPU or bytes."""


class PublishedHeadroom(NamedTuple):
    """The published amounts of a node report."""

    #: Amounts of the node.
    node: Reclaimed
    #: Amounts of each NUMA node.
    numas: tuple[Reclaimed, ...]


def publish(
    node: Reclaimed,
    numas: Sequence[Reclaimed],
    least: Reclaimed,
    profile: CapacityProfile = CapacityProfile.STRETTO,
) -> PublishedHeadroom:
    """Set a headroom to zero if one of its resources does not exceed its minimum.

    A pod needs all resources, so an exhausted resource makes the others useless. If a NUMA node
    becomes zero, the headroom of the node is the sum of its NUMA nodes.

    Args:
        node: headroom of the node.
        numas: headroom of each NUMA node.
        least: minimum amounts, by resource; a resource without one is never ignored.
        profile: ``KATALYST`` keeps the NUMA nodes of a node that becomes zero.
    """
    small = [_is_small(each, least) for each in numas]
    shown = tuple(
        dict.fromkeys(each, 0) if zero else dict(each)
        for each, zero in zip(numas, small, strict=True)
    )
    total = dict(node)
    if any(small):
        total = {name: sum(each.get(name, 0) for each in shown) for name in node}
    if not _is_small(total, least):
        return PublishedHeadroom(total, shown)
    if profile is not CapacityProfile.KATALYST:
        shown = tuple(dict.fromkeys(each, 0) for each in shown)
    return PublishedHeadroom(dict.fromkeys(total, 0), shown)


def _is_small(amounts: Reclaimed, least: Reclaimed) -> bool:
    return any(amounts.get(name, 0) <= bound for name, bound in least.items())
