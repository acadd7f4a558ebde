"""The wire form of the neutral fleet."""

import msgspec

from stretto.inputs.neutral.fleet import FleetNode, FleetPod, FleetTaint
from stretto.inputs.objects.objects import node_body, object_name, pod_body, pod_group_body


def test_a_node_offers_cpu_memory_pods_and_gpus() -> None:
    node = msgspec.json.decode(node_body(FleetNode("n", 64500, 1024, 8, "G2")))
    offered = {"cpu": "64500m", "memory": "1024Mi", "pods": "10000", "nvidia.com/gpu": "8"}
    offered["ephemeral-storage"] = "100Gi"
    assert node["status"]["allocatable"] == node["status"]["capacity"] == offered
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "G2"


def test_a_node_carries_zone_labels_and_taints() -> None:
    taints = (FleetTaint("dedicated", "ml"),)
    node = FleetNode("n", 1000, 1024, labels={"disk": "ssd"}, zone="z-1", taints=taints)
    read = msgspec.json.decode(node_body(node))
    assert read["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "1cpu-1gib",
        "disk": "ssd",
        "topology.kubernetes.io/zone": "z-1",
    }
    assert read["spec"]["taints"] == [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]


def test_a_cpu_pod_requests_cpu_and_memory_only() -> None:
    pod = msgspec.json.decode(pod_body(FleetPod("p", 1500, 512), "ml", "mine"))
    assert pod["metadata"] == {"name": "p", "namespace": "ml"}
    assert pod["spec"]["schedulerName"] == "mine"
    (container,) = pod["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "1500m", "memory": "512Mi"}}


def test_a_share_of_a_gpu_is_a_count_and_an_annotation() -> None:
    pod = msgspec.json.decode(pod_body(FleetPod("p", 1000, 512, 1, 460, ("T4", "P100"))))
    assert pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert pod["metadata"]["annotations"] == {
        "stretto.dev/gpu-milli": "460",
        "stretto.dev/gpu-models": "T4|P100",
    }


def test_whole_gpus_need_no_annotation() -> None:
    pod = msgspec.json.decode(pod_body(FleetPod("p", 1000, 512, 8, 1000)))
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert "annotations" not in pod["metadata"]


def test_a_group_is_label_and_annotation_and_the_class_a_label() -> None:
    pod = msgspec.json.decode(pod_body(FleetPod("p", 1, 1, qos="BE", group="g", priority=7)))
    group = {"godel.bytedance.com/pod-group-name": "g"}
    assert pod["metadata"]["labels"] == {"stretto.dev/qos": "BE", **group}
    assert pod["metadata"]["annotations"] == group
    assert pod["spec"]["priority"] == 7


def test_a_pod_group_states_how_many_must_fit() -> None:
    group = msgspec.json.decode(pod_group_body("g", 3, "ml", {"scheduleTimeoutSeconds": 60}))
    assert group["apiVersion"] == "scheduling.godel.kubewharf.io/v1alpha1"
    assert group["metadata"] == {"name": "g", "namespace": "ml"}
    assert group["spec"] == {"minMember": 3, "scheduleTimeoutSeconds": 60}


def test_a_name_that_kubernetes_takes_is_kept() -> None:
    assert object_name("openb-pod-0001") == "openb-pod-0001"


def test_other_names_are_lowered_and_stay_apart() -> None:
    names = [object_name(name) for name in ("Pod_1", "pod_1", "POD-1", "a..b", "_" * 300)]
    assert len(set(names)) == 5
    assert names[0].startswith("pod-1-")
    assert all(object_name(name) == name for name in names)
