"""The laws of a fleet: checked after every step, and at rest after the heal."""

import json
from collections.abc import Iterator
from typing import Any

from stretto.api.kinds.federation import FEDERATED_OBJECT
from stretto.api.wire.kinds import DEPLOYMENT, POD
from stretto.federation import names
from stretto.federation.objects import pending, placements
from stretto.federation.problems import SCHEDULED
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.served import MemberMood
from stretto_lab.chaos.fleets.world import OWN, DrawnWorkload, FleetWorld

SURGE = 2
"""Largest surge of a drawn Deployment."""


def breaches(world: FleetWorld) -> Iterator[str]:
    """Breaches of the laws that hold at every moment."""
    for cluster in world.clusters:
        own = _deployment(world, cluster, OWN)
        if own is None or own.labels or own.spec["replicas"] != 1:
            yield f"{cluster}: a Deployment of another owner was changed"
    for work in world.workloads.values():
        yield from _of_workload(world, work)


def at_rest(world: FleetWorld) -> Iterator[str]:
    """Breaches of the laws that hold once every fault is healed."""
    yield from breaches(world)
    for work in world.workloads.values():
        federated = _federated(world, work)
        found = {name: _deployment(world, name, work.name) for name in world.clusters}
        sizes = {name: x.spec["replicas"] for name, x in found.items() if x is not None}
        if sum(sizes.values()) != work.replicas:
            yield f"{work.name}: {sizes} replicas at rest instead of {work.replicas}"
        placed = placements.placement(federated.spec) if federated is not None else set()
        if placed != sizes.keys():
            yield f"{work.name}: it is in {sorted(sizes)} and placed in {sorted(placed)}"
        usable = [pod for name in world.clusters for pod in _pods(world, name, work)]
        images = {pod.spec["containers"][0]["image"] for pod in usable}
        if len(usable) != work.replicas or images != {f"v{work.template}"}:
            yield f"{work.name}: {len(usable)} pods of {sorted(images)} at rest"
        if federated is not None and names.FAILOVER in federated.annotations:
            yield f"{work.name}: a failover is not over: {federated.annotations[names.FAILOVER]}"


def _of_workload(world: FleetWorld, work: DrawnWorkload) -> Iterator[str]:
    federated = _federated(world, work)
    if federated is None or federated.is_terminating:
        yield f"{work.name}: its federated object is gone"
        return
    yield from _of_plan(work, federated)
    answering = [name for name in world.clusters if _answers(world, name)]
    sizes = {}
    for name in answering:
        found = _deployment(world, name, work.name)
        if found is not None and found.labels.get(names.MANAGED) == "true":
            sizes[name] = len(_pods(world, name, work))
    if sum(sizes.values()) > 2 * work.most + SURGE:
        yield f"{work.name}: {sizes} pods of at most {work.most} replicas"
    states = {each["cluster"]: each["status"] for each in federated.status.get("clusters") or ()}
    for name in placements.placement(federated.spec):
        known = states.get(name) == "OK"
        if known and _answers(world, name) and _deployment(world, name, work.name) is None:
            yield f"{work.name}: it is gone from {name}, where it is placed"


def _of_plan(work: DrawnWorkload, federated: StoredObject) -> Iterator[str]:
    """What the scheduler has decided adds up."""
    template = federated.spec["template"]["spec"]
    if pending.pending(federated.annotations) or names.SCHEDULING_MODE in federated.annotations:
        return
    if any(_is_kept(each) for each in federated.status.get("conditions") or ()):
        return
    patches = placements.overrides_by(federated.spec, names.SCHEDULER)
    total = sum(each.get("value") or 0 for found in patches.values() for each in found)
    waiting: Any = json.loads(federated.annotations.get(names.WAITING) or "{}")
    if total + int(waiting.get("unplaced") or 0) != template["replicas"]:
        yield f"{work.name}: {total} replicas are planned of {template['replicas']}"
    if patches.keys() - placements.placement(federated.spec):
        yield f"{work.name}: replicas are planned where it is not placed"


def _is_kept(condition: dict[str, Any]) -> bool:
    """Whether a condition says that no cluster is feasible and the last placement stays."""
    return condition.get("type") == SCHEDULED and condition.get("status") != "True"


def _answers(world: FleetWorld, name: str) -> bool:
    return world.fleet.members[name].served.mood is MemberMood.ANSWERS


def _federated(world: FleetWorld, work: DrawnWorkload) -> StoredObject | None:
    name = f"{work.name}-deployments.apps"
    record = world.fleet.host.get(FEDERATED_OBJECT.kind, "default", name)
    return StoredObject(record) if record is not None else None


def _deployment(world: FleetWorld, cluster: str, name: str) -> StoredObject | None:
    record = world.fleet.members[cluster].store.get(DEPLOYMENT, "default", name)
    return StoredObject(record) if record is not None else None


def _pods(world: FleetWorld, cluster: str, work: DrawnWorkload) -> list[StoredObject]:
    """Pods of a workload that are not being deleted."""
    records = world.fleet.members[cluster].store.list(POD).records
    found = (StoredObject(each) for each in records if each.name.startswith(f"{work.name}-"))
    return [each for each in found if not each.is_terminating]
