"""Capacity in use at the start of a scenario: pods on real servers with the same usage."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from stretto.api.wire.kinds import POD
from stretto.api.wire.quantity import amounts
from stretto.base.errors import TimeoutExpiredError
from stretto.federation.fleet import ClusterFleet
from stretto.stores.kube.paths import object_path
from stretto_lab.conformance.wire.real.preparation import create
from stretto_lab.conformance.wire.real.servers import WITHIN, RealServers
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.shared import busy_pods


@contextmanager
def occupied(
    servers: RealServers, clusters: Sequence[RecordedCluster], owner: str
) -> Iterator[None]:
    """Occupy the recorded capacity of the clusters on servers, for the block.

    Args:
        servers: the servers, whose clusters have joined.
        clusters: the clusters as recorded.
        owner: the scenario, whose name the pods get.

    Raises:
        TimeoutExpiredError: the host does not report the recorded capacity in time.
    """
    pods = list[tuple[str, str]]()
    try:
        for each in clusters:
            pods += ((each.name, path) for path in _occupy(servers, each, owner))
        if servers.fleet is not None and not servers.run_until(
            partial(knows_capacities, servers.fleet, clusters), WITHIN
        ):
            raise TimeoutExpiredError(f"the recorded capacity of {owner}", "other pods use some")
        yield
    finally:
        for name, path in pods:
            servers.planes[name].send("DELETE", path)


def _occupy(servers: RealServers, cluster: RecordedCluster, owner: str) -> Iterator[str]:
    """Create the pods in one cluster; yield their paths."""
    for number, body in enumerate(busy_pods(cluster.resources)):
        metadata = {**body["metadata"], "name": f"{owner}-{number}"}
        create(servers.planes[cluster.name], POD, {**body, "metadata": metadata})
        yield object_path(POD, metadata["namespace"], metadata["name"])


def knows_capacities(fleet: ClusterFleet, clusters: Sequence[RecordedCluster]) -> bool:
    """True if the clusters of a fleet report the recorded free capacity."""
    for each in clusters:
        cluster = fleet.cluster(each.name)
        resources = (cluster.status.get("resources") or {}) if cluster is not None else {}
        found, wanted = (
            amounts(x.get("available") or {}, each.name) for x in (resources, each.resources)
        )
        if any(found.get(name) != amount for name, amount in wanted.items()):
            return False
    return True
