"""Looking no further than some nodes that fit: kube-scheduler's ``percentageOfNodesToScore``.

Nodes are gone through in an order that hops over the zones, from where the last pod's search ended;
once enough of them fit, the best of these is taken. The default looks at every node, because that
costs less here than choosing whom to look at: a profile that asks for less gets the spreading over
a part of the cluster that such a search brings, not speed. Pinned pods are not sampled.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.profile.profile import Profile
from stretto.state.nodes.table import NodeFacts

LEAST: Final = 100
"""Nodes found at least where a percentage says how many, as upstream."""
ADAPTIVE: Final = (50, 125, 5)
"""Upstream's own share: so many percent, one less for so many nodes, and the least."""


class SamplingRuntime(Protocol):
    """What the search needs of a runtime."""

    #: The search itself; ``None`` while it is at work.
    sampling: "NodeSampling | None"
    #: bool[slot]: the only slots that may be used now; ``None`` for any.
    only: npt.NDArray[np.bool_] | None

    def row(self, class_id: int) -> npt.NDArray[np.int16]:
        """int16[slot]: 0 where a class may not go."""
        ...

    def place_here(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on what may be used."""
        ...

    def give_back(self, class_id: int, slot: int, mask: int) -> None:
        """Take a pod off the snapshot again."""


class NodeSampling:
    """Where one shard's search stands."""

    def __init__(self, profile: Profile, nodes: NodeFacts) -> None:
        """Begin at the first node."""
        self._profile = profile
        self._nodes = nodes
        self._start = 0
        self._order: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._order_of = -1

    def place(self, runtime: SamplingRuntime, request: PlacementRequest) -> BatchPlacement:
        """Place a batch pod by pod, each among the nodes found for it."""
        runtime.sampling, only = None, runtime.only
        try:
            return self._in_turn(runtime, request)
        finally:
            runtime.sampling, runtime.only = self, only

    def wanted(self, nodes: int) -> int:
        """How many nodes must be found of so many."""
        if self._profile.quota is not None:
            return self._profile.quota
        percentage, (most, step, least) = self._profile.percentage, ADAPTIVE
        if nodes < LEAST or percentage is None:
            return nodes
        share = percentage or max(least, most - nodes // step)
        return max(LEAST, nodes * share // 100)

    def _in_turn(self, runtime: SamplingRuntime, request: PlacementRequest) -> BatchPlacement:
        count, units = len(request.class_ids), len(request.at_least)
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        only, others = runtime.only, None
        for u in range(units):
            start, stop = int(request.starts[u]), int(request.starts[u + 1])
            at_least, placed = max(1, int(request.at_least[u])), 0
            for i in range(start, stop):
                if stop - i + placed < at_least:
                    break
                found = self._one(runtime, request.pod(i), only)
                slots[i], masks[i] = found.slots[0], found.devices[0]
                placed += slots[i] >= 0
                others = others or found.others
            if placed < at_least:
                for i in reversed(range(start, stop)):
                    if slots[i] >= 0:
                        runtime.give_back(int(request.class_ids[i]), int(slots[i]), int(masks[i]))
                slots[start:stop], masks[start:stop] = -1, 0
                if len(request.blocking) and request.blocking[u]:
                    return BatchPlacement(slots, masks, u + 1, others=others)
        return BatchPlacement(slots, masks, units, others=others)

    def _one(
        self, runtime: SamplingRuntime, alone: PlacementRequest, only: npt.NDArray[np.bool_] | None
    ) -> BatchPlacement:
        """One pod, inside what it is confined to and what is found for it."""
        runtime.only = only
        if not len(alone.pins) or int(alone.pins[0]) < 0:
            feasible = runtime.row(int(alone.class_ids[0])) > 0
            runtime.only = self._found(feasible if only is None else feasible & only)
        return runtime.place_here(alone)

    def _found(self, feasible: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """bool[slot]: the nodes that the search comes upon; it goes on behind them next time."""
        order = self._in_order()
        found = np.zeros(len(feasible), np.bool_)
        if not len(order):
            return found
        start, wanted = self._start % len(order), self.wanted(len(order))
        around = np.concatenate([order[start:], order[:start]])
        fit = np.flatnonzero(feasible[around])
        looked_at = len(order) if len(fit) < wanted else int(fit[wanted - 1]) + 1
        self._start = (start + looked_at) % len(order)
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


def sampling_of(profile: Profile, nodes: NodeFacts) -> NodeSampling | None:
    """What a profile asks for; ``None`` where every node is looked at."""
    every = profile.percentage is None or profile.percentage == 100
    return None if every and profile.quota is None else NodeSampling(profile, nodes)
