"""`stretto federation run` with its shipped rights over a real host and two real members."""

from collections.abc import Iterator

import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER, OVERRIDE_POLICY, PROPAGATED_VERSION
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT
from stretto.federation import names
from stretto.federation.connection.kube import FIELD_MANAGER
from tests.e2e.daemon import Daemon
from tests.e2e.federation.site import (
    SPACE,
    USER,
    FleetSite,
    config_map,
    delete,
    deployment,
    patch,
    policy,
    put,
    running_site,
    shown,
    weighted,
)

pytestmark = pytest.mark.kube


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSite]:
    yield from running_site(("east", "west"), tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="module")
def daemon(site: FleetSite) -> Daemon:
    daemon = site.daemon().ready()
    for name in site.members:
        site.join(name, account=False)
    site.until(lambda: all(map(site.is_ready, site.members)))
    policy(site, "equal", placement=weighted(east=1, west=1))
    policy(site, "copies", schedulingMode="Duplicate")
    return daemon


def image(site: FleetSite, member: str, name: str) -> str:
    """The image of a Deployment in a member."""
    found = shown(site.members[member].plane, DEPLOYMENT, name) or {}
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"]) if found else ""


def test_a_deployment_is_divided_overridden_scaled_and_deleted(
    site: FleetSite, daemon: Daemon
) -> None:
    overriders = {"image": [{"operations": [{"imageComponent": "Tag", "operator": "overwrite",
                                             "value": "v2"}]}]}  # fmt: skip
    rule = {"targetClusters": {"clusters": ["west"]}, "overriders": overriders}
    space = {"namespace": SPACE}
    put(site.host, OVERRIDE_POLICY.kind, "tag", metadata=space, spec={"overrideRules": [rule]})
    deployment(site, "web", 5, "equal")
    patch(site.host, DEPLOYMENT, "web", {"metadata": {"labels": {names.OVERRIDE_POLICY: "tag"}}})
    site.until(lambda: site.total("web") == 5 and len(site.replicas("web")) == 2)
    site.until(lambda: (image(site, "east", "web"), image(site, "west", "web"))
               == ("app:v1", "app:v2"))  # fmt: skip
    patch(site.host, DEPLOYMENT, "web", {"spec": {"replicas": 8}})
    site.until(lambda: site.replicas("web") == {"east": 4, "west": 4})
    delete(site.host, DEPLOYMENT, "web")
    site.until(lambda: site.replicas("web") == {})
    site.until(lambda: shown(site.host, DEPLOYMENT, "web") is None)


def test_drift_in_a_member_is_repaired(site: FleetSite, daemon: Daemon) -> None:
    config_map(site, "conf", "copies", key="a")
    plane = site.members["east"].plane
    site.until(lambda: shown(plane, CONFIG_MAP, "conf") is not None)
    patch(plane, CONFIG_MAP, "conf", {"data": {"key": "b"}})
    site.until(lambda: (shown(plane, CONFIG_MAP, "conf") or {}).get("data") == {"key": "a"})


def test_a_member_that_answers_nothing_does_not_delay_the_others(
    site: FleetSite, daemon: Daemon
) -> None:
    site.members["west"].pause()
    try:
        for number in range(20):
            config_map(site, f"many-{number}", "copies", key="a")
        plane = site.members["east"].plane
        names_ = [f"many-{number}" for number in range(20)]
        site.until(lambda: all(shown(plane, CONFIG_MAP, each) for each in names_), 30.0)
    finally:
        site.members["west"].resume()
    west = site.members["west"].plane
    site.until(lambda: all(shown(west, CONFIG_MAP, each) for each in names_))


