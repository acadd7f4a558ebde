"""The controller of VerticalPodAutoscalers: it publishes requests from the use of the pods.

A history lives in memory and is stored as a checkpoint every few minutes, so a restart continues
it. The controller writes statuses and checkpoints, and never changes a pod.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stretto.api.types.capacity.vertical import VerticalPodAutoscaler
from stretto.api.wire.kinds import VERTICAL_POD_AUTOSCALER
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError
from stretto.capacity.autoscaling.conditions import AutoscalerCondition
from stretto.capacity.vertical import conditions
from stretto.capacity.vertical.evaluation import VerticalEvaluation
from stretto.capacity.vertical.source import DEFAULT_RECOMMENDER, VerticalSource
from stretto.capacity.vertical.stored import CheckpointObjects
from stretto.capacity.vertical.workload import WorkloadUse
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Name, StoreCache, StoredObject

SYNC_S: Final = 60.0
"""Seconds between two evaluations; a complete history has one sample in this time."""
CHECKPOINT_S: Final = 300.0
"""Seconds between two checkpoints; a crash loses the samples of this time."""


@dataclass(frozen=True)
class _Evaluated:
    """State of one object."""

    #: Kind and name of its target.
    target: tuple[str, str]
    #: Histories of the containers of the target.
    use: WorkloadUse
    #: Monotonic time of the last checkpoint, in seconds.
    stored_at: float = -math.inf


class VerticalController:
    """Computes the requests of containers from their use."""

    def __init__(self, cache: StoreCache, clock: Clock, source: VerticalSource) -> None:
        """Reconcile the VerticalPodAutoscalers of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            source: measurements and parameters.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/vertical"
        self._cache = cache
        self._clock = clock
        self._source = source
        self._autoscalers = cache.follow(VERTICAL_POD_AUTOSCALER)
        self._checkpoints = CheckpointObjects(cache, clock, source.config)
        self._evaluation = VerticalEvaluation(cache, clock, source)
        self._evaluated: dict[Name, _Evaluated] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the autoscaler if its spec differs."""
        if change.source != self._cache.name or change.kind != VERTICAL_POD_AUTOSCALER:
            return
        old, new = change.old, change.new
        if old is None or new is None or old.spec != new.spec:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Evaluate one autoscaler; return the seconds until the next evaluation.

        Raises:
            RetryError: a write was refused, or there are no metrics yet.
        """
        assert isinstance(key, tuple)
        item = self._autoscalers.active(key)
        if item is None:
            self._evaluated.pop(key, None)
            return None
        try:
            autoscaler = item.read(VerticalPodAutoscaler)
        except InputError as error:
            self._report(item, {}, [conditions.unsupported("InvalidSpec", str(error))])
            return None
        named = [each.name for each in autoscaler.spec.recommenders] or [DEFAULT_RECOMMENDER]
        if self._source.recommender not in named:
            self._evaluated.pop(key, None)
            return None
        state = self._state(item, autoscaler)
        found = self._evaluation.evaluate(item, autoscaler, state.use)
        self._report(item, {"recommendation": found.recommendation}, found.conditions)
        if now - state.stored_at >= CHECKPOINT_S:
            self._checkpoints.store(item, state.use)
            self._evaluated[key] = replace(state, stored_at=now)
        return SYNC_S

    def _state(self, item: StoredObject, autoscaler: VerticalPodAutoscaler) -> _Evaluated:
        """Return the state of an object; without one, start from its checkpoints."""
        target = autoscaler.spec.target_ref.kind, autoscaler.spec.target_ref.name
        state = self._evaluated.get(item.name)
        if state is not None and state.target == target:
            return state
        use = WorkloadUse(self._source.config, self._clock.now())
        if state is None:  # the histories of another target do not count
            self._checkpoints.restore(item, use)
        state = self._evaluated[item.name] = _Evaluated(target, use)
        return state

    def _report(
        self, item: StoredObject, status: dict[str, Any], noted: Sequence[AutoscalerCondition]
    ) -> None:
        """Write the fields of the status that differ.

        Raises:
            RetryError: the write was refused.
        """
        generation = item.metadata.get("generation", 1)
        now = timestamp(int(self._clock.now()))
        found = conditions.updated(item.status.get("conditions") or (), noted, now)
        wanted = {**status, "observedGeneration": generation, "conditions": found}
        changed = {key: each for key, each in wanted.items() if item.status.get(key) != each}
        if changed:
            writes.patch_status(self._cache.store, item, changed)
