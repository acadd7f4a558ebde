"""A fleet that runs pods: a host and three members with controllers, a scheduler and kubelets."""

from collections.abc import Iterator

import pytest

from tests.e2e.daemon import ready_nodes
from tests.e2e.federation.site import WORKS, FleetSite, policy, running_site, weighted

MEMBERS = ("east", "north", "west")


@pytest.fixture(scope="package")
def whole_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSite]:
    """The fleet with its controllers; members have two nodes of eight CPUs each."""
    for site in running_site(MEMBERS, tmp_path_factory.mktemp("fleet"), WORKS):
        for member in site.members.values():
            ready_nodes(member.plane, "n0", "n1", cpu="8")
        site.daemon("--leave-timeout", "10").ready()
        for name in MEMBERS:
            site.join(name)
        site.until(lambda: all(map(site.is_ready, MEMBERS)))  # noqa: B023
        site.until(lambda: all(site.nodes(name) == 2 for name in MEMBERS))  # noqa: B023
        policy(site, "equal", placement=weighted(east=1, north=1, west=1))
        policy(site, "copies", schedulingMode="Duplicate")
        yield site


@pytest.fixture
def fleet(whole_fleet: FleetSite) -> Iterator[FleetSite]:
    """The fleet, healthy before and after each test."""
    heal(whole_fleet)
    yield whole_fleet
    heal(whole_fleet)


def heal(site: FleetSite) -> None:
    """Let every server answer, and wait until every cluster is ready."""
    for member in site.members.values():
        member.resume()
        member.wire.heal()
    for part in site.host.parts.values():
        part.resume()
        part.start()
    site.host.wait_ready()
    for daemon in site.daemons:
        daemon.part.start()
        daemon.ready()
    site.until(lambda: all(map(site.is_ready, site.members)))
