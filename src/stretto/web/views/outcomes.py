"""Decisions of the steps of a running plane: the latest ones, and totals by shard."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.explain.records.recorder import StepKind
from stretto.plane.config import Step
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import SetbackReason
from stretto.web.views.decisions import DecisionLog, PodDecision

_SHOWN_PER_STEP: Final = 50
"""Maximum logged decisions of each kind per step: a step may place thousands of pods."""


class StepOutcomes:
    """Observer of the steps of a plane."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        """Create the observer, without decisions.

        Args:
            cluster: the state of the plane, for names.
            clock: source of the times of decisions.
        """
        #: The latest decisions.
        self.log = DecisionLog()
        #: Pods by shard and kind of step, since the start.
        self.counts: Counter[tuple[int, StepKind]] = Counter()
        self._cluster = cluster
        self._clock = clock

    def observe(self, step: Step) -> None:
        """Record the decisions of a step."""
        now = self._clock.now()
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            self._count(plan, verdict)
            self.log.add(list(self._decided(now, plan, verdict)))
        for started in step.evictions.started:
            cause = started.cause.value
            self.log.add([PodDecision(now, v.key, cause, v.node) for v in started.victims])

    def _count(self, plan: Plan, verdict: Verdict) -> None:
        self.counts[plan.shard, StepKind.PLACED] += len(verdict.granted)
        for _, rows, _ in verdict.refused:
            self.counts[plan.shard, StepKind.REFUSED] += len(rows)
        for setback in plan.setbacks:
            if setback.why is SetbackReason.NO_PLACE:
                self.counts[plan.shard, StepKind.NO_PLACE] += len(setback.rows)

    def _decided(self, now: float, plan: Plan, verdict: Verdict) -> Iterator[PodDecision]:
        shard, key = plan.shard, self._cluster.pods.key
        yield from self._on_nodes(now, shard, "placed", verdict.granted)
        yield from self._on_nodes(now, shard, "waits for its victims", verdict.nominated)
        for _, rows, cause in verdict.refused[-_SHOWN_PER_STEP:]:
            yield PodDecision(now, key(rows[0]), f"claim refused: {cause.value}", shard=shard)
        for setback in plan.setbacks[-_SHOWN_PER_STEP:]:
            yield PodDecision(now, key(setback.rows[0]), setback.why.value, shard=shard)

    def _on_nodes(
        self, now: float, shard: int, word: str, rows: npt.NDArray[np.int64]
    ) -> Iterator[PodDecision]:
        pods, nodes = self._cluster.pods, self._cluster.nodes
        for row in rows[-_SHOWN_PER_STEP:].tolist():
            slot = int(pods.slot[row])
            yield PodDecision(
                now, pods.key(row), word, nodes.names[slot] if slot >= 0 else "", shard
            )
