"""A host and three members that run pods: what users do with a federation."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.api.kinds.federation import OVERRIDE_POLICY
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT
from stretto.cli.main import cli
from stretto.federation import names
from tests.e2e.federation.site import (
    SPACE,
    FleetSite,
    config_map,
    delete,
    deployment,
    patch,
    pods,
    policy,
    put,
    running,
    shown,
    uids,
    weighted,
)

pytestmark = [pytest.mark.kube, pytest.mark.slow]


def verb(site: FleetSite, *words: str) -> str:
    """Output of a verb of the federation over the real host."""
    kubeconfig = str(site.host.kubeconfig)
    done = CliRunner().invoke(cli, ["federation", *words, "--kubeconfig", kubeconfig])
    assert done.exit_code == 0, done.output
    return done.stdout


def status(site: FleetSite, name: str) -> dict[str, Any]:
    found = shown(site.host, DEPLOYMENT, name) or {}
    return dict(found.get("status") or {})


def images(site: FleetSite, name: str) -> set[str]:
    """Images of the running pods of a Deployment."""
    planes = [each.plane for each in site.members.values()]
    return {pod["spec"]["containers"][0]["image"] for plane in planes for pod in pods(plane, name)}


def test_a_deployment_runs_in_its_shares_and_reports_its_status(fleet: FleetSite) -> None:
    deployment(fleet, "shares", 6, "equal")
    fleet.until(lambda: fleet.replicas("shares") == {"east": 2, "north": 2, "west": 2})
    fleet.until(lambda: fleet.running("shares") == 6)
    fleet.until(lambda: status(fleet, "shares").get("readyReplicas") == 6)
    delete(fleet.host, DEPLOYMENT, "shares")
    fleet.until(lambda: fleet.running("shares") == 0 and fleet.replicas("shares") == {})


def test_an_update_keeps_both_bounds_over_all_members(fleet: FleetSite) -> None:
    rolling = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    deployment(fleet, "rolled", 6, "equal", strategy={"type": "RollingUpdate", **rolling})
    fleet.until(lambda: [each[2] for each in fleet.counts("rolled").values()] == [2, 2, 2])
    container = {"name": "main", "image": "app:v2"}
    change = {"spec": {"template": {"spec": {"containers": [container]}}}}
    patch(fleet.host, DEPLOYMENT, "rolled", change)

    def is_done_and_within_bounds() -> bool:
        found = fleet.counts("rolled").values()
        assert sum(each[1] for each in found) <= 7, found
        assert sum(each[2] for each in found) >= 5, found
        return images(fleet, "rolled") == {"app:v2"} and sum(x[2] for x in found) == 6

    fleet.until(is_done_and_within_bounds)
    shown_ = verb(fleet, "rollout", "rolled", "-o", "json")
    assert {each["cluster"] for each in json.loads(shown_)["clusters"]} == set(fleet.members)
    delete(fleet.host, DEPLOYMENT, "rolled")


def test_a_migration_is_shown_applied_and_undone(fleet: FleetSite) -> None:
    deployment(fleet, "moved", 6, "equal")
    fleet.until(lambda: fleet.running("moved") == 6)
    listed = json.loads(verb(fleet, "migrate", "moved", "--from", "east", "-o", "json"))
    assert listed["objects"][0]["moves"] == 2
    assert fleet.replicas("moved")["east"] == 2
    verb(fleet, "migrate", "moved", "--from", "east", "--apply")
    fleet.until(lambda: fleet.replicas("moved") == {"north": 3, "west": 3})
    fleet.until(lambda: fleet.running("moved") == 6)
    verb(fleet, "migrate", "moved", "--undo", "--apply")
    fleet.until(lambda: fleet.total("moved") == 6 and fleet.running("moved") == 6)
    delete(fleet.host, DEPLOYMENT, "moved")


def test_followers_go_where_their_leader_goes(fleet: FleetSite) -> None:
    policy(fleet, "north-only", placement=[{"cluster": "north"}])
    put(fleet.host, CONFIG_MAP, "settings", metadata={"namespace": SPACE}, data={"a": "b"})
    volume = {"name": "settings", "configMap": {"name": "settings"}}
    deployment(fleet, "leader", 1, "north-only", pod={"volumes": [volume]})
    fleet.until(lambda: set(uids(fleet, CONFIG_MAP, "settings")) == {"north"})
    delete(fleet.host, DEPLOYMENT, "leader")
    fleet.until(lambda: uids(fleet, CONFIG_MAP, "settings") == {})


def test_overrides_apply_to_their_clusters_and_end_with_their_policy(fleet: FleetSite) -> None:
    value = {"labels": [{"operator": "addIfAbsent", "value": {"tier": "gold"}}]}
    rule = {"targetClusters": {"clusters": ["west"]}, "overriders": value}
    spec = {"overrideRules": [rule]}
    put(fleet.host, OVERRIDE_POLICY.kind, "gold", metadata={"namespace": SPACE}, spec=spec)
    config_map(fleet, "tiers", "copies", a="b")
    label = {"metadata": {"labels": {names.OVERRIDE_POLICY: "gold"}}}
    patch(fleet.host, CONFIG_MAP, "tiers", label)

    def tiers() -> dict[str, str | None]:
        found = {x.name: shown(x.plane, CONFIG_MAP, "tiers") for x in fleet.members.values()}
        return {key: each["metadata"]["labels"].get("tier") for key, each in found.items() if each}

    fleet.until(lambda: tiers() == {"east": None, "north": None, "west": "gold"})
    delete(fleet.host, OVERRIDE_POLICY.kind, "gold")
    fleet.until(lambda: tiers() == {"east": None, "north": None, "west": None})


def test_pods_that_fit_nowhere_in_a_full_member_move_to_others(fleet: FleetSite) -> None:
    policy(
        fleet,
        "moving",
        placement=weighted(east=1, north=1, west=1),
        autoMigration={"when": {"podUnschedulableFor": "3s"}},
        reschedulePolicy={"replicaRescheduling": {"avoidDisruption": True}},
    )
    nodes = {"spec": {"unschedulable": True}}
    west = fleet.members["west"].plane
    for name in ("n0", "n1"):
        assert west.send("PATCH", f"/api/v1/nodes/{name}", json.dumps(nodes).encode()).status == 200
    try:
        deployment(fleet, "crowded", 6, "moving")
        fleet.until(lambda: fleet.running("crowded") == 6)
        assert running(west, "crowded") == []
    finally:
        free = json.dumps({"spec": {"unschedulable": None}}).encode()
        for name in ("n0", "n1"):
            west.send("PATCH", f"/api/v1/nodes/{name}", free)
        delete(fleet.host, DEPLOYMENT, "crowded")
        fleet.until(lambda: fleet.nodes("west") == 2)


def test_the_verbs_read_the_real_host(fleet: FleetSite) -> None:
    deployment(fleet, "seen", 3, "equal")
    fleet.until(lambda: fleet.running("seen") == 3)
    found = json.loads(verb(fleet, "clusters", "-o", "json"))["clusters"]
    assert {each["name"]: each["nodes"] for each in found} == dict.fromkeys(fleet.members, 2)
    verdicts = json.loads(verb(fleet, "explain", "deployment/shop/seen", "-o", "json"))["clusters"]
    assert all(each["chosen"] for each in verdicts)
    delete(fleet.host, DEPLOYMENT, "seen")


def test_a_pod_is_explained_by_its_own_member(fleet: FleetSite) -> None:
    deployment(fleet, "huge", 1, "copies", pod={"nodeSelector": {"disk": "none"}})
    east = fleet.members["east"].plane
    fleet.until(lambda: len(pods(east, "huge")) == 1)
    name = pods(east, "huge")[0]["metadata"]["name"]
    found = json.loads(verb(fleet, "explain", f"pod/{SPACE}/{name}", "-o", "json"))
    assert (found["pod_cluster"], found["object"]) == ("east", f"Deployment {SPACE}/huge")
    assert found["pod"]["unit"]["state"] == "unschedulable"
    assert {each["cluster"] for each in found["clusters"]} == set(fleet.members)
    delete(fleet.host, DEPLOYMENT, "huge")
