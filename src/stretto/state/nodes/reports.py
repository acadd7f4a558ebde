"""What node agents report, by node: the layout of NUMA nodes, and what is really used.

A CustomNodeResource bears the name of its node and may come before it, after it, or outlive it.
The last one of each name is kept, so that a node that comes back finds its report, and the
measurements stand in columns by slot, where rules on load read them.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.cnr import CnrTaint, CustomNodeResource, Usage
from stretto.api.wire.quantity import amount
from stretto.state.numa.layout import NO_LAYOUT, NumaLayout, read_layout

NEVER_MEASURED: Final = ""
"""Time of the measurement of a node that has none."""
MEASURED: Final = ("cpu", "memory")
"""What is measured, in the order of the columns."""


class NodeReports:
    """The reports of all nodes."""

    def __init__(self) -> None:
        """Nothing has been reported."""
        #: The last report by node name.
        self.by_name: dict[str, CustomNodeResource] = {}
        #: RFC 3339 time of creation by node name.
        self.born: dict[str, str] = {}
        #: int64[slot, 2]: CPU in milli and memory in bytes that are really used; -1 unmeasured.
        self.used: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        #: int64[slot, 2]: what the measured pods had asked for then.
        self.asked: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        #: RFC 3339 time of the newest measurement of any node.
        self.newest: str = NEVER_MEASURED
        #: RFC 3339 time of the measurement by slot; empty where there is none.
        self.measured_at: list[str] = []
        #: Taints for pods of one quality of service, by slot.
        self.taints: dict[int, tuple[CnrTaint, ...]] = {}
        #: Rises whenever anything is reported.
        self.version: int = 0
        self._settled: set[int] = set()
        self._listed: dict[int, frozenset[str]] = {}

    def grow(self, size: int) -> None:
        """Have room for so many slots."""
        missing = size - len(self.used)
        if missing > 0:
            self.used = np.concatenate([self.used, np.full((missing, 2), -1, np.int64)])
            self.asked = np.concatenate([self.asked, np.zeros((missing, 2), np.int64)])
            self.measured_at.extend([NEVER_MEASURED] * missing)

    def used_on(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[k, 2]: what is really used on some slots; -1 where nobody has measured."""
        self.grow(int(slots.max(initial=-1)) + 1)
        return self.used[slots]

    def requested_on(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[k, 2]: what the measured pods of some slots had asked for."""
        self.grow(int(slots.max(initial=-1)) + 1)
        return self.asked[slots]

    def is_measured(self, slot: int, pod: str) -> bool:
        """Whether a pod (``namespace/name``) is in the measurement of its node."""
        listed = self._listed.get(slot)
        return listed is None or pod in listed

    def keep(self, report: CustomNodeResource) -> None:
        """A report came."""
        self.by_name[report.metadata.name] = report
        self.version += 1

    def drop(self, name: str) -> None:
        """A report is gone."""
        self.by_name.pop(name, None)
        self.version += 1

    def knows(self, name: str, slot: int) -> bool:
        """Whether there is a report of a node, or was one until now."""
        return name in self.by_name or slot in self._settled

    def settle(self, name: str, slot: int) -> tuple[NumaLayout, list[str]]:
        """Take over the report of a node that lives on a slot.

        Returns:
            Its NUMA nodes, and what is wrong with the report.
        """
        self.grow(slot + 1)
        self.clear(slot)
        report = self.by_name.get(name)
        if report is None:
            return NO_LAYOUT, []
        layout = read_layout(report, self.born.get(name, ""))
        problems = list(layout.problems)
        self._settled.add(slot)
        self._measure(report, slot, layout, problems.append)
        if report.spec.taints:
            self.taints[slot] = report.spec.taints
        return layout, problems

    def leave(self, name: str, slot: int) -> None:
        """A node has gone; its report may stay, as that of a node to come."""
        self.born.pop(name, None)
        if slot < len(self.used):
            self.clear(slot)

    def clear(self, slot: int) -> None:
        """Nothing is known of a slot any more."""
        self.used[slot] = -1
        self.measured_at[slot] = NEVER_MEASURED
        self.taints.pop(slot, None)
        self._settled.discard(slot)
        self._listed.pop(slot, None)

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
        used = status.node_metric.generic_usage
        if used is not None:
            self.used[slot] = _usage(used)
            self.measured_at[slot] = status.update_time or NEVER_MEASURED
            self.newest = max(self.newest, self.measured_at[slot])
            if status.group_metric:
                self._listed[slot] = frozenset(p for g in status.group_metric for p in g.pod_list)
        for each in status.node_metric.numa_usage:
            if layout.numbers and each.numa_id not in layout.numbers:
                complain(
                    f"nodeMetricStatus: NUMA {each.numa_id} does not exist (there are "
                    f"{', '.join(map(str, layout.numbers))}); what is used there is left out"
                )


def _usage(used: Usage) -> tuple[int, int]:
    """Amounts that are really used; less than nothing is nothing."""
    cpu = 0 if used.cpu is None else amount("cpu", used.cpu, "usage.cpu")
    memory = 0 if used.memory is None else amount("memory", used.memory, "usage.memory")
    return max(0, cpu), max(0, memory)
