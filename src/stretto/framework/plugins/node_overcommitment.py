"""NodeOvercommitment: pods with exclusive cores on overcommitted nodes.

An exclusive core is promised once: it reduces the promised amount by the ratio, because the shared
part becomes smaller by one core. NodeResourcesFit compares the amounts of other pods. A snapshot
lowers the promised amount of a node with each such claim of its cycle (``Runtime.hold``). A profile
with the section ``overcommit`` has this rule; the formula is Katalyst's.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import BoolArray, FilterRule, Refusal, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NodeOvercommitment"
REASON: Final = "Insufficient {} for exclusive cores"


class NodeOvercommitmentRule(FilterRule):
    """Refuses nodes whose promised amounts are too small for exclusive cores."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.POD_CHANGED

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The class itself if its amounts are exclusive, otherwise ``None``."""
        return pod.id if pod.annotations.is_exclusive else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every amount times the ratio is free."""
        passes = np.ones(len(slots), np.bool_)
        for _, short in _short(pod, view, slots):
            passes &= ~short
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """One reason per resource."""
        names = view.columns.ledger.resources.names
        found = [
            Refusal(REASON.format(names[column]), short)
            for column, short in _short(pod, view, slots)
        ]
        return [each for each in found if each.mask.any()]


def _short(pod: PodClass, view: View, slots: SlotArray) -> Iterator[tuple[int, BoolArray]]:
    """Each requested resource, with bool[k]: True where an overcommitted node has too little."""
    columns, resources = view.columns, view.columns.ledger.resources
    for column, amount in pod.requests if pod.annotations.is_exclusive else ():
        if column < len(columns.free):
            lost = columns.lost(column, amount, slots)
            wanted = resources.scaled_request(column, amount) + lost
            yield column, (lost > 0) & (columns.free[column, slots] < wanted)
