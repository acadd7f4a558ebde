"""DaemonSets: which nodes get a pod, which pods stay, and what is reported."""

from typing import Any

import pytest

from stretto.workloads.daemons.failures import FIRST, LONGEST, FailureDelays
from tests.unit.web.local.clusters import PODS, Cluster, pod

Json = dict[str, Any]

SETS = "/apis/apps/v1/namespaces/shop/daemonsets"
EVENTS = "/api/v1/namespaces/shop/events"
LABELS = {"app": "agent"}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=2)


def create(cluster: Cluster, **spec: Any) -> None:
    template = {"metadata": {"labels": LABELS}, "spec": {**pod("")["spec"], **spec}}
    given = {"selector": {"matchLabels": LABELS}, "template": template}
    cluster.send("POST", SETS, {"metadata": {"name": "agent"}, "spec": given})
    settle(cluster)


def settle(cluster: Cluster, seconds: int = 4) -> None:
    """Let the cluster run with a scheduler that follows the affinity of each pod."""
    for _ in range(seconds):
        cluster.settle(1.0)
        for each in pods(cluster):
            if not each["spec"].get("nodeName"):
                name, target = each["metadata"]["name"], {"kind": "Node", "name": node_of(each)}
                binding = {"metadata": {"name": name}, "target": target}
                cluster.send("POST", f"{PODS}/{name}/binding", binding)


def pods(cluster: Cluster) -> list[Json]:
    found: list[Json] = cluster.send("GET", PODS)["items"]
    return found


def node_of(item: Json) -> str:
    (required,) = [
        each for key, each in item["spec"]["affinity"]["nodeAffinity"].items() if key != PREFERRED
    ]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def on(cluster: Cluster, node: str) -> Json:
    """The pod of a node."""
    (found,) = [each for each in pods(cluster) if node_of(each) == node]
    return found


def path(item: Json) -> str:
    return f"{PODS}/{item['metadata']['name']}"


def taint(cluster: Cluster, node: str, effect: str) -> None:
    taints = [{"key": "repair", "effect": effect}]
    cluster.send("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}})
    settle(cluster)


def status(cluster: Cluster) -> Json:
    found: Json = cluster.send("GET", f"{SETS}/agent")["status"]
    return found


def reasons(cluster: Cluster) -> list[str]:
    return sorted(each["reason"] for each in cluster.send("GET", EVENTS)["items"])


def test_a_pod_names_its_revision_and_the_generation_of_its_template(cluster: Cluster) -> None:
    create(cluster)
    labels = on(cluster, "n0")["metadata"]["labels"]
    assert labels["pod-template-generation"] == "1"
    assert labels.keys() == {"app", "controller-revision-hash", "pod-template-generation"}


def test_preferences_of_the_template_stay_beside_the_node(cluster: Cluster) -> None:
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}
    create(cluster, affinity={"nodeAffinity": {PREFERRED: [term]}})
    assert on(cluster, "n1")["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [term]


def test_a_taint_that_forbids_scheduling_keeps_the_running_pod(cluster: Cluster) -> None:
    create(cluster)
    before = on(cluster, "n0")["metadata"]["uid"]
    taint(cluster, "n0", "NoSchedule")
    assert on(cluster, "n0")["metadata"]["uid"] == before
    counted = status(cluster)
    assert (counted["desiredNumberScheduled"], counted["numberMisscheduled"]) == (1, 1)


def test_a_taint_that_evicts_removes_the_pod(cluster: Cluster) -> None:
    create(cluster)
    taint(cluster, "n0", "NoExecute")
    assert [node_of(each) for each in pods(cluster)] == ["n1"]
    assert status(cluster)["numberMisscheduled"] == 0


def test_a_deleted_pod_that_has_ended_is_replaced_before_its_finalizer_is_removed(
    cluster: Cluster,
) -> None:
    create(cluster)
    leaving = on(cluster, "n0")
    cluster.send("PATCH", path(leaving), {"metadata": {"finalizers": ["example.com/hold"]}})
    cluster.send("DELETE", path(leaving))
    settle(cluster)
    here = [each["metadata"]["uid"] for each in pods(cluster) if node_of(each) == "n0"]
    assert (len(here), leaving["metadata"]["uid"] in here) == (2, True)
    cluster.send("PATCH", path(leaving), {"metadata": {"finalizers": None}})
    settle(cluster)
    assert on(cluster, "n0")["metadata"]["uid"] != leaving["metadata"]["uid"]


def test_a_failed_pod_is_replaced_and_reported(cluster: Cluster) -> None:
    create(cluster)
    failed = on(cluster, "n0")
    cluster.send("PATCH", f"{path(failed)}/status", {"status": {"phase": "Failed"}})
    settle(cluster)
    assert on(cluster, "n0")["metadata"]["uid"] != failed["metadata"]["uid"]
    assert reasons(cluster).count("FailedDaemonPod") == 1


def test_each_created_and_deleted_pod_is_an_event(cluster: Cluster) -> None:
    create(cluster)
    taint(cluster, "n0", "NoExecute")
    found = reasons(cluster)
    assert (found.count("SuccessfulCreate"), found.count("SuccessfulDelete")) == (2, 1)


def test_of_two_pods_of_a_node_the_older_one_with_a_node_stays(cluster: Cluster) -> None:
    create(cluster)
    first = on(cluster, "n0")
    cluster.send("PATCH", path(first), {"metadata": {"labels": {"app": "other"}}})
    cluster.settle(2.0)
    cluster.send("PATCH", path(first), {"metadata": {"labels": LABELS}})
    settle(cluster)
    assert on(cluster, "n0")["metadata"]["uid"] == first["metadata"]["uid"]


def test_the_delay_of_failing_pods_doubles_up_to_a_limit_and_is_forgotten() -> None:
    delays, now, place = FailureDelays(), 0.0, ("uid", "n0")
    found = []
    for _ in range(12):
        delays.note(place, now)
        found.append(delays.remaining(place, now))
        now += found[-1]
    assert found[:4] == [FIRST, 2.0, 4.0, 8.0]
    assert found[-1] == LONGEST
    delays.note(place, now + 3 * LONGEST)
    assert delays.remaining(place, now + 3 * LONGEST) == FIRST
