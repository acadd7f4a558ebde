"""Laws of overcommit: claims stay within what nodes promise, which stays within the cap."""

import msgspec
import numpy as np

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.resources import CPU
from stretto_lab.chaos.draws.pods import NodeShapeDraw


def as_promised_now(plane: Plane, name: str, shape: NodeShapeDraw) -> NodeShapeDraw:
    """A node with its ratio of now instead of the cap."""
    slot = plane.cluster.nodes.by_name.get(name)
    ratios = plane.cluster.ledger.promises.ratios.get(-1 if slot is None else slot, {})
    ratio = ratios[CPU].ratio if CPU in ratios else 1.0
    return msgspec.structs.replace(shape, cap=ratio)


def promise_breaches(
    plane: Plane, fresh: list[tuple[str, int]], caps: dict[str, float]
) -> list[InvariantBreach]:
    """Breaches on the slots of new claims.

    Args:
        plane: the plane after a step; it chose its ratios before it bound.
        fresh: uid and slot of each new claim.
        caps: the cap of CPU by node.
    """
    cluster, found = plane.cluster, []
    ledger, pods = cluster.ledger, cluster.pods
    for uid, slot in fresh:
        row, name = pods.row(uid), cluster.nodes.names[slot]
        if row is None or cluster.evictions.on_slot(slot) or cluster.evictions.nominated_on(slot):
            continue  # victims that are leaving are still charged
        requests = dict(cluster.classes[int(pods.class_id[row])].requests)
        over = [c for c in requests if ledger.used[slot, c] > ledger.alloc[slot, c]]
        found += [
            InvariantBreach(
                1,
                f"claim on {name}: {ledger.resources.names[c]} is charged "
                f"{ledger.used[slot, c]} of {ledger.alloc[slot, c]} promised",
            )
            for c in over
        ]
        ratio = ledger.promises.ratios.get(slot, {}).get(CPU)
        if ratio is not None and not 1.0 <= ratio.ratio <= caps.get(name, np.inf):
            found.append(InvariantBreach(1, f"node {name} promises its cpu {ratio.ratio} times"))
    return found
