"""Values that are computed when metrics are read: pods, units, loops, reports and plugin rules."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.control.controllers.overcommit_eviction import OvercommitEviction
from stretto.control.controllers.rescheduler import Rescheduler
from stretto.control.dispatcher.views import UnitViews
from stretto.control.reporting.reporter import Reporter
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.control.scheduler.shard import Shard
from stretto.explain.metrics.census import NOT_EVALUATED, Census
from stretto.explain.metrics.tally import CounterMetric, MetricFamily, gauge
from stretto.explain.words.reasons import TIERS, ReasonCode
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.units import Units

_QUEUES: Final = {
    "active": (PodState.PENDING, PodState.DISPATCHED),
    "backoff": (PodState.BACKOFF,),
    "unschedulable": (PodState.UNSCHEDULABLE, PodState.ABNORMAL),
    "gated": (PodState.GATED,),
}
"""Pod states by kube-scheduler's queue names."""


class WatchedPlane(NamedTuple):
    """The parts of a plane that metrics read."""

    #: Compiled rules and their cluster.
    engine: CompiledProfile
    #: Every unit.
    units: Units
    #: Read-only views of the dispatcher.
    views: UnitViews
    #: Verdicts of the nodes on classes.
    verdicts: ClassVerdicts
    #: Writes conditions and events; ``None`` for no reports.
    reporter: Reporter | None = None
    #: Moves pods to free capacity; ``None`` to omit its counts.
    rescheduler: Rescheduler | None = None
    #: Evicts pods from over-committed nodes; ``None`` to omit its counts.
    overcommit: OvercommitEviction | None = None
    #: Changes of overcommit ratios by kind.
    ratio_changes: Mapping[str, int] = {}
    #: Returns the current shards; by default none.
    shards: Callable[[], Sequence[Shard]] = tuple