def test_a_member_keeps_its_own_fields_and_loses_those_of_the_template_that_go(
    site: FleetSite, daemon: Daemon
) -> None:
    config_map(site, "fields", "copies", stays="1", goes="2")
    plane = site.members["east"].plane
    site.until(lambda: shown(plane, CONFIG_MAP, "fields") is not None)
    patch(plane, CONFIG_MAP, "fields", {"data": {"own": "3"}})
    patch(site.host, CONFIG_MAP, "fields", {"data": {"goes": None, "new": "4"}})
    wanted = {"stays": "1", "own": "3", "new": "4"}
    site.until(lambda: (shown(plane, CONFIG_MAP, "fields") or {}).get("data") == wanted)
    managers = (shown(plane, CONFIG_MAP, "fields") or {})["metadata"]["managedFields"]
    own = [each["operation"] for each in managers if each["manager"] == FIELD_MANAGER]
    assert own == ["Apply"]


@pytest.mark.slow
def test_after_a_restart_what_has_not_changed_is_not_written_again(
    site: FleetSite, daemon: Daemon
) -> None:
    config_map(site, "kept", "copies", a="b")
    plane = site.members["east"].plane
    site.until(lambda: versions(site, "kept-configmaps") == {"east", "west"})
    site.until(lambda: 'verb="create"' in daemon.page("/metrics")[1])
    daemon.part.kill()
    daemon.part.start()
    daemon.ready()
    config_map(site, "next", "copies", a="b")
    site.until(lambda: shown(plane, CONFIG_MAP, "next") is not None)
    site.until(lambda: 'verb="create"' in daemon.page("/metrics")[1])
    assert 'verb="patch"' not in daemon.page("/metrics")[1]


def versions(site: FleetSite, name: str) -> set[str]:
    """The clusters whose versions a PropagatedVersion has."""
    found = shown(site.host, PROPAGATED_VERSION.kind, name) or {}
    return {x["clusterName"] for x in (found.get("status") or {}).get("clusterVersions", ())}


def test_metrics_count_reconciliations_and_writes_to_members(
    site: FleetSite, daemon: Daemon
) -> None:
    config_map(site, "counted", "copies", key="a")
    site.until(lambda: 'member_writes_total{cluster="east",outcome="ok",verb="create"}'
               in daemon.page("/metrics")[1])  # fmt: skip
    text = daemon.page("/metrics")[1]
    assert 'stretto_federation_clusters{cluster="east",state="ready"} 1.0' in text
    assert 'stretto_federation_reconciliations_total{controller="sync",result="ok"}' in text
    assert daemon.page("/healthz") == (200, "ok\n")


@pytest.mark.slow
def test_a_standby_takes_over_when_the_leader_is_killed(site: FleetSite, daemon: Daemon) -> None:
    standby = site.daemon(name="controllers")
    site.until(standby.stands_by)
    daemon.part.kill()
    site.until(standby.is_ready)
    config_map(site, "after", "copies", key="a")
    site.until(
        lambda: all(shown(each.plane, CONFIG_MAP, "after") for each in site.members.values())
    )
    standby.part.stop()
    daemon.part.start()
    daemon.ready()


@pytest.mark.slow
def test_a_cluster_that_leaves_with_cascading_deletion_is_clean(
    site: FleetSite, daemon: Daemon
) -> None:
    config_map(site, "last", "copies", key="a")
    plane = site.members["west"].plane
    site.until(lambda: shown(plane, CONFIG_MAP, "last") is not None)
    mark = {"metadata": {"annotations": {names.CASCADE: "true"}}}
    patch(site.host, FEDERATED_CLUSTER.kind, "west", mark)
    delete(site.host, FEDERATED_CLUSTER.kind, "west")
    site.until(lambda: shown(site.host, FEDERATED_CLUSTER.kind, "west") is None)
    assert shown(plane, CONFIG_MAP, "last") is None
    assert shown(site.members["east"].plane, CONFIG_MAP, "last") is not None


def test_the_controllers_use_no_right_that_they_do_not_have(
    site: FleetSite, daemon: Daemon
) -> None:
    refused = {call.what for call in site.host.audit(USER) if call.response_status.code == 403}
    assert refused == set()
