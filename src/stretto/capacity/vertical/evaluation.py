"""One evaluation of a VerticalPodAutoscaler: measurements in, recommendation and conditions out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from stretto.api.types.capacity.vertical import VerticalPodAutoscaler, VerticalUpdateMode
from stretto.base.clock import Clock
from stretto.base.errors import InputError, StrettoError
from stretto.capacity.autoscaling.conditions import AutoscalerCondition
from stretto.capacity.scaling.targets import active_pods
from stretto.capacity.vertical import conditions
from stretto.capacity.vertical.pods import FOLLOWED, measured_pods, target_of
from stretto.capacity.vertical.policies import recommendation_of
from stretto.capacity.vertical.source import SharedMetrics, VerticalSource
from stretto.capacity.vertical.workload import WorkloadUse
from stretto.reconcile.cache import StoreCache, StoredObject


class Evaluated(NamedTuple):
    """Result of an evaluation."""

    #: The recommendation as JSON; ``None`` without one.
    recommendation: dict[str, Any] | None
    #: Conditions that hold now.
    conditions: Sequence[AutoscalerCondition]


class VerticalEvaluation:
    """Evaluates VerticalPodAutoscalers of a cluster."""

    def __init__(self, cache: StoreCache, clock: Clock, source: VerticalSource) -> None:
        """Follow the workloads and pods of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            source: measurements and parameters.
        """
        self._cache = cache
        self._clock = clock
        self._source = source
        self._metrics = SharedMetrics(source.metrics, clock)
        for kind in FOLLOWED:
            cache.follow(kind)

    def evaluate(
        self, item: StoredObject, autoscaler: VerticalPodAutoscaler, use: WorkloadUse
    ) -> Evaluated:
        """Add the current measurements to the histories, and return the recommendation.

        Raises:
            RetryError: there are no metrics yet.
        """
        noted = []
        problem = None
        if autoscaler.mode is not VerticalUpdateMode.OFF:
            noted.append(conditions.not_applied(autoscaler.mode))
        try:
            target = target_of(self._cache, item.record.namespace, autoscaler.spec.target_ref)
            pods = active_pods(self._cache, target)
        except InputError as error:
            pods = []
            problem = conditions.unsupported("TargetUnreadable", str(error))
        if pods:
            noted.append(self._observe(item, pods, use))
        else:
            problem = problem or conditions.no_pods()
            noted.append(problem)
        use.drop_expired(self._clock.now())
        found = recommendation_of(autoscaler, use.current, self._source.config)
        noted.append(conditions.provided(found is not None, problem))
        return Evaluated(msgspec.to_builtins(found), noted)

    def _observe(
        self, item: StoredObject, pods: Sequence[StoredObject], use: WorkloadUse
    ) -> AutoscalerCondition:
        """Add measurements and kills; return the condition about the measurements."""
        now = self._clock.now()
        try:
            metrics = self._metrics.pods(item.record.namespace)
        except StrettoError as error:
            use.observe(measured_pods(pods, {}, now))
            return conditions.unmeasured(str(error))
        count = use.observe(measured_pods(pods, metrics, now))
        return conditions.measured(len(pods), count)
