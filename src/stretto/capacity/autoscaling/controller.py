"""The controller of HorizontalPodAutoscalers, as in Kubernetes' ``podautoscaler/horizontal.go``."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from stretto.api.types.capacity.autoscaling import AutoscalerSpec, HorizontalPodAutoscaler
from stretto.api.wire.kinds import HORIZONTAL_POD_AUTOSCALER
from stretto.base.clock import Clock, timestamp
from stretto.capacity.autoscaling import conditions
from stretto.capacity.autoscaling.decision import ScalingDecision, decide
from stretto.capacity.autoscaling.evaluation import inputs_of
from stretto.capacity.scaling.history import History
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Name, StoreCache, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.recorder import EventRecorder
from stretto.reconcile.scales import AutoscalerPorts, NoScaleError, WorkloadScale

SYNC_S: Final = 15.0
"""Seconds between two evaluations."""
COMPONENT: Final = "horizontal-pod-autoscaler"
"""Reporter of events."""


class AutoscalerController:
    """Computes the replicas of workloads from the metrics of their pods."""

    def __init__(self, cache: StoreCache, clock: Clock, ports: AutoscalerPorts) -> None:
        """Reconcile the autoscalers of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            ports: pods, their metrics, and scales.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/autoscaling"
        self._cache = cache
        self._clock = clock
        self._ports = ports
        self._autoscalers = cache.follow(HORIZONTAL_POD_AUTOSCALER)
        self._events = EventRecorder(cache.store, clock, COMPONENT)
        self._histories: dict[Name, History] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the autoscaler if its spec or its labels differ."""
        if change.source != self._cache.name or change.kind != HORIZONTAL_POD_AUTOSCALER:
            return
        old, new = change.old, change.new
        if old is None or new is None or (old.spec, old.labels) != (new.spec, new.labels):
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Evaluate one autoscaler; return the seconds until the next evaluation.

        Raises:
            RetryError: a write was refused, or there are no metrics yet.
        """
        assert isinstance(key, tuple)
        item = self._autoscalers.get(*key)
        if item is None or item.is_terminating or not self._ports.covers(item):
            self._histories.pop(key, None)
            return None
        spec = item.read(HorizontalPodAutoscaler).spec
        try:
            scale = self._ports.scales.read(item.record.namespace, spec.scale_target_ref)
        except NoScaleError as error:
            self._warn(item, "FailedGetScale", str(error))
            self._report(item, {}, [conditions.no_scale(str(error))])
            return SYNC_S
        problem = self._selector_problem(item, scale)
        if problem is None:
            self._scale(item, spec, scale, now)
        else:
            reason, message = problem
            self._warn(item, reason, message)
            noted = [conditions.found_scale(), conditions.inactive(reason, message)]
            self._report(item, {"currentReplicas": scale.replicas}, noted)
        return SYNC_S

    def _scale(
        self, item: StoredObject, spec: AutoscalerSpec, scale: WorkloadScale, now: float
    ) -> None:
        """Decide, scale and report."""
        history = self._histories.setdefault(item.name, History())
        namespace = item.record.namespace
        metrics = self._ports.metrics.pods(namespace)
        pods = self._ports.pods.pods(namespace)
        inputs = inputs_of(spec, scale, pods, metrics, self._clock.now())
        decision = decide(spec, history, inputs, now)
        noted = [conditions.found_scale(), *decision.conditions]
        for each in decision.events:
            self._events.record(item, each)
        status: dict[str, Any] = {"currentReplicas": scale.replicas}
        status["currentMetrics"] = list(decision.metrics) or None
        if decision.replicas is not None:
            status["desiredReplicas"] = decision.replicas
            if decision.replicas != scale.replicas:
                noted.append(self._rescale(item, spec, decision, decision.replicas))
                status["lastScaleTime"] = self._now_text()
        self._report(item, status, noted)

    def _rescale(
        self, item: StoredObject, spec: AutoscalerSpec, decision: ScalingDecision, replicas: int
    ) -> conditions.AutoscalerCondition:
        """Write the replicas; return the condition about the result."""
        about = f"New size: {replicas}; reason: {decision.reason}"
        try:
            self._ports.scales.write(item.record.namespace, spec.scale_target_ref, replicas)
        except NoScaleError as error:
            self._warn(item, "FailedRescale", f"{about}; error: {error}")
            return conditions.not_rescaled(str(error))
        self._events.record(item, EventText(EventLevel.NORMAL, "SuccessfulRescale", about))
        return conditions.rescaled(replicas)

    def _selector_problem(self, item: StoredObject, scale: WorkloadScale) -> tuple[str, str] | None:
        """Reason and message if the pods of the workload are unknown or have two autoscalers."""
        if not scale.selector:
            return "InvalidSelector", "the HPA target's scale is missing a selector"
        target = item.spec.get("scaleTargetRef") or {}
        others = sorted(
            each.record.name
            for each in self._autoscalers.in_namespace(item.record.namespace)
            if _same(each.spec.get("scaleTargetRef") or {}, target)
        )
        if len(others) > 1:
            names = ", ".join(others)
            text = f"pods by selector {scale.selector} are controlled by multiple HPAs: {names}"
            return "AmbiguousSelector", text
        return None

    def _warn(self, item: StoredObject, reason: str, message: str) -> None:
        self._events.record(item, EventText(EventLevel.WARNING, reason, message))

    def _report(
        self,
        item: StoredObject,
        status: dict[str, Any],
        noted: Sequence[conditions.AutoscalerCondition],
    ) -> None:
        """Write the fields of the status that differ."""
        before = item.status.get("conditions") or ()
        wanted = {**status, "conditions": conditions.merged(before, noted, self._now_text())}
        changed = {key: each for key, each in wanted.items() if item.status.get(key) != each}
        if changed:
            writes.patch_status(self._cache.store, item, changed)

    def _now_text(self) -> str:
        return timestamp(int(self._clock.now()))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two references name the same workload."""
    return all(one.get(each) == other.get(each) for each in ("kind", "name"))
