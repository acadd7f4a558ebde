"""The ratios of all nodes: chosen by pool, situation and measured load, and set in the ledger.

A ratio changes the allocatable amounts, and the binder checks every claim against them. Therefore a
smaller ratio revokes no claim: it only stops new pods. A node is evaluated again when it or its
report changes, and once a minute for the time of day and the age of metrics.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import floor, inf, isfinite
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.clock import timestamp_or_none
from stretto.capacity.overcommit.configured import read_ratio
from stretto.capacity.overcommit.measured import LoadTargets, measured_ratio
from stretto.framework.profile.capacity.overcommit import (
    POOL_LABEL,
    NodeScenario,
    OvercommitPool,
    OvercommitRules,
)
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.promises import NodeRatio, RatioBound
from stretto.state.rows.resources import CPU, MEMORY

RESOURCES: Final = ("cpu", "memory")
"""Measured resources, in the order of the columns of reports."""
TARGETS: Final = (LoadTargets(0.6, 0.4), LoadTargets(0.8, 0.8))
"""Target loads of nodes and minimum loads of pods for CPU and memory, as in Katalyst."""
EVERY_S: Final = 60.0
"""Seconds between two evaluations of all nodes."""
HUNDREDTHS: Final = 100
"""Precision of measured ratios, which are rounded down to hundredths, as in Katalyst."""
STEP: Final = 5
"""Hundredths of a step: a measured ratio is rounded down to whole steps, which hides most noise."""
CLOSED: Final = "OvercommitShrunk"
"""Reason of the event about a node whose promises exceed its ratio."""

NodeWarning = Callable[[str, str, str], None]
"""Writes an event about a node: its name, the reason, the message."""


class _Moment(NamedTuple):
    """Values that are equal for all nodes of one evaluation."""

    #: Wall time in seconds since 1970.
    at: float
    #: Hour of the day in UTC.
    hour: int
    #: Names of the resources that may have a ratio.
    resources: frozenset[str]


class NodeRatios:
    """Updates the ratios of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        rules: OvercommitRules | None,
        wall: Callable[[], float],
        warn: NodeWarning = lambda *_: None,
    ) -> None:
        """Set ratios with these rules; without rules no node is overcommitted.

        Args:
            cluster: the cluster.
            rules: pools and labels.
            wall: the time in seconds since 1970.
            warn: writes an event about a node.
        """
        #: Number of changes so far by kind: ``raised``, ``lowered``, ``closed``.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._rules = rules
        self._wall = wall
        self._warn = warn
        self._changed: set[int] = set()
        self._configs: dict[str, tuple[str, dict[str, float]]] = {}
        self._due = -inf
        if rules is not None:
            cluster.node_updates.listeners.append(self._mark)

    def next_due(self) -> float:
        """Clock time at which all nodes are evaluated again; infinity without rules."""
        return self._due if self._rules is not None and isfinite(self._due) else inf

    def step(self, now: float) -> None:
        """Evaluate the nodes that changed; all of them once a minute or if the rules changed."""
        if self._rules is None:
            return
        if self._read_configs() or now >= self._due:
            self._due = now + EVERY_S
            self._changed.update(self._cluster.nodes.live_slots().tolist())
        if not self._changed:
            return
        changed, self._changed = sorted(self._changed), set()
        at, known = self._wall(), self._cluster.ledger.resources.names
        moment = _Moment(at, datetime.fromtimestamp(at, UTC).hour, frozenset((*RESOURCES, *known)))
        for slot in changed:
            if self._cluster.nodes.live[slot]:
                self._judge(slot, self._rules, moment)
        self._changed.clear()  # setting a ratio marks its node as changed

    def _mark(self, slots: npt.NDArray[np.int64]) -> None:
        self._changed.update(slots.tolist())

    # ------------------------------------------------------------ configured ratios

    def refuse_configs(self) -> None:
        """Report that configured ratios have no effect without rules."""
        for name in self._cluster.overcommit_configs:
            key = f"nodeovercommitconfig {name}"
            if key not in self._cluster.abnormal:
                self._cluster.abnormal[key] = (
                    f"{key} has no effect: the profile has no section overcommit; "
                    "add overcommit: {} to it"
                )

    def _read_configs(self) -> bool:
        """Read the configured ratios of pools; returns whether any changed."""
        found = {}
        for name, config in sorted(self._cluster.overcommit_configs.items()):
            ratios = {}
            for resource, text in config.spec.resource_overcommit_ratio.items():
                ratio = read_ratio(text)
                ratios[resource] = 1.0 if ratio is None else max(ratio, 1.0)
                if ratio is None:
                    key = f"nodeovercommitconfig {name}"
                    self._cluster.abnormal[key] = (
                        f"{key}: spec.resourceOvercommitRatio.{resource}: got {text!r}, expected a "
                        "number; the resource is not overcommitted"
                    )
            found[name] = (config.spec.node_overcommit_selector_val, ratios)
        changed = found != self._configs
        self._configs = found
        return changed

    def _static(self, pool: str) -> Mapping[str, float]:
        """Configured ratios of a pool; of several objects, the smaller ratio counts."""
        found: dict[str, float] = {}
        for value, ratios in self._configs.values():
            if value == pool:
                for resource, ratio in ratios.items():
                    found[resource] = min(ratio, found.get(resource, ratio))
        return found

    # ------------------------------------------------------------ one node

    def _judge(self, slot: int, rules: OvercommitRules, now: _Moment) -> None:
        """Choose and set the ratios of a node."""
        nodes, ledger = self._cluster.nodes, self._cluster.ledger
        name = nodes.labels.value(slot, POOL_LABEL) or ""
        static = self._static(name) if name else {}
        pool = rules.pools.get(name)
        if pool is None and static:
            pool = OvercommitPool(caps=dict(static))
        before, after = ledger.promises.ratios.get(slot, {}), {}
        if pool is not None:
            measured, scenario = self._situation(slot, rules, now)
            for resource in sorted(now.resources.intersection(pool.caps.keys() | static.keys())):
                chosen = pool.choose(resource, scenario, measured, static)
                after[resource] = chosen
        if self._cluster.node_updates.set_ratios(nodes.names[slot], after):
            self._record(slot, {ledger.resources.names[c]: r for c, r in before.items()}, after)

    def _situation(
        self, slot: int, rules: OvercommitRules, now: _Moment
    ) -> tuple[dict[str, float] | None, NodeScenario]:
        """Measured ratios of a node, ``None`` if they are too old, and its scenario."""
        nodes = self._cluster.nodes
        real = self._real(slot)
        used = self._fresh_use(slot, rules.expiration_seconds, now.at)
        load = 1.0 if used is None else min(used[0] / max(real[0], 1), 1.0)
        scenario = NodeScenario(
            nodes.labels.value(slot, rules.environment_label) or "",
            now.hour,
            load,
            nodes.labels.value(slot, rules.service_class_label) or "",
        )
        if used is None:
            return None, scenario
        requested = nodes.reports.requested[slot].tolist()
        measured = {}
        for i, resource in enumerate(RESOURCES):
            ratio = measured_ratio(real[i], requested[i], used[i], TARGETS[i])
            measured[resource] = stepped(ratio)
        return measured, scenario

    def _fresh_use(self, slot: int, expiration_s: float, at: float) -> list[int] | None:
        """Measured use of a node; ``None`` without a recent measurement."""
        reports = self._cluster.nodes.reports
        if slot >= len(reports.used) or reports.used[slot, 0] < 0:
            return None
        measured_s = float(reports.measured_s[slot]) or timestamp_or_none(reports.measured_at[slot])
        if measured_s is None or abs(at - measured_s) > expiration_s:
            return None
        found: list[int] = reports.used[slot].tolist()
        return found

    def _real(self, slot: int) -> tuple[int, int]:
        """CPU and memory of a node before overcommit, in milli-CPU and bytes."""
        ledger = self._cluster.ledger
        real, promised = ledger.promises.real(slot), ledger.alloc[slot]
        cpu, memory = (int(real.get(column, promised[column])) for column in (CPU, MEMORY))
        return cpu, memory

    def _record(
        self, slot: int, before: Mapping[str, NodeRatio], after: Mapping[str, NodeRatio]
    ) -> None:
        """Count changes, and report a node whose promises exceed its ratio, in one event."""
        ledger, closed = self._cluster.ledger, list[str]()
        for resource in sorted({*before, *after}):
            was, now = before.get(resource, _ONE).ratio, after.get(resource, _ONE).ratio
            if was == now:
                continue
            self.counts["raised" if now > was else "lowered"] += 1
            column = ledger.resources.column(resource)
            used, given = int(ledger.used[slot, column]), int(ledger.alloc[slot, column])
            if now < was and used > given:
                self.counts["closed"] += 1
                bound = after.get(resource, _ONE).bound.value
                closed.append(
                    f"{resource}: the ratio falls from {was:g} to {now:g} ({bound}); pods request "
                    f"{100 * used / max(given, 1):.0f} % of what it allows, and no pod is added"
                )
        if closed:
            self._warn(self._cluster.nodes.names[slot], CLOSED, "; ".join(closed))


_ONE: Final = NodeRatio(1.0, 1.0, RatioBound.CAP)
"""The ratio of a resource that is not overcommitted."""


def stepped(ratio: float) -> float:
    """Round a measured ratio down to whole steps.

    The result depends only on the report, so that it is the same after a restart.
    """
    return floor(ratio * HUNDREDTHS) // STEP * STEP / HUNDREDTHS
