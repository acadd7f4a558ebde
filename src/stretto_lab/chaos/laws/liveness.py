"""Checks after the heal: every pod that fits is placed, and the plane knows the true state.

The reference computes from the true state if pending units would fit. Gangs consist of equal pods,
so counting the pods that fit needs no search. Gangs that other clients changed are skipped.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach, check_all
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionCause
from stretto_lab.chaos.draws.affinity import allows_together
from stretto_lab.chaos.draws.pods import WHOLE, NodeShapeDraw, PodRequest, admits, overruns
from stretto_lab.chaos.draws.promises import as_promised_now
from stretto_lab.chaos.laws.truth import TruePod, TrueState
from stretto_lab.chaos.world import ChaosWorld

RESTING: Final = {
    UnitState.FORMING,
    UnitState.UNSCHEDULABLE,
    UnitState.PLACED,
    UnitState.FAILED,
    UnitState.BACKOFF,
}
"""States of a unit in an idle plane."""
RELEASES: Final = (EvictionCause.GANG, EvictionCause.OVER_COMMITTED, EvictionCause.RESCHEDULE)
"""Causes of evictions that do not depend on the search of a pending unit."""


def check_rest(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """Return all breaches of a healed plane that is idle."""
    return [
        *_same_world(plane, world, truth),
        *_nothing_open(plane),
        *[InvariantBreach(3, text) for text in plane.dispatcher.audit()],
        *check_all(plane.cluster),
        *_all_placed(plane, world, truth),
    ]


def releases(checked: Mapping[str, int]) -> int:
    """Number of evictions so far, by the counts of the laws, that no pending unit caused."""
    return sum(checked.get(f"8 evictions that were {each.value}", 0) for each in RELEASES)


# ------------------------------------------------------------ the model is the truth


def _same_world(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """Check that the known cluster equals the true one."""
    cluster = plane.cluster
    found = []
    known = {name: cluster.nodes.uids[slot] for name, slot in cluster.nodes.by_name.items()}
    if known != world.node_uids:
        found.append(
            InvariantBreach(3, f"known nodes {sorted(known)}, true nodes {sorted(world.nodes)}")
        )
    for name, slot in cluster.nodes.by_name.items():
        if cluster.nodes.versions[slot] != str(world.node_versions.get(name)):
            found.append(InvariantBreach(3, f"an old version of node {name} is known"))
    groups = {f"default/{name}" for name, group in world.groups.items() if group.exists}
    if set(cluster.groups) != groups:
        found.append(
            InvariantBreach(3, f"known PodGroups {sorted(cluster.groups)}, true {sorted(groups)}")
        )
    expected = {uid: pod for uid, pod in truth.pods.items() if _is_in_scope(pod, world)}
    for row in cluster.pods.rows().tolist():
        pod = expected.pop(cluster.pods.uid[row], None)
        if pod is None:
            found.append(
                InvariantBreach(3, f"pod {cluster.pods.key(row)} is known but does not exist")
            )
        elif pod.node != cluster.node_of(row):
            found.append(
                InvariantBreach(
                    3, f"pod {pod.name} is on {pod.node!r}, known on {cluster.node_of(row)!r}"
                )
            )
        elif bool(pod.node) != (cluster.pods.state[row] == PodState.BOUND):
            state = PodState(int(cluster.pods.state[row])).name
            found.append(InvariantBreach(3, f"pod {pod.name} is on {pod.node!r} and {state}"))
    found += [InvariantBreach(3, f"pod {pod.name} is not known") for pod in expected.values()]
    return found


def _is_in_scope(pod: TruePod, world: ChaosWorld) -> bool:
    return not pod.finished and (bool(pod.node) or not world.members[pod.uid].role.foreign)


def _nothing_open(plane: Plane) -> list[InvariantBreach]:
    """Check that no bind is uncertain and no unit is in transit."""
    found = [
        InvariantBreach(3, f"the bind of {plane.cluster.pods.key(row)} is still uncertain")
        for row in plane.binder.in_doubt
    ]
    if plane.binder.is_waiting and not found:
        found.append(InvariantBreach(3, "binds are still in flight"))
    found += [
        InvariantBreach(3, f"unit {unit.key} is stuck: {unit.state.name}")
        for unit in plane.units
        if unit.state not in RESTING
    ]
    return found


# ------------------------------------------------------------ pods that fit are placed


def _all_placed(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """Check that no pending pod or gang would fit."""
    together: dict[str, list[TruePod]] = defaultdict(list)
    found = []
    for pod in truth.wanted():
        role = world.members[pod.uid].role
        if role.group or role.together:
            together[role.group or role.owner].append(pod)
        elif (node := _node_for(plane, world, truth, pod.request)) and not _has_failed(plane, pod):
            found.append(InvariantBreach(3, f"pod {pod.name} is pending and would fit on {node}"))
    for name, pods in together.items():
        found += _gang_is_pending(plane, world, truth, (name, pods))
    return found


def _gang_is_pending(
    plane: Plane, world: ChaosWorld, truth: TrueState, gang: tuple[str, list[TruePod]]
) -> list[InvariantBreach]:
    """Report a pending gang if enough of its pods would fit together."""
    name, pods = gang
    group = world.groups.get(name)
    if group is not None and (not group.exists or group.min_member < 1 or group.disturbed):
        return []
    row = plane.cluster.pods.row(pods[0].uid)
    unit = plane.units.of_row(row) if row is not None else None
    if any(pod.request.group for pod in pods):
        return []  # how many fit depends on the order
    if unit is None or unit.state is UnitState.FAILED or len({pod.request for pod in pods}) > 1:
        return [] if unit is not None else [InvariantBreach(3, f"gang {name} has no unit")]
    if group is not None and unit.min_member != group.min_member:
        return [
            InvariantBreach(2, f"gang {name}: {group.min_member} needed, {unit.min_member} known")
        ]
    needed = max(1, unit.still_needed)
    if not unit.is_complete or needed > len(pods):
        return []
    fitting = _fitting_count(plane, world, truth, pods[0].request)
    if fitting < needed:
        return []
    return [
        InvariantBreach(3, f"gang {name}: {needed} of {len(pods)} pods needed, {fitting} would fit")
    ]


def _has_failed(plane: Plane, pod: TruePod) -> bool:
    """True if the unit of a pod has failed, which reports show."""
    row = plane.cluster.pods.row(pod.uid)
    unit = plane.units.of_row(row) if row is not None else None
    return unit is not None and unit.state is UnitState.FAILED


def _node_for(plane: Plane, world: ChaosWorld, truth: TrueState, pod_request: PodRequest) -> str:
    """A node on which a pod fits now; empty if there is none."""
    zones = {
        n: s.zone
        for n, s in world.nodes.items()
        if not pod_request.pool or s.pool == pod_request.pool
    }
    group_counts = {
        name: sum(pod.request.group == pod_request.group for pod in there.values())
        for name, there in truth.on_node.items()
    }
    return next(
        (
            name
            for name in world.nodes
            if _fits(plane, world, truth, name, [pod_request])
            and allows_together(pod_request.rule, name, group_counts, zones)
        ),
        "",
    )


def _fitting_count(
    plane: Plane, world: ChaosWorld, truth: TrueState, pod_request: PodRequest
) -> int:
    """Number of equal pods that fit together now."""
    total = 0
    for node in world.nodes:
        count = 0
        while count < 16 and _fits(plane, world, truth, node, [pod_request] * (count + 1)):
            count += 1
        total += count
    return total


def _fits(
    plane: Plane, world: ChaosWorld, truth: TrueState, node: str, more: list[PodRequest]
) -> bool:
    """True if equal pods fit on a node in addition to its pods."""
    shape = as_promised_now(plane, node, world.nodes[node])
    pod_request = more[0]
    if not admits(shape, pod_request):
        return False
    if not world.overcommit.allows(plane, node, pod_request, len(more)):
        return False
    there = [pod.request for pod in truth.on_node.get(node, {}).values()]
    if overruns(shape, [*there, *more], pod_request):
        return False
    if not pod_request.gpus:
        return True
    return _gpu_places(plane, node, shape, pod_request) >= len(more)


def _gpu_places(plane: Plane, name: str, shape: NodeShapeDraw, pod_request: PodRequest) -> int:
    """Number of equal GPU pods that fit, by the devices that the plane assumes."""
    pods = plane.cluster.pods
    slot = plane.cluster.nodes.by_name.get(name, NO_SLOT)
    free = [WHOLE] * shape.gpus
    for row in pods.on_slot(slot).tolist() if slot != NO_SLOT else []:
        for request in plane.cluster.classes[int(pods.class_id[row])].devices:
            for device in range(shape.gpus):
                if int(pods.devices[row]) >> device & 1:
                    free[device] -= request.milli
    if pod_request.milli < WHOLE:
        return sum(max(0, left) // pod_request.milli for left in free)
    return sum(left >= WHOLE for left in free) // pod_request.gpus
