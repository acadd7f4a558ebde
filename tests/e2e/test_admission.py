"""The same objects on a real control plane and in our admission: the stored fields are equal."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stretto.api.admission.admit import admit
from stretto.api.admission.request import AdmissionRequest, ForbiddenError, ObjectSet
from stretto.api.edit.manifests import load_manifests
from stretto.api.kinds.table import kind_of
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.inputs.objects.manifests import load_objects
from stretto.stores.kube.paths import collection_path
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

pytestmark = pytest.mark.kube

SPACE = "default"
READ = (
    "priority", "priorityClassName", "preemptionPolicy", "tolerations", "nodeSelector", "affinity",
    "topologySpreadConstraints", "overhead", "resources", "restartPolicy", "dnsPolicy",
    "terminationGracePeriodSeconds", "enableServiceLinks", "hostname", "subdomain", "volumes",
)  # fmt: skip
"""Fields of a pod's spec that are compared, besides its containers."""
MARK = {"storageclass.kubernetes.io/is-default-class": "true"}
OTHERS: list[dict[str, Any]] = [
    {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never",
    },
    {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "dflt"}, "value": 3, "globalDefault": True,
    },
    {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"},
        "handler": "kata", "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {
            "nodeSelector": {"kata": "yes"},
            "tolerations": [{"key": "kata", "operator": "Exists"}],
        },
    },
    {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p",
        "metadata": {"name": "fast", "annotations": MARK},
    },
]  # fmt: skip


def container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "x", **more}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [container()])
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


TERM = {
    "topologyKey": "z", "labelSelector": {"matchLabels": {"app": "web"}},
    "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["tenant"],
}  # fmt: skip
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LIMITS = {"limits": {"cpu": "2", "nvidia.com/gpu": "1", "ephemeral-storage": "1Gi"}}
PODS = {
    "plain": pod("plain"),
    "limits": pod(
        "limits",
        containers=[container(resources=LIMITS)],
        initContainers=[
            {"name": "i", "image": "x", "restartPolicy": "Always", "resources": LIMITS}
        ],
    ),
    "whole": pod(
        "whole",
        containers=[container(resources={"requests": {"cpu": "500m"}})],
        resources={"limits": {"cpu": "2", "memory": "1Gi"}},
    ),
    "high": pod("high", priorityClassName="high"),
    "critical": pod("critical", priorityClassName="system-node-critical"),
    "kata": pod("kata", runtimeClassName="kata", tolerations=[{"operator": "Exists"}]),
    "keys": pod(
        "keys",
        labels={"rev": "2", "tenant": "a"},
        affinity={"podAntiAffinity": {REQUIRED: [TERM]}},
        topologySpreadConstraints=[
            {
                "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["rev"],
            }
        ],
    ),
    "host": pod(
        "host", hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]
    ),
}  # fmt: skip
REFUSED = {
    "unknown": pod("unknown", priorityClassName="nosuch"),
    "runtime": pod("runtime", runtimeClassName="nosuch"),
    "value": pod("value", priorityClassName="high", priority=4),
    "overhead": pod("overhead", overhead={"cpu": "1"}),
}


def named(body: dict[str, Any]) -> tuple[Kind, dict[str, Any]]:
    return kind_of(body["apiVersion"], body["kind"]), body


def post(plane: ControlPlane, body: dict[str, Any], space: str = SPACE) -> tuple[int, Any]:
    kind, _ = named(body)
    path = collection_path(kind, space if kind.namespaced else "")
    answer = plane.send("POST", path, json.dumps(body).encode())
    return answer.status, json.loads(answer.body)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """An API server with the controllers, and the other objects."""
    with ControlPlane(ControlPlaneConfig(parts=("kube-controller-manager",))) as plane:
        for each in OTHERS:
            assert post(plane, each)[0] == 201
        until(lambda: post(plane, pod("trial", priorityClassName="high"))[0] == 201)
        yield plane


