"""Events of controllers in a local cluster, with the texts of Kubernetes."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster

APPS = "/apis/apps/v1/namespaces/shop"
BATCH = "/apis/batch/v1/namespaces/shop"
LABELS = {"app": "a"}
POD = {"containers": [{"name": "c", "image": "nginx"}]}


def made(plural: str, name: str, template: Any = POD, **spec: Any) -> Cluster:
    """A cluster of one node with a workload that has settled."""
    cluster = Cluster(1)
    given = {"template": {"metadata": {"labels": LABELS}, "spec": template}, **spec}
    group = BATCH if plural == "jobs" else APPS
    if group == APPS:
        given["selector"] = {"matchLabels": LABELS}
    cluster.send("POST", f"{group}/{plural}", {"metadata": {"name": name}, "spec": given})
    cluster.settle()
    return cluster


def texts(cluster: Cluster, kind: str) -> list[str]:
    """Reasons and messages of the events about a kind, in the order of a list."""
    found = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    about = [each for each in found if each["involvedObject"]["kind"] == kind]
    return [f"{each['reason']}: {each['message']}" for each in about]


def pods(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.send("GET", PODS)["items"]]


def test_a_replica_set_has_an_event_for_each_pod() -> None:
    cluster = made("replicasets", "web", replicas=2)
    expected = {f"SuccessfulCreate: Created pod: {name}" for name in pods(cluster)}
    assert set(texts(cluster, "ReplicaSet")) == expected


def test_many_pods_share_one_event() -> None:
    cluster = made("replicasets", "web", replicas=15)
    found = texts(cluster, "ReplicaSet")
    assert len(found) == 10
    assert found[-1].startswith("SuccessfulCreate: (combined from similar events): Created pod: ")


def test_a_smaller_replica_set_has_an_event_for_the_deleted_pod() -> None:
    cluster = made("replicasets", "web", replicas=1)
    (name,) = pods(cluster)
    cluster.send("PATCH", f"{APPS}/replicasets/web", {"spec": {"replicas": 0}})
    cluster.settle()
    assert texts(cluster, "ReplicaSet")[-1] == f"SuccessfulDelete: Deleted pod: {name}"


def test_a_stateful_set_has_events_for_claims_and_pods() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": claim}]
    cluster = made("statefulsets", "db", replicas=1, serviceName="", volumeClaimTemplates=claims)
    assert texts(cluster, "StatefulSet") == [
        "SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success",
        "SuccessfulCreate: Create Pod db-0 in StatefulSet db successful",
    ]


def test_a_suspended_job_has_an_event() -> None:
    cluster = made("jobs", "late", {**POD, "restartPolicy": "Never"}, suspend=True)
    assert texts(cluster, "Job") == ["Suspended: Job suspended"]


def test_a_resumed_job_has_events_for_its_pod_and_the_change() -> None:
    cluster = made("jobs", "late", {**POD, "restartPolicy": "Never"}, suspend=True)
    cluster.send("PATCH", f"{BATCH}/jobs/late", {"spec": {"suspend": False}})
    cluster.settle()
    (name,) = pods(cluster)
    created, resumed = texts(cluster, "Job")[1:]
    assert (created, resumed) == (f"SuccessfulCreate: Created pod: {name}", "Resumed: Job resumed")


@pytest.mark.parametrize("key", ["updatedReplicas", "terminatingReplicas"])
def test_the_status_of_a_deployment_counts_pods(key: str) -> None:
    cluster = made("deployments", "web", replicas=1)
    assert key in cluster.send("GET", f"{APPS}/deployments/web")["status"]


def test_the_revision_of_a_deployment_is_no_new_generation() -> None:
    cluster = made("deployments", "web", replicas=1)
    metadata = cluster.send("GET", f"{APPS}/deployments/web")["metadata"]
    revision = metadata["annotations"]["deployment.kubernetes.io/revision"]
    assert (metadata["generation"], revision) == (1, "1")
