"""Node-agent reports by node: the NUMA layout and measured usage.

A CustomNodeResource has the name of its node and may exist before the node is created or after it
is deleted. The last report of each name is kept, so that it also applies to a re-created node.
Measurements are stored in columns by slot, where load-aware rules read them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.types.cnr import CnrTaint, CustomNodeResource, GroupUsage, Usage
from stretto.api.wire.quantity import amount
from stretto.base.clock import timestamp_or_none
from stretto.base.copies import copied_with
from stretto.base.errors import InputError
from stretto.state.nodes.measured_pods import NOT_MEASURED, MeasuredPods, parts_of_use
from stretto.state.nodes.measurements import NodeUseHistory
from stretto.state.numa.layout import NO_LAYOUT, NumaLayout, read_layout

NEVER_MEASURED: Final = ""
"""Measurement time of a node without measurement."""
AHEAD_S: Final = 3600.0
"""Seconds by which a measurement may be ahead of most others.

Beyond them, the agent's clock is wrong. A measurement that goes back by less is a late copy; if it
goes back by more, the clock was set.
"""
MOST_CPU: Final = 10**9
"""Milli-CPU of a million cores.

A larger value is invalid, and percentages of a smaller one fit in 64 bits.
"""
MOST_MEMORY: Final = 1 << 53
"""Bytes (8 PiB): upper bound of valid memory, as for CPU."""
MOST: Final = 0.9
"""Fraction of the nodes whose measurements determine the current time."""


class MeasuredLevels(NamedTuple):
    """Use of a node by QoS level."""

    #: Level by measured pod (``namespace/name``); ``None`` if the report lists no pods.
    by_pod: Mapping[str, int] | None
    #: int64[level, 2]: milli-CPU and bytes; the first level is the rest of the node.
    use: npt.NDArray[np.int64]


class NodeReports:
    """The reports of all nodes."""

    def __init__(self) -> None:
        """Start without reports."""
        #: The last report by node name.
        self.by_name: dict[str, CustomNodeResource] = {}
        #: Creation time (RFC 3339) by node name.
        self.created_at: dict[str, str] = {}
        #: int64[slot, 2]: measured usage in milli-CPU and bytes; -1 if unmeasured.
        self.used: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        #: int64[slot, 2]: requests of the measured pods at the time of the measurement.
        self.requested: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        #: Time (RFC 3339) of the newest measurement of any node.
        self.newest: str = NEVER_MEASURED
        #: Measurement time (RFC 3339) by slot; empty if there is none.
        self.measured_at: list[str] = []
        #: float64[slot]: the same in seconds since 1970; 0 if there is none or it is unreadable.
        self.measured_s: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        #: Recent measurements.
        self.history = NodeUseHistory()
        #: Measured use of each pod.
        self.pods = MeasuredPods()
        #: True if the last settled report had a measurement that is newer than the previous one.
        self.renewed = False
        #: Taints that apply to pods of one QoS level, by slot.
        self.taints: dict[int, tuple[CnrTaint, ...]] = {}
        #: Incremented on every report, and when a slot gains or loses one.
        self.version: int = 0
        self._newest_s = -1, 0.0
        self._settled: set[int] = set()
        self._levels: dict[int, MeasuredLevels] = {}

    def grow(self, size: int) -> None:
        """Grow to ``size`` slots."""
        missing = size - len(self.used)
        if missing > 0:
            self.used = np.concatenate([self.used, np.full((missing, 2), -1, np.int64)])
            self.requested = np.concatenate([self.requested, np.zeros((missing, 2), np.int64)])
            self.measured_at.extend([NEVER_MEASURED] * missing)
            self.measured_s = np.concatenate([self.measured_s, np.zeros(missing)])
            self.history.grow(size)
            self.pods.grow(size)

    def used_on(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[k, 2]: measured usage of some slots; -1 if unmeasured."""
        self.grow(int(slots.max(initial=-1)) + 1)
        return self.used[slots]

    def requested_on(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[k, 2]: requests of the measured pods of some slots."""
        self.grow(int(slots.max(initial=-1)) + 1)
        return self.requested[slots]

    def fresh_on(self, slots: npt.NDArray[np.int64], expiration_s: float) -> npt.NDArray[np.bool_]:
        """bool[k]: slots with a measurement that is not much older than the newest one."""
        self.grow(int(slots.max(initial=-1)) + 1)
        age = self.newest_s - self.measured_s[slots]
        fresh: npt.NDArray[np.bool_] = (self.used[slots, 0] >= 0) & (age <= expiration_s)
        return fresh

    @property
    def newest_s(self) -> float:
        """Time of the newest measurement, in seconds since 1970; see ``newest_measurement``."""
        if self._newest_s[0] != self.version:
            newest = newest_measurement(self.measured_s[self.measured_s > 0])
            self._newest_s = self.version, newest
        return self._newest_s[1]

    def gone_on(
        self, slots: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """int64[k, 2]: measured use, and requests, of the pods that left since the measurement."""
        self.grow(int(slots.max(initial=-1)) + 1)
        return self.pods.gone_use[slots], self.pods.gone_requests[slots]

    def renew_pods(
        self,
        slot: int,
        rows: npt.NDArray[np.int64],
        key: Callable[[int], str],
        amounts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    ) -> None:
        """Record the pods that the measurement of a slot includes, and the use of each.

        Args:
            slot: the slot.
            rows: int64[k]: the pods there.
            key: returns ``namespace/name`` of a row.
            amounts: int64[2], the requests of the slot, and int64[k, 2], the requests of each pod.
        """
        used, requests = amounts
        levels, use = self._levels_of(slot, rows, key)
        self.requested[slot] = used - requests[levels == NOT_MEASURED].sum(axis=0)
        self.pods.renew(slot, rows, parts_of_use(use, levels, requests))

    def showing(self, pods: MeasuredPods) -> "NodeReports":
        """Return the same reports with other pods."""
        return copied_with(self, pods=pods)

    def put(self, report: CustomNodeResource) -> None:
        """Store a report."""
        self.by_name[report.metadata.name] = report
        self.version += 1

    def drop(self, name: str) -> None:
        """Remove a report."""
        self.by_name.pop(name, None)
        self.version += 1

    def knows(self, name: str, slot: int) -> bool:
        """Return whether a report of a node exists or is still applied."""
        return name in self.by_name or slot in self._settled

    def settle(self, name: str, slot: int) -> tuple[NumaLayout, list[str]]:
        """Apply the report of a node to its slot.

        Returns:
            The NUMA layout, and the problems of the report.
        """
        self.grow(slot + 1)
        before = self._kept(slot)
        self.clear(slot)
        report = self.by_name.get(name)
        self.renewed = True
        if report is None:
            return NO_LAYOUT, []
        layout = read_layout(report, self.created_at.get(name, ""))
        problems = list(layout.problems)
        self._settled.add(slot)
        self._measure(report, slot, layout, problems.append)
        self._keep_newer(slot, before, problems.append)
        if report.spec.taints:
            self.taints[slot] = report.spec.taints
        return layout, problems

    def node_removed(self, name: str, slot: int, rows: npt.NDArray[np.int64]) -> None:
        """Process the removal of a node with these pods.

        Its report is kept for a re-created node.
        """
        self.created_at.pop(name, None)
        self.pods.forget(rows)
        if slot < len(self.used):
            self.clear(slot)
            self.history.clear(slot)
            self.pods.clear(slot)

    def clear(self, slot: int) -> None:
        """Clear all reported values of a slot."""
        self.version += 1
        self.used[slot] = -1
        self.measured_at[slot] = NEVER_MEASURED
        self.measured_s[slot] = 0.0
        self.taints.pop(slot, None)
        self._settled.discard(slot)
        self._levels.pop(slot, None)

    def _levels_of(
        self, slot: int, rows: npt.NDArray[np.int64], key: Callable[[int], str]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """int64[k]: the QoS level of each row, -1 if unmeasured; int64[level, 2]: measured use."""
        levels = self._levels.get(slot)
        if levels is None:
            return np.full(len(rows), NOT_MEASURED, np.int64), np.zeros((1, 2), np.int64)
        if levels.by_pod is None:
            return np.zeros(len(rows), np.int64), levels.use
        found = [levels.by_pod.get(key(row), NOT_MEASURED) for row in rows.tolist()]
        return np.array(found, np.int64), levels.use

    def _kept(self, slot: int) -> tuple[tuple[int, int], str]:
        """Measurement of a slot: use and time."""
        cpu, memory = self.used[slot].tolist()
        return (cpu, memory), self.measured_at[slot]

    def _keep_newer(
        self,
        slot: int,
        before: tuple[tuple[int, int], str],
        complain: Callable[[str], None],
    ) -> None:
        """Keep the last measurement if the report goes back in time; record a new one."""
        used, measured_at = before
        was, now = _seconds(measured_at), float(self.measured_s[slot])
        if was and 0.0 < was - now < AHEAD_S:
            complain(
                f"nodeMetricStatus: updateTime {self.measured_at[slot]} is older than the last "
                f"measurement, {measured_at}; its usage is ignored"
            )
            self.used[slot], self.measured_at[slot], self.measured_s[slot] = used, measured_at, was
        self.renewed = not was or bool(self.measured_s[slot] != was)
        if self.renewed and self.used[slot, 0] >= 0:
            self.history.add(slot, self.used[slot], float(self.measured_s[slot]))

    def _measure(
        self,
        report: CustomNodeResource,
        slot: int,
        layout: NumaLayout,
        complain: Callable[[str], None],
    ) -> None:
        status = report.status.node_metric_status
        if status is None or status.node_metric is None:
            return
        stated = status.node_metric.generic_usage
        used = None if stated is None else read_use(stated, complain)
        if used is not None:
            self.used[slot] = used
            self.measured_at[slot] = status.update_time or NEVER_MEASURED
            self.measured_s[slot] = _seconds(self.measured_at[slot])
            self.newest = max(self.newest, self.measured_at[slot])
            self._levels[slot] = _levels(self.used[slot], status.group_metric, complain)
        for each in status.node_metric.numa_usage:
            if layout.numbers and each.numa_id not in layout.numbers:
                complain(
                    f"nodeMetricStatus: NUMA {each.numa_id} does not exist (there are "
                    f"{', '.join(map(str, layout.numbers))}); its usage is ignored"
                )


def _levels(
    used: npt.NDArray[np.int64], groups: Sequence[GroupUsage], complain: Callable[[str], None]
) -> MeasuredLevels:
    """Use of a node by level; use that belongs to no level is added to the first one."""
    by_pod: dict[str, int] = {}
    use = [used]
    for group in groups:
        stated = group.generic_usage
        measured = None if stated is None else read_use(stated, complain)
        if measured is not None:
            use.append(np.array(measured, np.int64))
        by_pod.update(dict.fromkeys(group.pod_list, len(use) - 1 if measured is not None else 0))
    rest = (used - np.sum(use[1:], axis=0, dtype=np.int64)).clip(0)
    return MeasuredLevels(by_pod if groups else None, np.array([rest, *use[1:]], np.int64))


def newest_measurement(times: npt.NDArray[np.float64]) -> float:
    """Newest of some measurement times in seconds since 1970; 0 without any.

    Agents whose clocks are far ahead of most others are ignored.
    """
    usual = float(np.quantile(times, MOST, method="lower")) if len(times) else 0.0
    return float(times[times <= usual + AHEAD_S].max(initial=0.0))


def read_use(used: Usage, complain: Callable[[str], None]) -> tuple[int, int] | None:
    """Measured usage as (milli-CPU, bytes); ``None`` if no machine can use so much.

    Negative amounts count as 0. Both cases are problems of the report.
    """
    found = []
    for name, stated, most in (("cpu", used.cpu, MOST_CPU), ("memory", used.memory, MOST_MEMORY)):
        try:
            value = 0 if stated is None else amount(name, stated, f"usage.{name}")
        except InputError:
            value = most + 1  # more than 64 bits, which no machine has
        if value > most:
            complain(f"nodeMetricStatus: no machine uses {name} {stated}; the usage is ignored")
            return None
        if value < 0:
            complain(f"nodeMetricStatus: {name} {stated} is negative; it counts as 0")
        found.append(max(0, value))
    return found[0], found[1]


def _seconds(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 for an unreadable one."""
    return timestamp_or_none(text) or 0.0
