"""Batch tasks on the reclaimed cores of one node: started, throttled, evicted and finished.

There are always more tasks than cores. A task requests one core and uses all of the CPU that it
gets. Tasks start while their requests fit into the headroom. In each step they share the CPU that
the agent of the node allows for batch (``stretto.agent.enforcement.suppression``); the missing part
is throttled time. If tasks get less than ``SATISFIED`` of their requests, the newest tasks are
evicted until the remaining tasks get ``ENOUGH`` of their requests. An evicted task loses its work.
"""

from typing import Final

import msgspec

from stretto.agent.enforcement.suppression import CpuUse, Suppression, allowance
from stretto.inputs.traces.measured_use import STEP_S

MILLI: Final = 1000
"""Milli-CPU of a task, and of a core."""
HOUR_S: Final = 3600
TASK_STEPS: Final = HOUR_S / STEP_S
"""Steps of a task that is never throttled: one hour."""
SATISFIED: Final = 0.6
"""Share of their requests below which tasks are evicted."""
ENOUGH: Final = 0.8
"""Share of their requests that the remaining tasks get after an eviction."""
LEAST_PERCENT: Final = 2
"""Percentage of the node that batch always keeps, as in the agent."""


class BatchFigures(msgspec.Struct):
    """Sums over steps and nodes, in steps of one core or task."""

    #: Headroom that the estimator computed.
    loaned: float = 0.0
    #: Time in which tasks ran or were throttled.
    present: float = 0.0
    #: Cores that tasks used.
    used: float = 0.0
    #: Time in which tasks were throttled.
    throttled: float = 0.0
    #: Work of finished tasks.
    done: float = 0.0
    #: Work lost by evictions.
    lost: float = 0.0
    #: Evicted tasks.
    evicted: int = 0
    #: Steps with measured nodes.
    steps: int = 0


class BatchNode:
    """The tasks of one node."""

    def __init__(self, milli: int, percent: int) -> None:
        """Create a node with ``milli`` milli-CPU; tasks may fill it up to ``percent``."""
        self._milli = milli
        self._rule = Suppression(percent, min(LEAST_PERCENT, percent))
        #: Remaining work of each task, in steps; the newest task is the last.
        self._left: list[float] = []
        #: Cores that tasks use.
        self.used = 0.0

    @property
    def used_milli(self) -> int:
        """Milli-CPU that tasks used in the last step."""
        return int(self.used * MILLI)

    def step(self, headroom: int, owned: int, figures: BatchFigures) -> None:
        """Start tasks that fit into the headroom, and run all tasks for one step.

        Args:
            headroom: milli-CPU that tasks may request.
            owned: milli-CPU that online pods use in this step.
            figures: receives the sums.
        """
        self._left += [TASK_STEPS] * max(headroom // MILLI - len(self._left), 0)
        given = self._given(owned)
        count = len(self._left)
        if count and given < SATISFIED * count:
            kept = max(int(given / ENOUGH), 0)
            figures.evicted += count - kept
            figures.lost += sum(TASK_STEPS - left for left in self._left[kept:])
            del self._left[kept:]
            count = kept
        self.used = min(given, float(count))
        share = self.used / count if count else 0.0
        self._left = [left - share for left in self._left]
        figures.done += TASK_STEPS * sum(left <= 0 for left in self._left)
        self._left = [left for left in self._left if left > 0]
        figures.steps += 1
        figures.loaned += headroom / MILLI
        figures.present += count
        figures.used += self.used
        figures.throttled += count - self.used

    def _given(self, owned: int) -> float:
        """Return the cores that the agent allows for tasks."""
        cores = owned / MILLI
        use = CpuUse(cores, cores, cores, 0.0, 0.0, 0)
        left = min(allowance(self._milli, use, self._rule), self._milli - owned)
        return max(left, 0) / MILLI