def until(holds: Any, within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def view() -> ObjectSet:
    return ObjectSet(named(each) for each in OTHERS)


def compared(spec: dict[str, Any], read: tuple[str, ...] = READ) -> dict[str, Any]:
    found = {name: spec[name] for name in read if spec.get(name)}
    for part in ("containers", "initContainers"):
        found[part] = [
            {key: each[key] for key in ("name", "resources", "ports") if each.get(key)}
            for each in spec.get(part) or ()
        ]
    return found


@pytest.mark.parametrize("name", PODS)
def test_a_pod_is_stored_as_stretto_admits_it(cluster: ControlPlane, name: str) -> None:
    status, stored = post(cluster, PODS[name])
    assert status == 201, stored
    ours = admit(AdmissionRequest(kinds.POD, PODS[name]), view()).body
    assert compared(ours["spec"]) == compared(stored["spec"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_pod_is_refused_in_the_same_words(cluster: ControlPlane, name: str) -> None:
    status, answer = post(cluster, REFUSED[name])
    with pytest.raises(ForbiddenError) as caught:
        admit(AdmissionRequest(kinds.POD, REFUSED[name]), view())
    assert status == 403
    assert answer["message"] == f"{caught.value.what} is forbidden: {caught.value.reason}"


def test_limit_ranges_and_quotas_refuse_in_the_same_words(cluster: ControlPlane) -> None:
    space = "bounded"
    assert post(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    bounds = {
        "type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"},
        "defaultRequest": {"memory": "64Mi"}, "maxLimitRequestRatio": {"cpu": "2"},
    }  # fmt: skip
    limits = {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": space},
        "spec": {"limits": [bounds]},
    }  # fmt: skip
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": space},
        "spec": {"hard": {"requests.cpu": "3", "pods": "4"}},
    }  # fmt: skip
    for each in (limits, quota):
        assert post(cluster, each, space)[0] == 201
    path = f"/api/v1/namespaces/{space}/resourcequotas/q"
    until(lambda: json.loads(cluster.send("GET", path).body).get("status", {}).get("used"))
    ours = view()
    for each in (limits, quota):
        ours.add(named(each)[0], admit(AdmissionRequest(*named(each)), ours).body)
    sizes: list[dict[str, Any]] = [
        {}, {"limits": {"cpu": "3"}}, {"limits": {"cpu": "50m"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "200m"}},
        {"limits": {"cpu": "1500m"}}, {"limits": {"cpu": "400m"}},
    ]  # fmt: skip
    late = pod("late", containers=[container(resources=sizes[1])])
    until(lambda: post(cluster, late, space)[0] == 403)
    for number, resources in enumerate(sizes):
        body = pod(f"p{number}", containers=[container(resources=resources)])
        status, answer = post(cluster, body, space)
        if status == 403:
            with pytest.raises(ForbiddenError) as caught:
                admit(AdmissionRequest(kinds.POD, body, namespace=space), ours)
            assert answer["message"] == f"{caught.value.what} is forbidden: {caught.value.reason}"
            continue
        found = admit(AdmissionRequest(kinds.POD, body, namespace=space), ours)
        assert compared(found.body["spec"]) == compared(answer["spec"])
        for charged in found.quotas:
            ours.add(kinds.RESOURCE_QUOTA, charged)


CONTROLLERS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 2
  template: {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: x}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
HASHED = ("pod-template-hash", "controller-revision-hash", "controller-uid")


def made(pods: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The pods of each controller: form of the name, labels without hashes, and fields."""
    found: dict[str, list[Any]] = {}
    for each in pods:
        meta, spec = each["metadata"], each["spec"]
        (owner,) = meta["ownerReferences"]
        labels = {
            key: "#" if key.rpartition("/")[2] in HASHED else value
            for key, value in (meta.get("labels") or {}).items()
        }
        index = (meta.get("annotations") or {}).get("batch.kubernetes.io/job-completion-index")
        spec = {**spec, "volumes": [v for v in spec.get("volumes") or () if "projected" not in v]}
        form = len(meta["name"].split("-"))
        entry = [form, labels, index, compared(spec)]
        found.setdefault(f"{owner['kind']} {owner['name'].split('-')[0]}", []).append(entry)
    return {name: sorted(entries, key=str) for name, entries in found.items()}


def test_controllers_make_the_same_pods(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(CONTROLLERS)
    items = {"apiVersion": "v1", "kind": "List", "items": OTHERS}
    (tmp_path / "others.json").write_text(json.dumps(items))
    space = "made"
    assert post(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    for _, body in load_manifests(CONTROLLERS, "app.yaml"):
        assert post(cluster, json.loads(body), space)[0] == 201
    pods_at = f"/api/v1/namespaces/{space}/pods"
    until(lambda: len(json.loads(cluster.send("GET", pods_at).body)["items"]) == 7)
    theirs = json.loads(cluster.send("GET", pods_at).body)["items"]
    ours = load_objects([tmp_path])
    mine = [json.loads(each.body) for each in ours if each.kind is kinds.POD]
    assert made(mine) == made(theirs)
    claims_at = f"/api/v1/namespaces/{space}/persistentvolumeclaims"
    claims = json.loads(cluster.send("GET", claims_at).body)["items"]
    own = [json.loads(each.body) for each in ours if each.kind is kinds.PERSISTENT_VOLUME_CLAIM]
    assert [
        (each["metadata"]["name"], each["metadata"]["labels"], each["spec"]["storageClassName"])
        for each in own
    ] == [
        (each["metadata"]["name"], each["metadata"]["labels"], each["spec"]["storageClassName"])
        for each in claims
    ]