class Gauges:
    """Computes the current values of one plane."""

    def __init__(self, watched: WatchedPlane) -> None:
        """Read from a plane."""
        self._watched = watched
        self._profile = watched.engine.profile.scheduler_names[0]
        self._census = Census(watched.engine, watched.units, watched.views)

    def families(self, now: float) -> list[MetricFamily]:
        """Every current value; ``now`` is clock time, monotonic."""
        return [*self._state(now), *self._promises(), *self._loops(), *self._reported()]

    def _state(self, now: float) -> list[MetricFamily]:
        """Pods, units and nodes."""
        watched = self._watched
        cluster = watched.engine.cluster
        states = np.bincount(cluster.pods.state[: cluster.pods.length], minlength=len(PodState))
        queues = {(q,): float(states[list(s)].sum()) for q, s in _QUEUES.items()}
        pods = {(s.name.lower(),): float(states[s]) for s in PodState if s is not PodState.GONE}
        units = {(s.name.lower(),): float(n) for s, n in watched.views.counts().items()}
        lengths = {(queue,): float(n) for queue, n in watched.views.queue_lengths().items()}
        waiting = {
            (code, TIERS[ReasonCode(code)].value if code != NOT_EVALUATED else ""): float(n)
            for code, n in self._census.counts(now).items()
        }
        nodes = {(): float(len(cluster.nodes.by_name))}
        evicted = CounterMetric(
            "stretto_evicted_pods", "Pods evicted by Stretto, by cause.", "cause"
        )
        for cause, count in cluster.evictions.counts.items():
            evicted.add(count, cause.value)
        unreadable = {(): float(len(cluster.abnormal))}
        return [
            gauge("scheduler_pending_pods", "Pods without a node, by queue.", ("queue",), queues),
            self._unschedulable(now),
            gauge("stretto_waiting_pods", "Pending pods, by reason.", ("code", "tier"), waiting),
            gauge("stretto_pods", "Pods, by state.", ("state",), pods),
            gauge("stretto_units", "Units without a node, by state.", ("state",), units),
            gauge("stretto_queue_units", "Units in each queue.", ("queue",), lengths),
            evicted.family(),
            gauge("stretto_nodes", "Nodes.", (), nodes),
            gauge("stretto_unreadable_objects", "Objects that cannot be read.", (), unreadable),
        ]

    def _promises(self) -> list[MetricFamily]:
        """Metrics of overcommitted nodes: physical and promised amounts, changes of ratios."""
        ledger, sums = self._watched.engine.cluster.ledger, dict[tuple[str, ...], float]()
        for slot in ledger.promises.ratios:
            for column, real in ledger.promises.real(slot).items():
                name = ledger.resources.names[column]
                for kind, amount in (("real", real), ("promised", int(ledger.alloc[slot, column]))):
                    sums[name, kind] = sums.get((name, kind), 0.0) + amount
        changes = CounterMetric(
            "stretto_overcommit_changes", "Changes of overcommit ratios, by kind.", "kind"
        )
        for kind, count in self._watched.ratio_changes.items():
            changes.add(count, kind)
        text = "Physical and promised amounts of overcommitted nodes, in milli-CPU and bytes."
        labels = ("resource", "kind")
        return [gauge("stretto_overcommitted_amount", text, labels, sums), changes.family()]

    def _loops(self) -> list[MetricFamily]:
        """Metrics of the scheduling loops, and the sub-clusters without a loop of their own."""
        shards = self._watched.shards()
        pods = {
            (str(shard.number), loop.sub_cluster): float(len(loop.rows))
            for shard in shards
            for loop in shard.loops
        }
        sharing = {(str(shard.number),): float(len(shard.sharing)) for shard in shards}
        text = "Sub-clusters that share the default loop because the limit of loops is reached."
        return [
            gauge(
                "stretto_loop_pods",
                "Pending pods in each scheduling loop of a shard.",
                ("shard", "sub_cluster"),
                pods,
            ),
            gauge("stretto_sub_clusters_sharing", text, ("shard",), sharing),
        ]

    def _unschedulable(self, now: float) -> MetricFamily:
        """Unschedulable pods by the rules that refuse them on at least one node."""
        pods = self._watched.engine.cluster.pods
        unschedulable = np.flatnonzero(pods.state[: pods.length] == PodState.UNSCHEDULABLE)
        alone = self._census.have_own_reasons(unschedulable)
        classes, counts = np.unique(pods.class_id[unschedulable[~alone]], return_counts=True)
        individual = self._census.plugins(unschedulable[alone])
        found: dict[tuple[str, ...], float] = {(p, self._profile): n for p, n in individual.items()}
        for class_id, count in zip(classes.tolist(), counts.tolist(), strict=True):
            verdict = self._watched.verdicts.of(class_id, now)
            for plugin in verdict.plugins if verdict is not None else ():
                key = (plugin, self._profile)
                found[key] = found.get(key, 0.0) + count
        text = "Unschedulable pods, by each rule that refuses them on some node."
        return gauge("scheduler_unschedulable_pods", text, ("plugin", "profile"), found)

    def _reported(self) -> list[MetricFamily]:
        """Counts kept by the reporter, the controllers and the plugin rules."""
        watched = self._watched
        reports = CounterMetric("stretto_reports", "Conditions and events, by kind.", "kind")
        for kind, count in (watched.reporter.counts if watched.reporter else {}).items():
            reports.add(count, kind)
        moves = CounterMetric("stretto_moves", "Pods moved to free capacity, by outcome.", "result")
        for result, count in (watched.rescheduler.counts if watched.rescheduler else {}).items():
            moves.add(count, result)
        overcommit = CounterMetric(
            "stretto_overcommit_evictions",
            "Evictions on over-committed nodes, by outcome.",
            "result",
        )
        for result, count in (watched.overcommit.counts if watched.overcommit else {}).items():
            overcommit.add(count, result)
        seconds = CounterMetric("stretto_rule_seconds", "Seconds spent in plugin rules.", "plugin")
        slots = CounterMetric("stretto_rule_slots", "Slots evaluated by plugin rules.", "plugin")
        faults = CounterMetric("stretto_rule_faults", "Unusable results of plugin rules.", "plugin")
        for rule in watched.engine.profile.outside:
            health = rule.health
            seconds.add(health.seconds, health.name)
            slots.add(health.slots, health.name)
            faults.add(health.faults, health.name)
        return [each.family() for each in (reports, moves, overcommit, seconds, slots, faults)]
