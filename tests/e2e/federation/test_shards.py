"""The controllers of a federation as several processes: two shards, and one daemon per task."""

from collections.abc import Iterator

import pytest

from stretto.api.wire.kinds import CONFIG_MAP
from tests.e2e.daemon import Daemon
from tests.e2e.federation.site import (
    FleetSite,
    config_map,
    delete,
    policy,
    running_site,
    shown,
    uids,
)

pytestmark = [pytest.mark.kube, pytest.mark.slow]

NUMBER = 12


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSite]:
    yield from running_site(("east",), tmp_path_factory.mktemp("fleet"))


def reconciled(daemon: Daemon, controller: str) -> bool:
    """Whether a process has reconciled keys of a controller."""
    return f'reconciliations_total{{controller="{controller}"' in daemon.page("/metrics")[1]


def carries_objects(site: FleetSite, prefix: str) -> None:
    """Check that objects reach the member and leave it."""
    maps = [f"{prefix}-{number}" for number in range(NUMBER)]
    for each in maps:
        config_map(site, each, "copies", a="b")
    site.until(lambda: all(uids(site, CONFIG_MAP, each) for each in maps))
    for each in maps:
        delete(site.host, CONFIG_MAP, each)
    site.until(lambda: all(shown(site.host, CONFIG_MAP, each) is None for each in maps))


def test_two_shards_divide_the_objects(site: FleetSite) -> None:
    shards = [
        site.daemon("--shards", "2", "--shard", str(shard), name=f"shard-{shard}").ready()
        for shard in range(2)
    ]
    site.join("east", account=False)
    site.until(lambda: site.is_ready("east"))
    policy(site, "copies", schedulingMode="Duplicate")
    carries_objects(site, "sharded")
    site.until(lambda: all(reconciled(each, "sync") for each in shards))
    for each in shards:
        each.part.stop()


def test_controllers_run_in_processes_of_their_own(site: FleetSite) -> None:
    first = "membership,health,federate,namespaces,schedule,follow,override"
    second = "sync,aggregate,feedback,automigration,autoscale,exports,imports"
    halves = [
        site.daemon("--controllers", names, name=f"half-{number}").ready()
        for number, names in enumerate((first, second))
    ]
    carries_objects(site, "divided")
    site.until(lambda: reconciled(halves[0], "schedule") and reconciled(halves[1], "sync"))
    assert not reconciled(halves[0], "sync")
    assert not reconciled(halves[1], "schedule")
