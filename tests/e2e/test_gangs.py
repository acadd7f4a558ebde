"""Gangs on an API server, which binds pod by pod: a partially rejected gang is repaired."""

from typing import Any

import pytest

from stretto.api.wire.kinds import PLUGINS_POD_GROUP, VOLCANO_POD_GROUP, Kind
from stretto.daemons.group_forms import with_served_groups
from stretto.stores.kube.paths import collection_path
from tests.e2e.daemon import PODS, SPACE, group, item, member, pod, pods_of, put, until
from tests.e2e.plane import GROUPS, Ground
from tests.e2e.test_cases_faults import once

pytestmark = pytest.mark.kube


def ring(ground: Ground, timeout: int = 300) -> None:
    """A group of three, whose time begins when its pods are known."""
    put(ground.site, PODS, *(member(f"m{number}", "ring") for number in range(3)))
    uids = [each["metadata"]["uid"] for each in pods_of(ground.site)]
    ground.go(lambda: all(ground.plane.cluster.pods.row(uid) is not None for uid in uids))
    body = group("ring", 3)
    body["spec"]["scheduleTimeoutSeconds"] = timeout
    put(ground.site, GROUPS, body)


def test_a_gang_that_lost_a_pod_between_claim_and_bind_is_completed(ground: Ground) -> None:
    ground.nodes("n0", cpu="4")
    ground.synced()
    ring(ground)
    seen = once(ground, "binder.before-write", lambda: ground.remove("m2"))
    ground.go(lambda: bool(seen) and "m0" in ground.bound())
    put(ground.site, PODS, member("again", "ring"))  # as its controller does
    ground.go(lambda: set(ground.bound()) == {"m0", "m1", "again"})
    ground.laws_hold()


def test_a_gang_that_is_not_whole_again_in_time_is_released(ground: Ground) -> None:
    ground.nodes("n0", cpu="4")
    ground.synced()
    ring(ground, timeout=4)
    seen = once(ground, "binder.before-write", lambda: ground.remove("m2"))
    ground.go(lambda: bool(seen) and ground.places.most(ground.site) == 1)
    ground.go(lambda: all_leaving(ground))


def definition(kind: Kind) -> dict[str, Any]:
    """A CRD of a kind that keeps every field."""
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = kind.api_version.partition("/")[2]
    served: dict[str, Any] = {"name": version, "served": True, "storage": True}
    served["schema"] = {"openAPIV3Schema": schema}
    spec = {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [served]}
    return {"metadata": {"name": kind.resource}, "spec": spec}


def ring_of(ground: Ground, kind: Kind, **marks: dict[str, str]) -> str:
    """A group of three of another scheduler and its pods; the path of the group."""
    put(ground.site, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(kind))
    path = collection_path(kind, SPACE)
    until(lambda: ground.site.send("GET", path).status == 200, lambda: "the kind is not served")
    ground.plane.close()
    forms = with_served_groups(ground.plane.config, ground.near).group_forms
    ground.plane = ground.new_plane(group_forms=forms)
    ring = {"metadata": {"name": "ring"}, "spec": {"minMember": 3}}
    put(ground.site, path, {"apiVersion": kind.api_version, "kind": kind.kind, **ring})
    for name in "abc":
        body = pod(name, "1")
        put(ground.site, PODS, {**body, "metadata": {**body["metadata"], **marks}})
    return f"{path}/ring"


@pytest.mark.slow  # the definition that it installs would change the server of the other tests
def test_a_group_of_scheduler_plugins_is_a_gang_where_its_definition_is_installed(
    ground: Ground,
) -> None:
    ground.nodes("n0", cpu="2")
    ring_of(ground, PLUGINS_POD_GROUP, labels={"scheduling.x-k8s.io/pod-group": "ring"})
    ground.go_for(3)
    assert ground.bound() == {}
    ground.nodes("n1", cpu="1")
    ground.go(lambda: len(ground.bound()) == 3)
    ground.laws_hold()


@pytest.mark.slow  # as above
def test_a_group_of_volcano_is_a_gang_and_has_the_phases_that_its_controller_waits_for(
    ground: Ground,
) -> None:
    def status() -> dict[str, Any]:
        return dict(item(ground.site, path).get("status", {}))

    ground.nodes("n0", cpu="2")
    marks = {"scheduling.k8s.io/group-name": "ring"}
    path = ring_of(ground, VOLCANO_POD_GROUP, annotations=marks)
    ground.go(lambda: status().get("phase") == "Inqueue")
    assert ground.bound() == {}
    ground.nodes("n1", cpu="1")
    ground.go(lambda: status().get("phase") == "Running")
    assert (status()["running"], len(ground.bound())) == (3, 3)
    assert status()["conditions"][0]["type"] == "Scheduled"
    ground.laws_hold()


def all_leaving(ground: Ground) -> bool:
    """Return whether all pods on nodes are terminating or deleted."""
    pods = [each for each in pods_of(ground.site) if each["spec"].get("nodeName")]
    return all("deletionTimestamp" in each["metadata"] for each in pods)
