"""NodeResourcesBalancedAllocation: prefers nodes whose cpu and memory shares become more equal."""

from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import ScorePlugin
from stretto.framework.model.normalise import TOP, at
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.requests import CPU, MEMORY
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import IntArray
from stretto.framework.plugins.allocation import NodeResourcesBalancedAllocationRule

HALF: Final = TOP // 2


class NodeResourcesBalancedAllocationPlugin(
    ScorePlugin, declares=NodeResourcesBalancedAllocationRule
):
    """Compares the balance with and without the pod."""

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Scores: 75 if the balance is unchanged, more if the pod improves it."""
        requested = pod.shape.balance
        if requested == (0, 0):
            return None
        nodes = snapshot.nodes
        cpu, memory = at(nodes.amount(CPU), feasible), at(nodes.amount(MEMORY), feasible)
        used = (at(snapshot.used_of(CPU), feasible), at(snapshot.used_of(MEMORY), feasible))
        both = (cpu != 0) & (memory != 0)
        floor = (np.maximum(cpu, 1), np.maximum(memory, 1))
        without = _balance(_share(used[0], floor[0]), _share(used[1], floor[1]), both)
        after = (used[0] + requested[0], used[1] + requested[1])
        with_pod = _balance(_share(after[0], floor[0]), _share(after[1], floor[1]), both)
        score: IntArray = HALF + (HALF + with_pod - without) // 2
        return score


def _share(used: IntArray, has: IntArray) -> npt.NDArray[np.float64]:
    """Used over allocatable, at most 1."""
    share: npt.NDArray[np.float64] = np.minimum(used / has, 1.0)
    return share


def _balance(
    cpu: npt.NDArray[np.float64], memory: npt.NDArray[np.float64], both: npt.NDArray[np.bool_]
) -> IntArray:
    """100 for equal shares, 50 for the widest gap; a single resource is always balanced."""
    apart = np.abs((cpu - memory) / 2) * both
    balance: IntArray = ((1 - apart) * float(TOP)).astype(np.int64)
    return balance
