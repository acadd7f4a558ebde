"""Revisions of DaemonSets and StatefulSets, and updates within their bounds."""

from typing import Any

import pytest

from stretto.workloads.bounds import proportional
from tests.unit.web.local.clusters import PODS, Cluster, pod

Json = dict[str, Any]

APPS = "/apis/apps/v1/namespaces/shop"
SETS = {"DaemonSet": f"{APPS}/daemonsets", "StatefulSet": f"{APPS}/statefulsets"}
REVISIONS = f"{APPS}/controllerrevisions"
LABELS = {"app": "web"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=3)


def create(cluster: Cluster, kind: str, **spec: Any) -> None:
    template = {"metadata": {"labels": LABELS}, "spec": pod("")["spec"]}
    given = {"selector": {"matchLabels": LABELS}, "template": template, **spec}
    made = cluster.send("POST", SETS[kind], {"metadata": {"name": "web"}, "spec": given})
    assert "uid" in made["metadata"], made
    settle(cluster)


def settle(cluster: Cluster, seconds: int = 8) -> None:
    """Let the cluster run with a scheduler that takes the node of the affinity, or the first."""
    for _ in range(seconds):
        cluster.settle(1.0)
        for each in cluster.send("GET", PODS)["items"]:
            if not each["spec"].get("nodeName"):
                name = each["metadata"]["name"]
                target = {"kind": "Node", "name": _node_of(each["spec"])}
                binding = {"metadata": {"name": name}, "target": target}
                cluster.send("POST", f"{PODS}/{name}/binding", binding)


def _node_of(spec: Json) -> str:
    terms = spec.get("affinity", {}).get("nodeAffinity", {}).values()
    found = [each["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for each in terms]
    return str(found[0]) if found else "n0"


def update(cluster: Cluster, kind: str, image: str) -> None:
    container = {"name": "c", "image": image}
    change = {"spec": {"template": {"spec": {"containers": [container]}}}}
    cluster.send("PATCH", f"{SETS[kind]}/web", change)


def revisions(cluster: Cluster) -> list[int]:
    return sorted(each["revision"] for each in cluster.send("GET", REVISIONS)["items"])


def images(cluster: Cluster) -> list[str]:
    found = sorted(cluster.send("GET", PODS)["items"], key=lambda each: each["metadata"]["name"])
    return [each["spec"]["containers"][0]["image"] for each in found]


@pytest.mark.parametrize("kind", SETS)
def test_each_template_has_a_revision_and_an_earlier_one_becomes_the_newest(
    cluster: Cluster, kind: str
) -> None:
    create(cluster, kind)
    update(cluster, kind, "j")
    settle(cluster)
    assert revisions(cluster) == [1, 2]
    update(cluster, kind, "i")
    settle(cluster)
    assert revisions(cluster) == [2, 3]


@pytest.mark.parametrize("kind", SETS)
def test_revisions_beyond_the_limit_go(cluster: Cluster, kind: str) -> None:
    create(cluster, kind, revisionHistoryLimit=1)
    for image in "jkl":
        update(cluster, kind, image)
        settle(cluster, 12)
    assert revisions(cluster) == [3, 4]


def test_a_revision_restores_its_template(cluster: Cluster) -> None:
    create(cluster, "DaemonSet")
    (revision,) = cluster.send("GET", REVISIONS)["items"]
    update(cluster, "DaemonSet", "j")
    settle(cluster)
    headers = {"content-type": "application/strategic-merge-patch+json"}
    cluster.send("PATCH", f"{SETS['DaemonSet']}/web", revision["data"], headers)
    settle(cluster)
    assert (images(cluster), revisions(cluster)) == (["i", "i", "i"], [2, 3])


def test_an_update_of_a_daemon_set_replaces_one_available_pod_at_a_time(cluster: Cluster) -> None:
    create(cluster, "DaemonSet")
    update(cluster, "DaemonSet", "web:nonexistent")
    settle(cluster)
    assert sorted(images(cluster)) == ["i", "i", "web:nonexistent"]


def test_a_daemon_set_with_surge_adds_the_new_pod_first(cluster: Cluster) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    create(cluster, "DaemonSet", updateStrategy={"rollingUpdate": rolling})
    update(cluster, "DaemonSet", "web:nonexistent")
    settle(cluster)
    assert sorted(images(cluster)) == ["i", "i", "i", "web:nonexistent"]


@pytest.mark.parametrize("kind", SETS)
def test_on_delete_keeps_the_pods_of_the_old_template(cluster: Cluster, kind: str) -> None:
    create(cluster, kind, updateStrategy={"type": "OnDelete"})
    before = images(cluster)
    update(cluster, kind, "j")
    settle(cluster)
    assert images(cluster) == before


def test_a_pod_below_the_partition_gets_the_earlier_template_again(cluster: Cluster) -> None:
    strategy = {"rollingUpdate": {"partition": 1}}
    create(cluster, "StatefulSet", replicas=2, updateStrategy=strategy)
    update(cluster, "StatefulSet", "j")
    settle(cluster)
    cluster.send("DELETE", f"{PODS}/web-0")
    settle(cluster)
    assert images(cluster) == ["i", "j"]


@pytest.mark.parametrize(
    ("scaled", "deleted", "left"), [("Delete", "Retain", 1), ("Retain", "Retain", 2)]
)
def test_claims_of_removed_pods_stay_or_go(
    cluster: Cluster, scaled: str, deleted: str, left: int
) -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    spec = {"volumeClaimTemplates": [claim], "persistentVolumeClaimRetentionPolicy": policy}
    create(cluster, "StatefulSet", replicas=2, **spec)
    cluster.send("PATCH", f"{SETS['StatefulSet']}/web", {"spec": {"replicas": 1}})
    settle(cluster)
    claims = "/api/v1/namespaces/shop/persistentvolumeclaims"
    assert len(cluster.send("GET", claims)["items"]) == left


def test_sets_share_a_new_size_in_proportion() -> None:
    assert proportional([("old", 8, 13), ("new", 5, 13)], 33, 13) == [("old", 20), ("new", 13)]
    assert proportional([("old", 8, 12), ("new", 4, 12)], 6, 12) == [("old", 4), ("new", 2)]


def test_workloads_of_one_name_and_template_have_revisions_of_their_own(cluster: Cluster) -> None:
    create(cluster, "StatefulSet", replicas=0)
    create(cluster, "DaemonSet")
    assert revisions(cluster) == [1, 1]


def progress(cluster: Cluster) -> str:
    item = cluster.send("GET", f"{APPS}/deployments/web")
    found = [each for each in item["status"]["conditions"] if each["type"] == "Progressing"]
    return str(found[0]["reason"])


def test_a_paused_deployment_gets_no_replica_set_for_a_new_template(cluster: Cluster) -> None:
    template = {"metadata": {"labels": LABELS}, "spec": pod("")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    cluster.send("POST", f"{APPS}/deployments", {"metadata": {"name": "web"}, "spec": spec})
    settle(cluster)
    container = {"name": "c", "image": "j"}
    change = {"paused": True, "template": {"spec": {"containers": [container]}}}
    cluster.send("PATCH", f"{APPS}/deployments/web", {"spec": change})
    settle(cluster)
    assert progress(cluster) == "DeploymentPaused"
    assert len(cluster.send("GET", f"{APPS}/replicasets")["items"]) == 1
    cluster.send("PATCH", f"{APPS}/deployments/web", {"spec": {"paused": False}})
    settle(cluster)
    assert progress(cluster) == "NewReplicaSetAvailable"
    assert images(cluster) == ["j"]
