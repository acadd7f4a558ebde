"""The figures of a plane for a monitoring system, kube-scheduler's names where they mean the same.

    metrics = Metrics(watched, clock)
    plane.observers.append(metrics.observe)
    families = metrics.families()

The loop adds whole batches to counters and histograms; no pod is looked at by itself. What waits
and why is counted when somebody asks for the figures, so it cannot be out of date: a reason that
no longer holds is not there any more.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.control.controllers.overcommit_relief import OvercommitEviction
from stretto.control.controllers.rescheduler import Rescheduler
from stretto.control.dispatcher.views import UnitViews
from stretto.control.reporting.reporter import Reporter
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.control.scheduler.shard import Shard
from stretto.explain.metrics.census import NOT_ASKED, Census
from stretto.explain.metrics.tally import (
    COUNTS,
    DURATIONS,
    VICTIMS,
    WAITS,
    CounterMetric,
    HistogramMetric,
    MetricFamily,
    gauge,
)
from stretto.explain.records.recorder import ObservedStep
from stretto.explain.words.reasons import TIERS, ReasonCode
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import SetbackReason, Units

MOST_ATTEMPTS: Final = 15
"""Attempts that have a label of their own; more are ``15+``, as in kube-scheduler."""
_QUEUES: Final = {
    "active": (PodState.PENDING, PodState.DISPATCHED),
    "backoff": (PodState.BACKOFF,),
    "unschedulable": (PodState.UNSCHEDULABLE, PodState.ABNORMAL),
    "gated": (PodState.GATED,),
}
"""kube-scheduler's queues by our states."""


class WatchedPlane(NamedTuple):
    """What of a plane is looked at."""

    #: The rules, and the cluster that they judge.
    engine: CompiledProfile
    #: Every unit.
    units: Units
    #: Positions and counts of the dispatcher.
    views: UnitViews
    #: What nodes say to classes.
    verdicts: ClassVerdicts
    #: What is told in the store; ``None`` where nothing is.
    reporter: Reporter | None = None
    #: Moves pods; ``None`` where nobody looks at that.
    rescheduler: Rescheduler | None = None
    #: Relieves nodes; ``None`` where nobody looks at that.
    relief: OvercommitEviction | None = None
    #: The shards that there are now; nothing where nobody looks at them.
    shards: Callable[[], Sequence[Shard]] = tuple


