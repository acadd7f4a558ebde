"""Search that stops after enough feasible nodes: kube-scheduler's ``percentageOfNodesToScore``.

The search visits nodes in an order that alternates between zones, starting where the search for the
previous pod ended. Once enough nodes are feasible, it selects the best of these. The default visits
every node, because scoring all nodes costs less here than selecting a sample: a lower percentage
restricts pods to a part of the cluster and does not make a profile faster. Pinned pods are not
sampled.
"""

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.turns import Run, give_back_members, place_in_turn, place_members
from stretto.framework.profile.profile import Profile
from stretto.state.nodes.table import NodeFacts

LEAST: Final = 100
"""Minimum number of feasible nodes for any percentage, as upstream."""
ADAPTIVE: Final = (50, 125, 5)
"""Upstream's adaptive percentage: start value, nodes per percent of decrease, and minimum."""


class SamplingRuntime(Protocol):
    """The operations that the search needs from a runtime."""

    @property
    def only(self) -> npt.NDArray[np.bool_] | None:
        """bool[slot]: the only slots that may be used at present; ``None`` for all."""
        ...

    def row(self, class_id: int) -> npt.NDArray[np.int16]:
        """int16[slot]: 0 where a class is infeasible."""
        ...

    def confined(self, allowed: npt.NDArray[np.bool_]) -> Any:
        """Context manager in which only these slots may be used."""
        ...

    def place_by_score(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the slots that may be used."""
        ...

    def give_back(self, class_id: int, slot: int, mask: int) -> None:
        """Remove a pod from the snapshot."""


class NodeSampling:
    """The nodes that the next search visits, and the number of feasible nodes that ends it."""

    def __init__(self, profile: Profile, nodes: NodeFacts) -> None:
        """Start at the first node."""
        self._profile = profile
        self._nodes = nodes
        self._start = 0
        self._order: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._order_of = -1

    def wanted(self, nodes: int) -> int:
        """Number of feasible nodes that ends the search, for a given number of nodes."""
        if self._profile.quota is not None:
            return self._profile.quota
        percentage, (most, step, least) = self._profile.percentage, ADAPTIVE
        if nodes < LEAST or percentage is None:
            return nodes
        share = percentage or max(least, most - nodes // step)
        return max(LEAST, nodes * share // 100)

    def found(self, feasible: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """bool[slot]: the nodes that the search finds; the next search starts after them."""
        order = self._in_order()
        found = np.zeros(len(feasible), np.bool_)
        if not len(order):
            return found
        start, wanted = self._start % len(order), self.wanted(len(order))
        around = np.concatenate([order[start:], order[:start]])
        fit = np.flatnonzero(feasible[around])
        visited = len(order) if len(fit) < wanted else int(fit[wanted - 1]) + 1
        self._start = (start + visited) % len(order)
        found[around[fit[:wanted]]] = True
        return found

    def _in_order(self) -> npt.NDArray[np.int64]:
        """int64[n]: live slots, the first of each zone, then the second of each, and so on."""
        nodes = self._nodes
        if self._order_of != nodes.version:
            self._order_of = nodes.version
            slots = nodes.live_slots()
            slots = slots[np.argsort(nodes.name_rank[slots], kind="stable")]
            turns: dict[str, int] = {}
            keys = []
            for slot in slots.tolist():
                zone = nodes.zones[slot]
                turns[zone] = turns.get(zone, -1) + 1
                keys.append((turns[zone], zone, slot))
            self._order = np.array([slot for _, _, slot in sorted(keys)], np.int64)
        return self._order


class SamplingStage:
    """Places batches pod by pod, each pod on the best of the nodes that its search finds."""

    name = "sampling"

    def __init__(self, runtime: SamplingRuntime, sampling: NodeSampling) -> None:
        """Use a runtime that places a pod on the nodes that the search finds."""
        self._runtime = runtime
        self._sampling = sampling

    def sync(self) -> None:
        """Do nothing: the order of nodes follows the cluster."""

    def capacity(self, class_id: int, bound: int) -> int:
        """Return the bound unchanged."""
        return bound

    def concerns(self, request: PlacementRequest) -> bool | None:
        """Return true for every batch that has pods to place."""
        return True if len(request.class_ids) else None

    def place(self, request: PlacementRequest, found: bool) -> BatchPlacement:
        """Place a batch unit by unit."""
        return place_in_turn(request, lambda u: Run(u + 1, self._unit))

    def _unit(self, part: PlacementRequest) -> BatchPlacement:
        """Place one unit, pod by pod: at least its minimum number of pods, or none."""
        count = len(part.class_ids)
        slots, masks = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        at_least = max(1, int(part.at_least[0]))
        others: tuple[int, int, int] | None = None

        def place(i: int) -> bool:
            nonlocal others
            found = self._pod(part.pod(i))
            slots[i], masks[i] = found.slots[0], found.devices[0]
            others = others or found.others
            return bool(slots[i] >= 0)

        # Each pod searches other nodes: a pod that fits nowhere gives no information about the
        # next.
        if place_members(range(count), at_least, place) < at_least:
            give_back_members(part, slots, masks, self._runtime.give_back)
        return BatchPlacement(slots, masks, 1, others=others)

    def _pod(self, alone: PlacementRequest) -> BatchPlacement:
        """Place one pod; unless it is pinned, on the nodes found for it."""
        if len(alone.pins) and int(alone.pins[0]) >= 0:
            return self._runtime.place_by_score(alone)
        feasible, only = self._runtime.row(int(alone.class_ids[0])) > 0, self._runtime.only
        if only is not None:
            feasible &= only
        with self._runtime.confined(self._sampling.found(feasible)):
            return self._runtime.place_by_score(alone)


def sampling_of(profile: Profile, nodes: NodeFacts) -> NodeSampling | None:
    """The search that a profile configures; ``None`` if it visits every node."""
    every = profile.percentage is None or profile.percentage == 100
    return None if every and profile.quota is None else NodeSampling(profile, nodes)
