"""SubCluster: restricts pods to the nodes of the sub-cluster that they name.

``key`` is the node label, and the key of a pod's node selector, with the sub-cluster's name. A pod
that names no sub-cluster may use every node, as in Gödel; with ``isolated: true`` it may use only
nodes outside all sub-clusters. Each sub-cluster has a scheduling loop of its own, which ends after
``recycleAfter`` idle seconds.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "SubCluster"
REASON: Final = "node(s) belonged to another sub-cluster"
RECYCLE_AFTER: Final = 30 * 86_400.0
"""Default seconds without work after which a sub-cluster's loop ends, as in Gödel."""
LONGEST_IDLE: Final = 3650 * 86_400.0
"""Largest allowed value of ``recycleAfter`` in seconds."""


class SubClusterRule(FilterRule):
    """Restricts pods to the nodes of their sub-cluster."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_LABELS | Cure.POD_CHANGED

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``key``, ``isolated`` and ``recycleAfter``."""
        super().__init__(args)
        given = read.arguments(args, ("key", "isolated", "recycleAfter"), NAME)
        #: Node label; empty if there are no sub-clusters.
        self.key = read.text(given["key"], f"args of {NAME}: key") if "key" in given else ""
        isolated = given.get("isolated", False)
        if not isinstance(isolated, bool):
            raise InputError(f"args of {NAME}: isolated", isolated, "true or false")
        #: True if pods that name no sub-cluster are excluded from all of them.
        self.isolated = isolated
        idle, where = given.get("recycleAfter", RECYCLE_AFTER), f"args of {NAME}: recycleAfter"
        #: Seconds without work after which the loop of a sub-cluster ends.
        self.recycle_after = read.number(idle, 0.0, LONGEST_IDLE, where)

    def named(self, pod: PodClass) -> str:
        """The sub-cluster that a pod names; empty for none."""
        return pod.spec.node_selector.get(self.key, "") if self.key else ""

    def signature(self, pod: PodClass) -> Hashable | None:
        """The sub-cluster that a pod names; ``None`` if it may use any node."""
        if not self.key:
            return None
        named = self.named(pod)
        return (self.key, named) if named or self.isolated else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true on the nodes of the pod's sub-cluster."""
        if self.signature(pod) is None:
            return np.ones(len(slots), np.bool_)
        named = self.named(pod)
        if named:
            return view.nodes.labels.equal(self.key, named, slots)
        outside: BoolArray = view.nodes.labels.column(self.key)[slots] == 0
        return outside
