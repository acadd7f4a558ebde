"""The capacity of a member: sums over its nodes and pods, updated incrementally."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts, format_amount
from stretto.federation.objects.demand import request_of
from stretto.reconcile.cache import Change, Fields, StoredObject

_REPELLING: Final = ("NoSchedule", "NoExecute")
_UNCOUNTED: Final = "pods"
"""Resource that pods do not request: the number of pods."""


class MemberCapacity:
    """Allocatable amounts of a member's nodes and requests of its pods.

    Only ready, schedulable nodes without a taint that repels pods count. The requests of all pods
    that have not ended count, also on other nodes and without a node.
    """

    def __init__(self) -> None:
        """Start with empty sums."""
        self._nodes = 0
        self._allocatable: Counter[str] = Counter()
        self._requested: Counter[str] = Counter()

    def apply(self, change: Change) -> None:
        """Apply a change of a node or a pod; other kinds are ignored."""
        if change.kind == NODE:
            self._add_node(change.old, -1)
            self._add_node(change.new, 1)
        elif change.kind == POD:
            self._add_pod(change.old, -1)
            self._add_pod(change.new, 1)

    def resources(self) -> Fields:
        """``status.resources`` of the FederatedCluster."""
        left = {
            name: max(0, total - self._requested[name]) for name, total in self._allocatable.items()
        }
        return {
            "schedulableNodes": self._nodes,
            "allocatable": _written(self._allocatable),
            "available": _written(left),
        }

    def _add_node(self, node: StoredObject | None, sign: int) -> None:
        if node is None or not _takes_pods(node):
            return
        self._nodes += sign
        for name, count in amounts(node.status.get("allocatable") or {}, "allocatable").items():
            if name != _UNCOUNTED:
                self._allocatable[name] += sign * count

    def _add_pod(self, pod: StoredObject | None, sign: int) -> None:
        if pod is None or pod.status.get("phase") in ENDED:
            return
        for name, count in request_of({"kind": "Pod", "spec": pod.spec}).items():
            self._requested[name] += sign * count


def _written(found: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(name, count) for name, count in sorted(found.items())}


def _takes_pods(node: StoredObject) -> bool:
    """True if a node accepts pods without tolerations."""
    spec = node.spec
    if spec.get("unschedulable"):
        return False
    if any(each.get("effect") in _REPELLING for each in spec.get("taints") or ()):
        return False
    conditions = node.status.get("conditions") or ()
    return all(each.get("status") == "True" for each in conditions if each.get("type") == "Ready")