class Metrics:
    """Counts what one plane does."""

    def __init__(self, watched: WatchedPlane, clock: Clock) -> None:
        """Start at nothing."""
        self._watched = watched
        self._clock = clock
        self._profile = watched.engine.profile.scheduler_names[0]
        self._census = Census(watched.engine, watched.units, watched.views)
        #: int64[row]: serial of the pod whose attempts are counted in the row.
        self._serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int32[row]: attempts of that pod that came to nothing.
        self._tries: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: float64[row]: clock time at which it was last changed while it waited.
        self._freed: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        self._attempts = CounterMetric(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods, by result: scheduled, unschedulable, or conflict "
            "(the claim was refused).",
            "result",
            "profile",
        )
        self._lasted = HistogramMetric(
            "scheduler_scheduling_attempt_duration_seconds",
            "Seconds of the step in which an attempt was made, binding included.",
            DURATIONS,
            ("result", "profile"),
        )
        self._waited = HistogramMetric(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Seconds from the first sight of a pod, or its last change (such as the removal of a "
            "gate), to its node.",
            WAITS,
            ("attempts",),
        )
        self._tried = HistogramMetric(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was scheduled.", COUNTS
        )
        #: int64[row]: serial of the pod for which the row's node is kept.
        self._kept: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._preemptions = CounterMetric(
            "scheduler_preemption_attempts", "Preemptions that were tried."
        )
        self._victims = HistogramMetric(
            "scheduler_preemption_victims", "Pods asked to leave, by preemption.", VICTIMS
        )
        self._refused = CounterMetric(
            "stretto_claims_refused", "Claims refused by the binder or the store.", "cause"
        )
        self._placed = CounterMetric(
            "stretto_pods_placed", "Pods that got a node, by shard.", "shard"
        )
        self._given_up = CounterMetric("stretto_pods_given_up", "Pods of units given up.", "reason")
        self._steps = CounterMetric(
            "stretto_steps", "Steps of the plane in which something was decided."
        )

    # ------------------------------------------------------------ in the loop

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Hear of changes: a pod that was held back begins to wait when it is let go."""
        if changes.regrouped:
            self._fit()
            rows = np.array([each.row for each in changes.regrouped if not each.gated], np.int64)
            self._renew(rows)
            fresh = rows[self._tries[rows] == 0]
            self._freed[fresh] = now
        if changes.bound:
            self._fit()
            bound = np.array(changes.bound, np.int64)
            came = bound[self._kept[bound] == self._watched.engine.cluster.pods.serial[bound]]
            self._kept[came] = 0
            self._succeed(came, now)
            self._attempts.add(len(came), "scheduled", self._profile)

    def observe(self, step: ObservedStep) -> None:
        """Count one step of the plane."""
        now = self._clock.monotonic()
        lasted = now - step.now
        self._fit()
        self._steps.add(1)
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            rows = chain.from_iterable(
                e.rows for e in plan.setbacks if e.why is SetbackReason.NO_PLACE
            )
            failed = np.fromiter(rows, np.int64)
            self._count("unschedulable", len(failed), lasted)
            self._fail(failed)
            self._succeed(verdict.granted, now)
            self._count("scheduled", len(verdict.granted), lasted)
            self._placed.add(len(verdict.granted), str(plan.shard))
            self._nominate(plan, verdict, lasted)
            self._refuse([(rows, cause.value) for _, rows, cause in verdict.refused], lasted)
        self._refuse([(rows, cause.value) for _, rows, cause in step.refusals], lasted)
        for failure in step.failed:
            self._given_up.add(len(failure.rows), failure.reason.value)

    def _nominate(self, plan: Plan, verdict: Verdict, lasted: float) -> None:
        """Nodes are kept for pods: as in kube-scheduler, that attempt found no room yet."""
        rows = verdict.nominated
        if len(rows):
            self._count("unschedulable", len(rows), lasted)
            self._fail(rows)
            self._kept[rows] = self._serial[rows]
        self._preemptions.add(sum(not wanted.awaited for wanted in plan.preemptions))
        for wanted in plan.preemptions:
            start = plan.units[wanted.claims].start
            if wanted.victims and plan.rows[start] in rows:
                self._victims.add_same(float(len(wanted.victims)), 1)

    def _count(self, result: str, count: int, lasted: float) -> None:
        self._attempts.add(count, result, self._profile)
        self._lasted.add_same(lasted, count, result, self._profile)

    def _refuse(self, refused: Sequence[tuple[tuple[int, ...], str]], lasted: float) -> None:
        for rows, cause in refused:
            self._count("conflict", len(rows), lasted)
            self._refused.add(len(rows), cause)
            self._fail(np.array(rows, np.int64))

    def _fit(self) -> None:
        missing = len(self._watched.engine.cluster.pods.state) - len(self._serial)
        if missing > 0:
            self._serial = np.concatenate([self._serial, np.zeros(missing, np.int64)])
            self._tries = np.concatenate([self._tries, np.zeros(missing, np.int32)])
            self._freed = np.concatenate([self._freed, np.zeros(missing, np.float64)])
            self._kept = np.concatenate([self._kept, np.zeros(missing, np.int64)])

    def _renew(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin anew where a row stands for another pod now."""
        serials = self._watched.engine.cluster.pods.serial[rows]
        other = rows[self._serial[rows] != serials]
        self._tries[other], self._freed[other] = 0, 0.0
        self._serial[rows] = serials

    def _fail(self, rows: npt.NDArray[np.int64]) -> None:
        self._renew(rows)
        np.add.at(self._tries, rows, 1)

    def _succeed(self, rows: npt.NDArray[np.int64], now: float) -> None:
        if not len(rows):
            return
        self._renew(rows)
        tries = self._tries[rows] + 1
        self._tried.add(tries.astype(np.float64))
        since = np.maximum(self._watched.engine.cluster.pods.since[rows], self._freed[rows])
        for attempts in np.unique(np.minimum(tries, MOST_ATTEMPTS)).tolist():
            mine = tries >= attempts if attempts == MOST_ATTEMPTS else tries == attempts
            label = f"{attempts}+" if attempts == MOST_ATTEMPTS else str(attempts)
            self._waited.add(now - since[mine], label)
        self._tries[rows] = 0

    # ------------------------------------------------------------ when somebody asks

    def families(self) -> list[MetricFamily]:
        """Every metric as it stands now."""
        counted = (
            self._attempts, self._lasted, self._waited, self._tried,
            self._preemptions, self._victims, self._refused, self._placed, self._given_up,
            self._steps,
        )  # fmt: skip
        return [
            *self._state_figures(),
            *self._loops(),
            *(each.family() for each in counted),
            *self._told(),
        ]

    def _state_figures(self) -> list[MetricFamily]:
        """Figures of what is, now."""
        watched, now = self._watched, self._clock.monotonic()
        cluster = watched.engine.cluster
        states = np.bincount(cluster.pods.state[: cluster.pods.length], minlength=len(PodState))
        queues = {(q,): float(states[list(s)].sum()) for q, s in _QUEUES.items()}
        pods = {(s.name.lower(),): float(states[s]) for s in PodState if s is not PodState.GONE}
        units = {(s.name.lower(),): float(n) for s, n in watched.views.counts().items()}
        lengths = {(queue,): float(n) for queue, n in watched.views.queue_lengths().items()}
        waiting = {
            (code, TIERS[ReasonCode(code)].value if code != NOT_ASKED else ""): float(n)
            for code, n in self._census.counts(now).items()
        }
        nodes = {(): float(len(cluster.nodes.by_name))}
        left = {(cause.value,): float(n) for cause, n in cluster.evictions.counts.items() if n}
        unreadable = {(): float(len(cluster.abnormal))}
        return [
            gauge("scheduler_pending_pods", "Pods that want a node, by queue.", ("queue",), queues),
            self._unschedulable(now),
            gauge("stretto_waiting_pods", "Pods that wait, by why.", ("code", "tier"), waiting),
            gauge("stretto_pods", "Pods, by state.", ("state",), pods),
            gauge("stretto_units", "Units that wait, by state.", ("state",), units),
            gauge("stretto_queue_units", "Units in each queue.", ("queue",), lengths),
            gauge("stretto_evicted_pods", "Pods that left on our word, by why.", ("cause",), left),
            gauge("stretto_nodes", "Nodes.", (), nodes),
            gauge("stretto_unreadable_objects", "Objects that cannot be read.", (), unreadable),
        ]

    def _loops(self) -> list[MetricFamily]:
        """What each scheduling loop has in hand, and sub-clusters that have none of their own."""
        shards = self._watched.shards()
        pods = {
            (str(shard.number), loop.sub_cluster): float(loop.waiting)
            for shard in shards
            for loop in shard.loops
        }
        sharing = {(str(shard.number),): float(len(shard.sharing)) for shard in shards}
        text = "Sub-clusters that share the default loop because there are too many."
        return [
            gauge(
                "stretto_loop_pods",
                "Pods that wait in each scheduling loop of a shard.",
                ("shard", "sub_cluster"),
                pods,
            ),
            gauge("stretto_sub_clusters_sharing", text, ("shard",), sharing),
        ]

    def _unschedulable(self, now: float) -> MetricFamily:
        """Unschedulable pods by the rules that refuse them somewhere."""
        pods = self._watched.engine.cluster.pods
        asleep = np.flatnonzero(pods.state[: pods.length] == PodState.UNSCHEDULABLE)
        alone = self._census.have_own_reasons(asleep)
        classes, counts = np.unique(pods.class_id[asleep[~alone]], return_counts=True)
        told = self._census.plugins(asleep[alone])
        found: dict[tuple[str, ...], float] = {(p, self._profile): n for p, n in told.items()}
        for class_id, count in zip(classes.tolist(), counts.tolist(), strict=True):
            said = self._watched.verdicts.of(class_id, now)
            for plugin in said.plugins if said is not None else ():
                key = (plugin, self._profile)
                found[key] = found.get(key, 0.0) + count
        text = "Unschedulable pods, by each rule that refuses them on some node."
        return gauge("scheduler_unschedulable_pods", text, ("plugin", "profile"), found)

    def _told(self) -> list[MetricFamily]:
        """What was told in the store, and what rules did wrong."""
        watched = self._watched
        told = CounterMetric("stretto_reports", "Conditions and events written, by kind.", "kind")
        for kind, count in (watched.reporter.counts if watched.reporter else {}).items():
            told.add(count, kind)
        moves = CounterMetric(
            "stretto_moves", "Pods moved so that room comes free, by outcome.", "result"
        )
        for result, count in (watched.rescheduler.counts if watched.rescheduler else {}).items():
            moves.add(count, result)
        relieved = CounterMetric(
            "stretto_relief", "Over-committed nodes: what could be done.", "result"
        )
        for result, count in (watched.relief.counts if watched.relief else {}).items():
            relieved.add(count, result)
        seconds = CounterMetric(
            "stretto_rule_seconds", "Seconds spent in rules from outside.", "plugin"
        )
        slots = CounterMetric("stretto_rule_slots", "Slots that they were asked about.", "plugin")
        faults = CounterMetric("stretto_rule_faults", "Answers that could not be used.", "plugin")
        for rule in watched.engine.profile.outside:
            health = rule.health
            seconds.add(health.seconds, health.name)
            slots.add(health.slots, health.name)
            faults.add(health.faults, health.name)
        return [each.family() for each in (told, moves, relieved, seconds, slots, faults)]
