"""The controllers of a federation as several processes: shards, and one daemon per task."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT, LEASE, NAMESPACE
from stretto.federation import names
from stretto.federation.shares import ControllerShare
from stretto.stores.shards import SHARDS, shard_lease
from tests.e2e.daemon import Daemon, ready_nodes
from tests.e2e.federation.site import (
    SYSTEM,
    FleetSite,
    config_map,
    delete,
    policy,
    put,
    running_site,
    shown,
    uids,
    weighted,
)

pytestmark = [pytest.mark.kube, pytest.mark.slow]

MEMBERS: Final = ("east", "west")
SPACES: Final = tuple(f"team-{number}" for number in range(8))
REPLICAS: Final = 4
LEASE_BASE: Final = "fed"


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSite]:
    """A host and two members with nodes; one cluster policy divides the replicas."""
    for site in running_site(MEMBERS, tmp_path_factory.mktemp("fleet")):
        for name, member in site.members.items():
            ready_nodes(member.plane, "n0")
            site.join(name, account=False)
        for space in SPACES:
            put(site.host, NAMESPACE, space)
        spec = {"schedulingMode": "Divide", "placement": weighted(east=1, west=1)}
        put(site.host, CLUSTER_PROPAGATION_POLICY.kind, "halves", spec=spec)
        yield site


@pytest.fixture
def site(whole_site: FleetSite) -> Iterator[FleetSite]:
    """The site without processes of other tests."""
    yield whole_site
    for each in whole_site.daemons:
        each.part.stop()


def shard(site: FleetSite, number: int, shards: int, log: str = "") -> Daemon:
    """Start a process of a shard; all shards have the same ``--lease``."""
    words = ("--shards", str(shards), "--shard", str(number))
    return site.daemon(*words, name=f"{log}{number}-of-{shards}", lease=LEASE_BASE)


def two_shards(site: FleetSite) -> list[Daemon]:
    """Start two shards, and wait until both members are ready: each is of one shard."""
    found = [shard(site, number, 2).ready() for number in range(2)]
    site.until(lambda: all(map(site.is_ready, MEMBERS)))
    return found


def waiting_shards(site: FleetSite) -> list[Daemon]:
    """Start three shards beside two that lead, and wait until each waits for these."""
    found = [shard(site, number, 3) for number in range(3)]
    waits = "is held by a process of 2 shards"
    site.until(lambda: all(waits in each.page("/readyz")[1] for each in found))
    return found


def own_spaces(number: int, shards: int) -> list[str]:
    """The namespaces of a shard."""
    share = ControllerShare(shard=number, shards=shards)
    return [space for space in SPACES if share.holds(space, "")]


def deploy(site: FleetSite, name: str, replicas: int = REPLICAS, cpu: str = "10m") -> None:
    """Create a Deployment in each namespace."""
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    for space in SPACES:
        metadata = {"namespace": space, "labels": {names.CLUSTER_POLICY: "halves", **labels}}
        put(site.host, DEPLOYMENT, name, metadata=metadata, spec=spec)


def copies(site: FleetSite, name: str, space: str) -> dict[str, tuple[str, int]]:
    """Uid and replicas of a Deployment in each member that has it."""
    found = {x.name: shown(x.plane, DEPLOYMENT, name, space) for x in site.members.values()}
    return {
        member: (str(each["metadata"]["uid"]), int(each["spec"]["replicas"]))
        for member, each in found.items()
        if each is not None
    }


def all_copies(site: FleetSite, name: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Uid and replicas of the Deployments of a name, by namespace and member."""
    return {space: copies(site, name, space) for space in SPACES}


def placed(site: FleetSite, name: str) -> set[str]:
    """The namespaces whose Deployment has all its replicas in the members, and no more."""
    found = {each: [x[1] for x in copies(site, name, each).values()] for each in SPACES}
    assert all(sum(counts) <= REPLICAS for counts in found.values()), found
    return {space for space, counts in found.items() if sum(counts) == REPLICAS}


def recorded(site: FleetSite) -> str:
    """The recorded number of shards."""
    lease = shown(site.host, LEASE, f"{LEASE_BASE}-shards", SYSTEM) or {}
    return str(lease["metadata"]["annotations"][SHARDS])


def leases(site: FleetSite) -> set[str]:
    """Names of the Leases of shards: of leaders, reports and the record."""
    items = (shown(site.host, LEASE, "", SYSTEM) or {})["items"]
    found = {str(each["metadata"]["name"]) for each in items}
    return {each for each in found if each.startswith((LEASE_BASE, "stretto-shard-all"))}


def of_shards(shards: int) -> set[str]:
    """Names of the leases and reports of a number of shards."""
    bases = (LEASE_BASE, "stretto-shard-all")
    return {shard_lease(base, number, shards) for base in bases for number in range(shards)}


