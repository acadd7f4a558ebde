"""Metrics of a plane, with kube-scheduler's names where the meaning is the same.

    metrics = Metrics(watched, clock)
    plane.observers.append(metrics.observe)
    families = metrics.families()

The scheduling loop updates counters and histograms in whole batches. Pending pods and their reasons
are counted when the metrics are read, so they are never out of date.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.explain.metrics.gauges import Gauges, WatchedPlane
from stretto.explain.metrics.tally import (
    COUNTS,
    DURATIONS,
    VICTIMS,
    WAITS,
    CounterMetric,
    HistogramMetric,
    MetricFamily,
)
from stretto.explain.records.recorder import ObservedStep
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import SetbackReason

MOST_ATTEMPTS: Final = 15
"""Largest number of attempts with a label of its own; more count as ``15+``, as in kube-scheduler.
"""


class Metrics:
    """Counts the decisions of one plane."""

    def __init__(self, watched: WatchedPlane, clock: Clock) -> None:
        """Start empty."""
        self._watched = watched
        self._clock = clock
        self._profile = watched.engine.profile.scheduler_names[0]
        self._gauges = Gauges(watched)
        #: int64[row]: serial of the pod to which the attempts of the row belong.
        self._serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int32[row]: failed attempts of that pod.
        self._failed: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: float64[row]: clock time of the pod's last change while pending, in seconds.
        self._released_at: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        self._attempts = CounterMetric(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods, by result: scheduled, unschedulable, or conflict "
            "(the claim was refused).",
            "result",
            "profile",
        )
        self._durations = HistogramMetric(
            "scheduler_scheduling_attempt_duration_seconds",
            "Seconds of the step in which an attempt was made, binding included.",
            DURATIONS,
            ("result", "profile"),
        )
        self._waits = HistogramMetric(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Seconds from the first observation of a pod, or its last change (such as the removal "
            "of a gate), to its node.",
            WAITS,
            ("attempts",),
        )
        self._attempts_needed = HistogramMetric(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was scheduled.", COUNTS
        )
        #: int64[row]: serial of the pod for which the node of the row is nominated.
        self._nominated_serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._preemptions = CounterMetric("scheduler_preemption_attempts", "Preemption attempts.")
        self._victims = HistogramMetric(
            "scheduler_preemption_victims", "Victims per preemption.", VICTIMS
        )
        self._refused = CounterMetric(
            "stretto_claims_refused", "Claims refused by the binder or the store.", "cause"
        )
        self._placed = CounterMetric(
            "stretto_pods_placed", "Pods that got a node, by shard.", "shard"
        )
        self._given_up = CounterMetric("stretto_pods_given_up", "Pods of failed units.", "reason")
        self._steps = CounterMetric(
            "stretto_steps", "Steps of the plane with at least one decision."
        )

    # ------------------------------------------------------------ in the loop

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Count binds, and restart the waiting time of a pod whose gate was removed."""
        if changes.regrouped:
            self._grow()
            rows = np.array([each.row for each in changes.regrouped if not each.gated], np.int64)
            self._reset_reused(rows)
            fresh = rows[self._failed[rows] == 0]
            self._released_at[fresh] = now
        if changes.bound:
            self._grow()
            bound = np.array(changes.bound, np.int64)
            serials = self._watched.engine.cluster.pods.serial[bound]
            confirmed = bound[self._nominated_serial[bound] == serials]
            self._nominated_serial[confirmed] = 0
            self._succeed(confirmed, now)
            self._attempts.add(len(confirmed), "scheduled", self._profile)

    def observe(self, step: ObservedStep) -> None:
        """Count one step of the plane."""
        now = self._clock.monotonic()
        duration = now - step.now
        self._grow()
        self._steps.add(1)
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            rows = chain.from_iterable(
                e.rows for e in plan.setbacks if e.why is SetbackReason.NO_PLACE
            )
            failed = np.fromiter(rows, np.int64)
            self._count("unschedulable", len(failed), duration)
            self._fail(failed)
            self._succeed(verdict.granted, now)
            self._count("scheduled", len(verdict.granted), duration)
            self._placed.add(len(verdict.granted), str(plan.shard))
            self._nominate(plan, verdict, duration)
            self._refuse([(rows, cause.value) for _, rows, cause in verdict.refused], duration)
        self._refuse([(rows, cause.value) for _, rows, cause in step.refusals], duration)
        for failure in step.failed:
            self._given_up.add(len(failure.rows), failure.reason.value)

    def _nominate(self, plan: Plan, verdict: Verdict, duration: float) -> None:
        """Count nominations; as in kube-scheduler, the attempt counts as unschedulable."""
        rows = verdict.nominated
        if len(rows):
            self._count("unschedulable", len(rows), duration)
            self._fail(rows)
            self._nominated_serial[rows] = self._serial[rows]
        self._preemptions.add(sum(not preemption.awaited for preemption in plan.preemptions))
        for preemption in plan.preemptions:
            start = plan.units[preemption.claims].start
            if preemption.victims and plan.rows[start] in rows:
                self._victims.add_same(float(len(preemption.victims)), 1)

    def _count(self, result: str, count: int, duration: float) -> None:
        self._attempts.add(count, result, self._profile)
        self._durations.add_same(duration, count, result, self._profile)

    def _refuse(self, refused: Sequence[tuple[tuple[int, ...], str]], duration: float) -> None:
        for rows, cause in refused:
            self._count("conflict", len(rows), duration)
            self._refused.add(len(rows), cause)
            self._fail(np.array(rows, np.int64))

    def _grow(self) -> None:
        missing = len(self._watched.engine.cluster.pods.state) - len(self._serial)
        if missing > 0:
            self._serial = np.concatenate([self._serial, np.zeros(missing, np.int64)])
            self._failed = np.concatenate([self._failed, np.zeros(missing, np.int32)])
            self._released_at = np.concatenate([self._released_at, np.zeros(missing, np.float64)])
            self._nominated_serial = np.concatenate(
                [self._nominated_serial, np.zeros(missing, np.int64)]
            )

    def _reset_reused(self, rows: npt.NDArray[np.int64]) -> None:
        """Reset rows that belong to another pod now."""
        serials = self._watched.engine.cluster.pods.serial[rows]
        other = rows[self._serial[rows] != serials]
        self._failed[other], self._released_at[other] = 0, 0.0
        self._serial[rows] = serials

    def _fail(self, rows: npt.NDArray[np.int64]) -> None:
        self._reset_reused(rows)
        np.add.at(self._failed, rows, 1)

    def _succeed(self, rows: npt.NDArray[np.int64], now: float) -> None:
        if not len(rows):
            return
        self._reset_reused(rows)
        attempts = self._failed[rows] + 1
        self._attempts_needed.add(attempts.astype(np.float64))
        since = np.maximum(self._watched.engine.cluster.pods.since[rows], self._released_at[rows])
        for number in np.unique(np.minimum(attempts, MOST_ATTEMPTS)).tolist():
            last = number == MOST_ATTEMPTS
            mine = attempts >= number if last else attempts == number
            self._waits.add(now - since[mine], f"{number}+" if last else str(number))
        self._failed[rows] = 0

    # ------------------------------------------------------------ on reading

    def families(self) -> list[MetricFamily]:
        """The current values of every metric."""
        counted = (
            self._attempts, self._durations, self._waits, self._attempts_needed,
            self._preemptions, self._victims, self._refused, self._placed, self._given_up,
            self._steps,
        )  # fmt: skip
        now = self._clock.monotonic()
        return [*self._gauges.families(now), *(each.family() for each in counted)]
