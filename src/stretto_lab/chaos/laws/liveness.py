"""After the heal: everything that can be placed is placed, and the plane knows the world as it is.

The reference asks the truth, unit by unit, whether what still waits would fit now. Gangs are of
equal pods, so counting how many fit needs no search; where a gang was disturbed by others only
its single pods are asked for.
"""

from collections import defaultdict
from typing import Final

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach, check_all
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.pods import NO_SLOT
from stretto_lab.chaos.draws.affinity import allows_together
from stretto_lab.chaos.draws.pods import WHOLE, NodeShapeDraw, PodRequest, admits, overruns
from stretto_lab.chaos.laws.truth import TruePod, TrueState
from stretto_lab.chaos.world import ChaosWorld

RESTING: Final = {
    UnitState.FORMING,
    UnitState.UNSCHEDULABLE,
    UnitState.PLACED,
    UnitState.FAILED,
    UnitState.BACKOFF,
}
"""Where a unit may be when nothing moves any more."""


def check_rest(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """Everything that must hold once a healed plane has come to rest."""
    return [
        *_same_world(plane, world, truth),
        *_nothing_open(plane),
        *[InvariantBreach(3, text) for text in plane.dispatcher.audit()],
        *check_all(plane.cluster),
        *_all_placed(plane, world, truth),
    ]


# ------------------------------------------------------------ the model is the truth


def _same_world(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """The cluster as it is known is the cluster as it is."""
    cluster = plane.cluster
    found = []
    known = {name: cluster.nodes.uids[slot] for name, slot in cluster.nodes.by_name.items()}
    if known != world.node_uids:
        found.append(
            InvariantBreach(3, f"nodes known {sorted(known)}, there are {sorted(world.nodes)}")
        )
    for name, slot in cluster.nodes.by_name.items():
        if cluster.nodes.versions[slot] != str(world.node_versions.get(name)):
            found.append(InvariantBreach(3, f"node {name} is known in an old version"))
    groups = {f"default/{name}" for name, group in world.groups.items() if group.exists}
    if set(cluster.groups) != groups:
        found.append(
            InvariantBreach(3, f"PodGroups known {sorted(cluster.groups)}, are {sorted(groups)}")
        )
    expected = {uid: pod for uid, pod in truth.pods.items() if _is_our_business(pod, world)}
    for row in cluster.pods.rows().tolist():
        pod = expected.pop(cluster.pods.uid[row], None)
        if pod is None:
            found.append(
                InvariantBreach(3, f"pod {cluster.pods.key(row)} is known and is not there")
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


def _is_our_business(pod: TruePod, world: ChaosWorld) -> bool:
    return not pod.finished and (bool(pod.node) or not world.members[pod.uid].role.foreign)


def _nothing_open(plane: Plane) -> list[InvariantBreach]:
    """Nothing in doubt, nobody on the way."""
    found = [
        InvariantBreach(3, f"the bind of {plane.cluster.pods.key(row)} is still in doubt")
        for row in plane.binder.in_doubt
    ]
    if plane.binder.is_waiting and not found:
        found.append(InvariantBreach(3, "binds are still on their way"))
    found += [
        InvariantBreach(3, f"unit {unit.key} is stuck: {unit.state.name}")
        for unit in plane.units
        if unit.state not in RESTING
    ]
    return found


# ------------------------------------------------------------ what fits is placed


def _all_placed(plane: Plane, world: ChaosWorld, truth: TrueState) -> list[InvariantBreach]:
    """No pod or gang waits that would fit."""
    together: dict[str, list[TruePod]] = defaultdict(list)
    found = []
    for pod in truth.wanted():
        role = world.members[pod.uid].role
        if role.group or role.together:
            together[role.group or role.owner].append(pod)
        elif (node := _node_for(plane, world, truth, pod.ask)) and not _given_up(plane, pod):
            found.append(InvariantBreach(3, f"pod {pod.name} waits and would fit on {node}"))
    for name, pods in together.items():
        found += _gang_waits(plane, world, truth, (name, pods))
    return found


def _gang_waits(
    plane: Plane, world: ChaosWorld, truth: TrueState, gang: tuple[str, list[TruePod]]
) -> list[InvariantBreach]:
    """A gang that waits although enough of it would fit together."""
    name, pods = gang
    group = world.groups.get(name)
    if group is not None and (not group.exists or group.min_member < 1 or group.disturbed):
        return []
    row = plane.cluster.pods.row(pods[0].uid)
    unit = plane.units.of_row(row) if row is not None else None
    if any(pod.ask.kin for pod in pods):
        return []  # how many fit depends on the order: single pods are asked for
    if unit is None or unit.state is UnitState.FAILED or len({pod.ask for pod in pods}) > 1:
        return [] if unit is not None else [InvariantBreach(3, f"gang {name} has no unit")]
    if group is not None and unit.min_member != group.min_member:
        return [
            InvariantBreach(2, f"gang {name}: {group.min_member} needed, {unit.min_member} known")
        ]
    needed = max(1, unit.still_needed)
    if not unit.is_complete or needed > len(pods):
        return []
    room = _how_many(plane, world, truth, pods[0].ask)
    if room < needed:
        return []
    return [InvariantBreach(3, f"gang {name}: {needed} of {len(pods)} pods wait, {room} would fit")]


def _given_up(plane: Plane, pod: TruePod) -> bool:
    """Whether its unit was given up, which is said in reports."""
    row = plane.cluster.pods.row(pod.uid)
    unit = plane.units.of_row(row) if row is not None else None
    return unit is not None and unit.state is UnitState.FAILED


def _node_for(plane: Plane, world: ChaosWorld, truth: TrueState, ask: PodRequest) -> str:
    """A node where a pod would fit now; empty when there is none."""
    zones = {n: s.zone for n, s in world.nodes.items() if not ask.pool or s.pool == ask.pool}
    kin = {
        name: sum(pod.ask.kin == ask.kin for pod in there.values())
        for name, there in truth.on_node.items()
    }
    return next(
        (
            name
            for name, shape in world.nodes.items()
            if _fits(plane, truth, (name, shape), [ask])
            and allows_together(ask.rule, name, kin, zones)
        ),
        "",
    )


def _how_many(plane: Plane, world: ChaosWorld, truth: TrueState, ask: PodRequest) -> int:
    """How many equal pods fit together now."""
    total = 0
    for node in world.nodes.items():
        count = 0
        while count < 16 and _fits(plane, truth, node, [ask] * (count + 1)):
            count += 1
        total += count
    return total


def _fits(
    plane: Plane, truth: TrueState, node: tuple[str, NodeShapeDraw], more: list[PodRequest]
) -> bool:
    """Whether some equal pods fit on a node beside what is there."""
    name, shape = node
    ask = more[0]
    if not admits(shape, ask):
        return False
    there = [pod.ask for pod in truth.on_node.get(name, {}).values()]
    if overruns(shape, [*there, *more], ask):
        return False
    if not ask.gpus:
        return True
    return _gpu_places(plane, name, shape, ask) >= len(more)


def _gpu_places(plane: Plane, name: str, shape: NodeShapeDraw, ask: PodRequest) -> int:
    """How many equal pods of GPUs fit on a node; without a note, what the plane guessed counts."""
    pods = plane.cluster.pods
    slot = plane.cluster.nodes.by_name.get(name, NO_SLOT)
    free = [WHOLE] * shape.gpus
    for row in pods.on_slot(slot).tolist() if slot != NO_SLOT else []:
        for request in plane.cluster.classes[int(pods.class_id[row])].devices:
            for device in range(shape.gpus):
                if int(pods.devices[row]) >> device & 1:
                    free[device] -= request.milli
    if ask.milli < WHOLE:
        return sum(max(0, left) // ask.milli for left in free)
    return sum(left >= WHOLE for left in free) // ask.gpus
