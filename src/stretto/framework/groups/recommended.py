"""Recommended nodes whose capacity is still in use by terminating pods.

A Movement recommends nodes for the next pods of an owner, often nodes from which other pods have
just been deleted. While the node would accept such a pod after these pods have terminated, the
scheduler does not place it on another node: the pod reserves the node and waits, as a preemptor
does. Pods that inter-pod rules exclude from the node, pods with volumes, and pods that select their
own rules do not wait, because the results of these rules are known only after the node has changed.
"""

from collections.abc import Sequence

from stretto.framework.engine.engine import CompiledProfile
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.queries.numa_after import numa_claims_for
from stretto.state.work.claims import AwaitedNode
from stretto.state.work.units import Unit


def still_recommended(engine: CompiledProfile, unit: Unit) -> list[str]:
    """Names of nodes recommended for another pod of a unit, without those already reserved."""
    cluster = engine.cluster
    hints = list(cluster.recommended.get(unit.key, ()))
    for row, nomination in cluster.nominations.by_row.items():
        name = cluster.node_of(row) if nomination.unit is unit else ""
        if name in hints:
            hints.remove(name)
    return hints


def wait_for(
    engine: CompiledProfile, hints: Sequence[str], row: int, class_id: int
) -> AwaitedNode | None:
    """First of some nodes that accepts a pod after its terminating pods are removed."""
    cluster = engine.cluster
    if not cluster.evictions.in_progress or cluster.pods.volumes[row]:
        return None
    for name in dict.fromkeys(hints):
        slot = cluster.nodes.by_name.get(name)
        going = [] if slot is None else [r for r in cluster.evictions.on_slot(slot) if r != row]
        if slot is None or not going or not engine.is_eligible(class_id, slot):
            continue
        masks = numa_claims_for(cluster, slot, [class_id], going)
        if masks is not None and fits_after_eviction(cluster, slot, [(class_id, masks[0])], going):
            serials = cluster.pods.serial[going].tolist()
            return AwaitedNode(slot, masks[0], tuple(zip(going, serials, strict=True)))
    return None
