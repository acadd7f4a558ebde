"""The effect of each event of a seed on its fleet."""

from collections.abc import Callable
from typing import Final

from stretto.api.wire.kinds import DEPLOYMENT, POD
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Deletion, Patch
from stretto_lab.chaos.fleets.draws import FleetEvent
from stretto_lab.chaos.fleets.workloads import DrawnWorkload, space_of
from stretto_lab.chaos.fleets.world import FleetWorld

OfWorld = Callable[[FleetWorld], None]
"""Function that applies an event to the host."""
OfWorkload = Callable[[FleetWorld, DrawnWorkload], None]
"""Function that applies an event to a Deployment of the host."""
OfCluster = Callable[[FleetWorld, str], bool]
"""Function that applies an event to a cluster; true if it was possible."""


def happen(world: FleetWorld, event: FleetEvent) -> bool:
    """Apply an event to a drawn workload or cluster; true if it was possible."""
    work = world.rng.choice(list(world.workloads.values()))
    cluster = world.rng.choice(world.clusters)
    if event in _OF_CLUSTERS:
        return _OF_CLUSTERS[event](world, cluster)
    if event in _OF_WORKLOADS and not world.has_host:
        return False
    if event is FleetEvent.DRIFT:
        return _drift(world, work, cluster)
    if event in _OF_WORKLOADS:
        _OF_WORKLOADS[event](world, work)
    else:
        _OF_WORLD[event](world)
    return True


def _rescale(world: FleetWorld, work: DrawnWorkload) -> None:
    work.rescale(world.rng.randint(1, 8))
    world.patch(work, {"replicas": work.replicas})


def _update(world: FleetWorld, work: DrawnWorkload) -> None:
    work.template += 1
    world.patch(work, {"template": work.pod_template()})


def _migrate(world: FleetWorld, work: DrawnWorkload) -> None:
    world.migrate(work)


def _availability(availability: ServerAvailability) -> OfCluster:
    """An event that changes the availability of a member."""

    def change(world: FleetWorld, cluster: str) -> bool:
        world.fleet.members[cluster].served.set_availability(availability)
        return True

    return change


def _crash_member(world: FleetWorld, cluster: str) -> bool:
    world.fleet.members[cluster].stop()
    return True


def _return(world: FleetWorld, cluster: str) -> bool:
    world.fleet.members[cluster].start()
    return True


def _fill(world: FleetWorld, cluster: str) -> bool:
    world.fill(cluster, is_full=True)
    return True


def _free(world: FleetWorld, cluster: str) -> bool:
    world.fill(cluster, is_full=False)
    return True


def _lose(world: FleetWorld, cluster: str) -> bool:
    if len(world.clusters) <= 2 or not world.has_host:
        return False
    world.lose(cluster)
    return True


def _crash_host(world: FleetWorld) -> None:
    world.fleet.served.set_availability(ServerAvailability.SILENT)


def _start_host(world: FleetWorld) -> None:
    world.fleet.served.restart()


def _crash(world: FleetWorld) -> None:
    world.kill_at(world.rng.randint(0, 12))


def _restart(world: FleetWorld) -> None:
    if world.draw.shards > 1 and world.runs:
        world.take_over()
    else:
        world.restart(stays=False)


def _stop(world: FleetWorld) -> None:
    world.restart(stays=world.runs)


def _kill_pod(world: FleetWorld, cluster: str) -> bool:
    store = world.fleet.members[cluster].store
    pods = sorted((each.name, each.namespace) for each in store.list(POD).records)
    if not pods:
        return False
    for each in world.workloads.values():
        each.lose(cluster)
    name, space = world.rng.choice(pods)
    store.delete(POD, [Deletion(space, name)])
    return True


def _drift(world: FleetWorld, work: DrawnWorkload, cluster: str) -> bool:
    """Scale a Deployment in a member to 0; a running member deletes the pods at once."""
    member = world.fleet.members[cluster]
    change = Patch(space_of(work.name), work.name, {"spec": {"replicas": 0}})
    if not member.is_running or member.store.patch(DEPLOYMENT, [change])[0].record is None:
        return False
    work.lose(cluster)
    while member.step():
        pass
    return True


_OF_WORLD: Final[dict[FleetEvent, OfWorld]] = {
    FleetEvent.CRASH_HOST: _crash_host,
    FleetEvent.START_HOST: _start_host,
    FleetEvent.CRASH: _crash,
    FleetEvent.RESTART: _restart,
    FleetEvent.STOP: _stop,
}
_OF_WORKLOADS: Final[dict[FleetEvent, OfWorkload]] = {
    FleetEvent.RESCALE: _rescale,
    FleetEvent.UPDATE: _update,
    FleetEvent.MIGRATE: _migrate,
}
_OF_CLUSTERS: Final[dict[FleetEvent, OfCluster]] = {
    FleetEvent.SILENCE: _availability(ServerAvailability.SILENT),
    FleetEvent.BUSY: _availability(ServerAvailability.BUSY),
    FleetEvent.SLOW: _availability(ServerAvailability.SLOW),
    FleetEvent.STALL: _availability(ServerAvailability.STALLED),
    FleetEvent.CRASH_MEMBER: _crash_member,
    FleetEvent.RETURN: _return,
    FleetEvent.FILL: _fill,
    FleetEvent.FREE: _free,
    FleetEvent.LOSE: _lose,
    FleetEvent.KILL_POD: _kill_pod,
}
