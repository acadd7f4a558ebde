"""Recommended nodes whose room is still held by pods that leave: who may wait for it.

A Movement sends the next pods of an owner to some nodes, often to those from which others have just
been deleted. Such a pod is not sent elsewhere as long as the node would take it once they have
left: it is promised the node, as a preemptor is, and waits as long as one. Pods that others stand
against by rules between pods, that have volumes or choose rules of their own do not wait: what
these say of a node that is about to change is known when it has.
"""

from collections.abc import Sequence

from stretto.framework.engine.engine import CompiledProfile
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.queries.numa_after import numa_claims_for
from stretto.state.work.claims import AwaitedNode
from stretto.state.work.units import Unit


def still_recommended(engine: CompiledProfile, unit: Unit) -> list[str]:
    """Names of nodes that want another pod of a unit, those that are promised to one left out."""
    cluster = engine.cluster
    hints = list(cluster.recommended.get(unit.key, ()))
    for row, nomination in cluster.evictions.nominations.items():
        name = cluster.node_of(row) if nomination.unit is unit else ""
        if name in hints:
            hints.remove(name)
    return hints


def wait_for(
    engine: CompiledProfile, hints: Sequence[str], row: int, class_id: int
) -> AwaitedNode | None:
    """The first of some nodes that takes a pod once those who leave it have left."""
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
