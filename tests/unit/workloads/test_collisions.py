"""Names with the hash of a template that another object already has."""

from typing import Any

import pytest

from stretto.api.schema.hashes.digest import revision_hash, template_hash
from tests.unit.web.local.clusters import DEPLOYMENTS, PODS, Cluster, pod

Json = dict[str, Any]

APPS = "/apis/apps/v1/namespaces/shop"
REVISIONS = f"{APPS}/controllerrevisions"
LABELS = {"app": "web"}
TEMPLATE: Json = {"metadata": {"labels": LABELS}, "spec": pod("")["spec"]}
WORKLOAD: Json = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE},
}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def templated(cluster: Cluster, path: str) -> Json:
    """The template of a workload with its defaults."""
    found: Json = cluster.send("POST", f"{path}?dryRun=All", WORKLOAD)["spec"]["template"]
    return found


def revision(name: str) -> Json:
    return {"metadata": {"name": name}, "data": {"other": True}, "revision": 1}


def names(cluster: Cluster, path: str) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.send("GET", path)["items"]}


def test_a_deployment_takes_another_name_for_its_replica_set(cluster: Cluster) -> None:
    template = templated(cluster, DEPLOYMENTS)
    taken = {**WORKLOAD, "metadata": {"name": f"web-{template_hash(template)}"}}
    taken["spec"] = {**WORKLOAD["spec"], "selector": {"matchLabels": {"app": "other"}}}
    taken["spec"]["template"] = {**TEMPLATE, "metadata": {"labels": {"app": "other"}}}
    cluster.send("POST", f"{APPS}/replicasets", taken)
    cluster.send("POST", DEPLOYMENTS, WORKLOAD)
    cluster.settle()
    assert f"web-{template_hash(template, 1)}" in names(cluster, f"{APPS}/replicasets")


def test_a_daemon_set_takes_another_name_for_its_revision(cluster: Cluster) -> None:
    template = templated(cluster, f"{APPS}/daemonsets")
    cluster.send("POST", REVISIONS, revision(f"web-{template_hash(template)}"))
    cluster.send("POST", f"{APPS}/daemonsets", WORKLOAD)
    cluster.settle()
    assert f"web-{template_hash(template, 1)}" in names(cluster, REVISIONS)


def test_a_stateful_set_adopts_its_revision_again(cluster: Cluster) -> None:
    cluster.send("POST", f"{APPS}/statefulsets", WORKLOAD)
    cluster.settle()
    before = names(cluster, REVISIONS)
    cluster.send("DELETE", f"{APPS}/statefulsets/web", {"propagationPolicy": "Orphan"})
    cluster.settle()
    cluster.send("POST", f"{APPS}/statefulsets", WORKLOAD)
    cluster.settle()
    (found,) = cluster.send("GET", REVISIONS)["items"]
    assert ({found["metadata"]["name"]}, len(found["metadata"]["ownerReferences"])) == (before, 1)


def test_the_hash_of_a_revision_is_that_of_its_data(cluster: Cluster) -> None:
    cluster.send("POST", f"{APPS}/statefulsets", WORKLOAD)
    cluster.settle()
    (found,) = cluster.send("GET", REVISIONS)["items"]
    assert found["metadata"]["name"] == f"web-{revision_hash(found['data'])}"


def test_pods_of_a_deployment_have_the_hash_of_its_template(cluster: Cluster) -> None:
    expected = template_hash(templated(cluster, DEPLOYMENTS))
    cluster.send("POST", DEPLOYMENTS, WORKLOAD)
    cluster.settle()
    (found,) = cluster.send("GET", PODS)["items"]
    assert found["metadata"]["labels"]["pod-template-hash"] == expected