def reconciled(daemon: Daemon, controller: str) -> bool:
    """Return whether a process has reconciled keys of a controller."""
    return f'reconciliations_total{{controller="{controller}"' in daemon.page("/metrics")[1]


def carries_objects(site: FleetSite, prefix: str) -> None:
    """Check that objects reach the members and leave them."""
    maps = [f"{prefix}-{number}" for number in range(12)]
    for each in maps:
        config_map(site, each, "copies", a="b")
    site.until(lambda: all(len(uids(site, CONFIG_MAP, each)) == len(MEMBERS) for each in maps))
    for each in maps:
        delete(site.host, CONFIG_MAP, each)
    site.until(lambda: all(shown(site.host, CONFIG_MAP, each) is None for each in maps))


def test_each_shard_processes_only_its_part(site: FleetSite) -> None:
    two_shards(site)[1].part.stop()
    deploy(site, "parts")
    site.until(lambda: placed(site, "parts") == set(own_spaces(0, 2)))
    site.always(lambda: placed(site, "parts") == set(own_spaces(0, 2)), 3)
    shard(site, 1, 2).ready()
    site.until(lambda: placed(site, "parts") == set(SPACES))


def test_a_killed_shard_is_replaced_without_double_or_deleted_objects(site: FleetSite) -> None:
    killed = two_shards(site)[1]
    deploy(site, "kept")
    site.until(lambda: placed(site, "kept") == set(SPACES))
    before = all_copies(site, "kept")
    standby = shard(site, 1, 2, "standby-")
    site.until(standby.stands_by)
    deploy(site, "interrupted")
    killed.part.kill()
    site.until(lambda: placed(site, "interrupted") == set(SPACES))
    assert all_copies(site, "kept") == before


def test_a_killed_shard_does_not_stop_the_others(site: FleetSite) -> None:
    two_shards(site)[1].part.kill()
    deploy(site, "alone")
    site.until(lambda: placed(site, "alone") == set(own_spaces(0, 2)))
    assert not copies(site, "alone", own_spaces(1, 2)[0])
    shard(site, 1, 2, "next-").ready()
    site.until(lambda: placed(site, "alone") == set(SPACES))


def test_another_number_of_shards_waits_for_the_last_shard_of_the_first(site: FleetSite) -> None:
    first = two_shards(site)
    second = waiting_shards(site)
    first[0].part.stop()
    site.always(lambda: recorded(site) == "2" and not any(x.is_ready() for x in second), 12)
    first[1].part.kill()
    for each in second:
        each.ready()
    assert recorded(site) == "3"
    site.until(lambda: leases(site) == {f"{LEASE_BASE}-shards", *of_shards(3)})


def test_another_number_of_shards_keeps_every_object(site: FleetSite) -> None:
    first = two_shards(site)
    deploy(site, "changed")
    site.until(lambda: placed(site, "changed") == set(SPACES))
    before = all_copies(site, "changed")
    second = waiting_shards(site)
    for each in first:
        each.part.kill()
    deploy(site, "later")
    site.until(lambda: all(each.is_ready() for each in second))
    site.until(lambda: placed(site, "later") == set(SPACES))
    assert all_copies(site, "changed") == before


def test_a_shard_that_was_suspended_during_the_change_stands_by(site: FleetSite) -> None:
    first = two_shards(site)
    second = waiting_shards(site)
    first[0].part.stop()
    first[1].part.pause()
    site.until(lambda: all(each.is_ready() for each in second))
    first[1].part.resume()
    site.until(lambda: "is held by a process of 3 shards" in first[1].page("/readyz")[1])
    deploy(site, "resumed")
    site.until(lambda: placed(site, "resumed") == set(SPACES))
    assert leases(site) == {f"{LEASE_BASE}-shards", *of_shards(3)}


def test_simultaneous_decisions_of_two_shards_do_not_overfill_a_member(site: FleetSite) -> None:
    two_shards(site)
    deploy(site, "large", replicas=1, cpu="15")

    def replicas() -> dict[str, int]:
        found = Counter(dict.fromkeys(MEMBERS, 0))
        for each in all_copies(site, "large").values():
            found.update({member: count for member, (_, count) in each.items()})
        return dict(found)

    site.until(lambda: sum(replicas().values()) == len(SPACES))
    assert replicas() == {"east": 4, "west": 4}  # of 64 CPUs each


def test_controllers_run_in_processes_of_their_own(site: FleetSite) -> None:
    first = "membership,health,federate,namespaces,schedule,follow,override"
    second = "sync,aggregate,feedback,automigration,autoscale,exports,imports"
    halves = [
        site.daemon("--controllers", names, name=f"half-{number}").ready()
        for number, names in enumerate((first, second))
    ]
    policy(site, "copies", schedulingMode="Duplicate")
    carries_objects(site, "divided")
    site.until(lambda: reconciled(halves[0], "schedule") and reconciled(halves[1], "sync"))
    assert not reconciled(halves[0], "sync")
    assert not reconciled(halves[1], "schedule")
