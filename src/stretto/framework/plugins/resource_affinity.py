"""NodeResourcesAffinity: reserves nodes with scarce resources for the pods that request them.

A pod that requests a scarce resource prefers nodes that have it; other pods prefer nodes without
it. The score is the mean of 100 or 0 per resource.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    IntArray,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass

NAME: Final = "NodeResourcesAffinity"
SCARCE: Final = ("nvidia.com/gpu", "bytedance.com/sriov.nic")
"""Scarce resources by default."""


class NodeResourcesAffinityRule(ScoreRule):
    """Scores by whether a node has exactly the scarce resources that a pod requests."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``resources``: the names of the scarce resources."""
        super().__init__(args)
        given = read.arguments(args, ("resources",), NAME).get("resources")
        where = f"args of {NAME}: resources"
        names = tuple(
            read.text(each, f"{where}[{i}]") for i, each in enumerate(read.sequence(given, where))
        )
        #: Names of the scarce resources.
        self.resources = names or SCARCE

    def signature(self, pod: PodClass) -> Hashable | None:
        """The scarce resources that a pod requests, by kind or by column."""
        kinds = {request.kind for request in pod.devices}
        return (
            tuple(name for name in self.resources if name in kinds),
            tuple(column for column, _ in pod.requests),
        )

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: 100 where the node has exactly the requested scarce resources."""
        kinds = {request.kind for request in pod.devices}
        columns = {column for column, _ in pod.requests}
        known = view.columns.ledger.resources.known
        total = np.zeros(len(slots), np.int32)
        for name in self.resources:
            requested = name in kinds or known(name) in columns
            total += (_has(view, name, slots) == requested) * np.int32(TOP_SCORE)
        return total // np.int32(len(self.resources))


def _has(view: View, name: str, slots: SlotArray) -> BoolArray:
    """bool[k]: true where nodes have any of a resource, as devices or as an amount."""
    ledger = view.columns.ledger
    kind = ledger.devices.kind_number(name)
    has: BoolArray = (ledger.devices.kind[slots] == kind).any(axis=1)
    column = ledger.resources.known(name)
    if column is not None and column < ledger.alloc.shape[1]:
        has |= ledger.alloc[slots, column] > 0
    return has
