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


def condition(cluster: Cluster, type_: str) -> Any:
    status = cluster.send("GET", f"{APPS}/deployments/web")["status"]
    return next((each for each in status["conditions"] if each["type"] == type_), None)


def test_a_deployment_shows_that_pods_are_refused() -> None:
    cluster = Cluster(1)
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    cluster.send("POST", "/api/v1/namespaces/shop/resourcequotas", quota)
    cluster.settle()
    spec = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}}}
    spec["template"]["spec"] = POD
    cluster.send("POST", f"{APPS}/deployments", {"metadata": {"name": "web"}, "spec": spec})
    cluster.settle()
    assert condition(cluster, "ReplicaFailure")["reason"] == "FailedCreate"


def test_an_update_that_waits_for_its_last_pod_exceeds_its_deadline() -> None:
    cluster = made("deployments", "web", replicas=1, progressDeadlineSeconds=10)
    waits = {"spec": {"template": {"spec": {"nodeSelector": {"no": "where"}}}}}
    cluster.send("PATCH", f"{APPS}/deployments/web", waits)
    cluster.settle(20.0)
    assert condition(cluster, "Progressing")["reason"] == "ProgressDeadlineExceeded"


def node(cluster: Cluster) -> Any:
    return cluster.send("GET", "/api/v1/nodes/n0")


def test_a_cordoned_node_has_a_taint_until_it_is_uncordoned() -> None:
    cluster = Cluster(1)
    found = []
    for is_cordoned in (True, False):
        cluster.send("PATCH", "/api/v1/nodes/n0", {"spec": {"unschedulable": is_cordoned}})
        cluster.settle()
        found.append([each["key"] for each in node(cluster)["spec"].get("taints", ())])
    assert found == [["node.kubernetes.io/unschedulable"], []]


def test_a_node_repeats_its_system_in_the_older_label() -> None:
    cluster = Cluster(1)
    labels = {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}
    cluster.send("PATCH", "/api/v1/nodes/n0", labels)
    cluster.settle()
    assert node(cluster)["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"


def test_a_new_node_has_an_event() -> None:
    cluster = Cluster(1)
    cluster.settle()
    (event,) = cluster.send("GET", "/api/v1/namespaces/default/events")["items"]
    assert event["message"] == "Node n0 event: Registered Node n0 in Controller"


@pytest.mark.parametrize(
    ("class_", "text"),
    [
        ("", "FailedBinding: no persistent volumes available for this claim and no storage class"),
        ("gone", 'ProvisioningFailed: storageclass.storage.k8s.io "gone" not found'),
        ("standard", "WaitForFirstConsumer: waiting for first consumer to be created before"),
    ],
)
def test_a_claim_without_a_volume_has_an_event(class_: str, text: str) -> None:
    cluster = Cluster(1)
    size = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size, "storageClassName": class_}
    claims = "/api/v1/namespaces/shop/persistentvolumeclaims"
    cluster.send("POST", claims, {"metadata": {"name": "data"}, "spec": spec})
    cluster.settle()
    assert texts(cluster, "PersistentVolumeClaim")[0].startswith(text)


def test_the_slice_of_a_service_has_its_labels() -> None:
    cluster = Cluster()
    spec = {"clusterIP": "None", "selector": LABELS, "ports": [{"port": 80}]}
    service = {"metadata": {"name": "web", "labels": {"tier": "front"}}, "spec": spec}
    cluster.send("POST", "/api/v1/namespaces/shop/services", service)
    cluster.settle()
    slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
    (found,) = cluster.send("GET", slices)["items"]
    expected = {"tier": "front", "service.kubernetes.io/headless": ""}
    assert expected.items() <= found["metadata"]["labels"].items()
