"""The status of PodDisruptionBudgets: healthy pods and allowed disruptions.

As in the disruption controller of Kubernetes; evictions consume the allowed disruptions.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import (
    DEPLOYMENT,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from stretto.base.errors import StrettoError
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import with_condition
from stretto.stores.embedded.disruption import CompiledBudget, decode_budget
from stretto.workloads.cluster import LocalCluster, owner_of, ready_since

_FORGET_S: Final = 120.0
"""Seconds after which an evicted pod that still exists counts again."""
_ALLOWED: Final = "DisruptionAllowed"
_SCALED: Final = {each.kind: each for each in (REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET)}


class BudgetController:
    """Controller that writes the status of each budget."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the budgets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/budgets"
        self._cluster = cluster
        self._budgets = cluster.objects(POD_DISRUPTION_BUDGET)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed budget, or the budgets in the namespace of a changed pod or workload."""
        if change.source != self._cluster.name:
            return
        if change.kind == POD_DISRUPTION_BUDGET:
            yield change.object.name
        elif change.kind in (POD, *_SCALED.values(), DEPLOYMENT):
            for each in self._budgets.in_namespace(change.object.record.namespace):
                yield each.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write the status of one budget."""
        item = self._budgets.active(key)
        if item is None:
            return None
        try:
            budget = decode_budget(item.record.body)
        except StrettoError:
            return None  # stored before it was validated
        pods = self._covered(item, budget)
        disrupted = self._disrupted(item, pods)
        healthy = sum(
            ready_since(each) is not None
            and not each.is_terminating
            and each.record.name not in disrupted
            for each in pods
        )
        expected = self._expected(pods, budget)
        desired = budget.desired(expected)
        allowed = max(0, healthy - desired) if expected else 0
        status = {
            "observedGeneration": item.metadata.get("generation", 1),
            "disruptedPods": disrupted or None,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": self._conditions(item, allowed),
        }
        self._cluster.set_status(item, status)
        return _FORGET_S if disrupted else None

    def _covered(self, item: StoredObject, budget: CompiledBudget) -> list[StoredObject]:
        pods = self._cluster.objects(POD).in_namespace(item.record.namespace)
        return [
            pod
            for pod in pods
            if pod.status.get("phase") not in ENDED and budget.selector.matches(dict(pod.labels))
        ]

    def _disrupted(self, item: StoredObject, pods: list[StoredObject]) -> dict[str, str]:
        """Evicted pods that are not being deleted yet."""
        waiting = {each.record.name for each in pods if not each.is_terminating}
        stated: dict[str, str] = item.status.get("disruptedPods") or {}
        return {
            name: since
            for name, since in stated.items()
            if name in waiting and self._cluster.age(since) < _FORGET_S
        }

    def _expected(self, pods: list[StoredObject], budget: CompiledBudget) -> int:
        """The number of pods if the budget has a fixed number.

        Otherwise the sizes of their workloads.
        """
        if budget.spec.max_unavailable is None and isinstance(budget.spec.min_available, int):
            return len(pods)
        sizes: dict[str, int] = {}
        for pod in pods:
            workload = self._workload(pod)
            uid = pod.record.uid if workload is None else workload.record.uid
            sizes[uid] = 1 if workload is None else int(workload.spec.get("replicas", 1))
        return sum(sizes.values())

    def _workload(self, pod: StoredObject) -> StoredObject | None:
        """The workload that sets the number of pods like this one; ``None`` if unknown."""
        found = self._owner(pod)
        above = None if found is None else owner_of(found)
        if found is not None and above is not None and above.get("kind") == "Deployment":
            deployments = self._cluster.objects(DEPLOYMENT)
            return deployments.get(found.record.namespace, above["name"]) or found
        return found

    def _owner(self, pod: StoredObject) -> StoredObject | None:
        owner = owner_of(pod)
        kind = _SCALED.get(owner["kind"]) if owner is not None else None
        if owner is None or kind is None:
            return None
        return self._cluster.objects(kind).get(pod.record.namespace, owner["name"])

    def _conditions(self, item: StoredObject, allowed: int) -> list[Fields]:
        word, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        new: dict[str, Any] = {
            "type": _ALLOWED,
            "status": word,
            "observedGeneration": item.metadata.get("generation", 1),
            "reason": reason,
            "message": "",
        }
        return with_condition(item.status.get("conditions"), new, self._cluster.now_text())
