"""Law 1 under overcommit: claims within promised amounts of nodes, and ratios within the cap."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import CPU
from stretto_lab.chaos.draws.pods import NodeShapeDraw


class PromiseLaw:
    """Compares new claims with the amounts that nodes promised when the claims were made.

    A nomination becomes a claim before its step chooses the ratios of nodes. Therefore the promise
    at the end of the previous step also counts for a nomination.
    """

    def __init__(self, cap: float) -> None:
        """Initialize with the maximum CPU ratio of the seed."""
        self._cap = cap
        self._nominated: dict[str, dict[int, int]] = {}

    def breaches(
        self, plane: Plane, fresh: Sequence[tuple[str, int]], nodes: Mapping[str, NodeShapeDraw]
    ) -> list[InvariantBreach]:
        """Check the new claims of a step.

        Args:
            plane: the plane after the step.
            fresh: uid and slot of each new claim.
            nodes: the existing nodes.
        """
        found, cluster = list[InvariantBreach](), plane.cluster
        for uid, slot in fresh:
            found += self._overruns(plane, uid, slot)
            name = cluster.nodes.names[slot]
            ratio = cluster.ledger.promises.ratios.get(slot, {}).get(CPU)
            cap = nodes[name].cap if name in nodes else self._cap
            if ratio is not None and not 1.0 <= ratio.ratio <= cap:
                what = f"node {name} promises its cpu {ratio.ratio} times"
                found.append(InvariantBreach(1, what))
        self._nominated = _promised_to_nominated(plane)
        return found

    def _overruns(self, plane: Plane, uid: str, slot: int) -> list[InvariantBreach]:
        """Resources of a claim for which its node has more charges than promises."""
        cluster, ledger, pods = plane.cluster, plane.cluster.ledger, plane.cluster.pods
        row, found = pods.row(uid), list[InvariantBreach]()
        if row is None or cluster.evictions.on_slot(slot) or cluster.nominations.on_slot(slot):
            return found  # victims that are leaving are still charged
        before = self._nominated.get(uid, {})
        for column in dict(cluster.classes[int(pods.class_id[row])].requests):
            used, promised = int(ledger.used[slot, column]), int(ledger.alloc[slot, column])
            if used > max(promised, before.get(column, 0)):
                name, resource = cluster.nodes.names[slot], ledger.resources.names[column]
                what = f"claim on {name}: {resource} is charged {used} of {promised} promised"
                found.append(InvariantBreach(1, what))
        return found


def _promised_to_nominated(plane: Plane) -> dict[str, dict[int, int]]:
    """Promised amounts of the node of each nominated pod: uid to amounts by column."""
    cluster = plane.cluster
    pods, alloc = cluster.pods, cluster.ledger.alloc
    rows = np.flatnonzero(pods.state[: pods.length] == PodState.NOMINATED).tolist()
    slots = {pods.uid[row]: int(pods.slot[row]) for row in rows}
    return {
        uid: dict(enumerate(alloc[slot].tolist())) for uid, slot in slots.items() if slot != NO_SLOT
    }


def as_promised_now(plane: Plane, name: str, shape: NodeShapeDraw) -> NodeShapeDraw:
    """A node with its present ratio instead of the cap."""
    slot = plane.cluster.nodes.by_name.get(name)
    ratios = plane.cluster.ledger.promises.ratios.get(-1 if slot is None else slot, {})
    ratio = ratios[CPU].ratio if CPU in ratios else 1.0
    return msgspec.structs.replace(shape, cap=ratio)
