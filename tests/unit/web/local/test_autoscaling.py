"""HorizontalPodAutoscalers in a local cluster: metrics change the replicas of workloads."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import DEPLOYMENTS, Cluster, deployment

AUTOSCALERS = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
OLDER = "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers"
LOAD = "stretto.dev/load"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def autoscaler(most: int = 10, **spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    head = {"name": "web"}
    body = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": most, **spec}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": head, "spec": body}


def cpu(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def run_deployment(cluster: Cluster, load: str, replicas: int = 2) -> None:
    body = deployment(replicas, node="n0", cpu="1")
    body["metadata"]["annotations"] = {LOAD: load}
    cluster.send("POST", DEPLOYMENTS, body)
    cluster.settle(60)


def run(cluster: Cluster, load: str, replicas: int = 2, **spec: Any) -> None:
    run_deployment(cluster, load, replicas)
    assert "code" not in cluster.send("POST", AUTOSCALERS, autoscaler(**spec))
    cluster.settle(60)


def replicas(cluster: Cluster) -> int:
    return int(cluster.send("GET", f"{DEPLOYMENTS}/web")["spec"].get("replicas", 0))


def found(cluster: Cluster) -> dict[str, Any]:
    status: dict[str, Any] = cluster.send("GET", f"{AUTOSCALERS}/web")["status"]
    return status


def condition(cluster: Cluster, name: str) -> tuple[str, str]:
    each = next(x for x in found(cluster)["conditions"] if x["type"] == name)
    return each["status"], each["reason"]


def events(cluster: Cluster, reason: str) -> list[str]:
    items = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    return [each["message"] for each in items if each["reason"] == reason]


def test_a_load_above_the_target_adds_replicas(cluster: Cluster) -> None:
    run(cluster, "cpu=4", metrics=[cpu(50)])
    cluster.settle(60)
    assert replicas(cluster) == 8


def test_the_status_states_the_use_that_was_found(cluster: Cluster) -> None:
    run(cluster, "cpu=1", metrics=[cpu(50)])
    current = found(cluster)["currentMetrics"][0]["resource"]["current"]
    assert current == {"averageUtilization": 50, "averageValue": "500m"}
    assert condition(cluster, "ScalingActive") == ("True", "ValidMetricFound")


def test_the_most_replicas_are_not_exceeded(cluster: Cluster) -> None:
    run(cluster, "cpu=40", metrics=[cpu(50)], most=5)
    cluster.settle(60)
    assert replicas(cluster) == 5
    assert condition(cluster, "ScalingLimited") == ("True", "TooManyReplicas")


def test_a_smaller_load_removes_replicas_after_the_window(cluster: Cluster) -> None:
    run(cluster, "cpu=500m", replicas=4, metrics=[cpu(50)])
    assert replicas(cluster) == 4
    assert condition(cluster, "AbleToScale") == ("True", "ScaleDownStabilized")
    cluster.settle(300)
    assert replicas(cluster) == 1


def test_a_behavior_shortens_the_window(cluster: Cluster) -> None:
    rules = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    run(cluster, "cpu=500m", replicas=4, metrics=[cpu(50)], behavior=rules)
    assert replicas(cluster) == 1


def test_each_change_is_an_event_with_its_reason(cluster: Cluster) -> None:
    run(cluster, "cpu=2", metrics=[cpu(50)])
    reason = "cpu resource utilization (percentage of request) above target"
    assert events(cluster, "SuccessfulRescale") == [f"New size: 4; reason: {reason}"]


def test_replicas_above_the_limit_are_removed_at_once(cluster: Cluster) -> None:
    run(cluster, "cpu=10", replicas=6, metrics=[cpu(50)], most=3)
    assert replicas(cluster) == 3


def test_a_workload_without_replicas_is_not_scaled(cluster: Cluster) -> None:
    run(cluster, "cpu=10", replicas=0, metrics=[cpu(50)])
    assert replicas(cluster) == 0
    assert condition(cluster, "ScalingActive") == ("False", "ScalingDisabled")


def test_a_missing_workload_is_reported(cluster: Cluster) -> None:
    cluster.send("POST", AUTOSCALERS, autoscaler(metrics=[cpu(50)]))
    cluster.settle()
    assert condition(cluster, "AbleToScale") == ("False", "FailedGetScale")
    assert events(cluster, "FailedGetScale") == ['deployments.apps "web" not found']


def test_a_kind_without_a_scale_is_reported(cluster: Cluster) -> None:
    body = autoscaler(metrics=[cpu(50)])
    body["spec"]["scaleTargetRef"] = {"apiVersion": "batch/v1", "kind": "Job", "name": "web"}
    cluster.send("POST", AUTOSCALERS, body)
    cluster.settle()
    assert condition(cluster, "AbleToScale") == ("False", "FailedGetScale")


def test_containers_without_a_request_have_no_utilization(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(1, node="n0"))
    cluster.send("POST", AUTOSCALERS, autoscaler(metrics=[cpu(50)]))
    cluster.settle(60)
    assert condition(cluster, "ScalingActive") == ("False", "FailedGetResourceMetric")
    assert "a request of cpu" in events(cluster, "FailedGetResourceMetric")[0]


def test_a_target_of_memory_counts_bytes_of_pods(cluster: Cluster) -> None:
    target = {"type": "AverageValue", "averageValue": "100Mi"}
    metric = {"type": "Resource", "resource": {"name": "memory", "target": target}}
    run(cluster, "memory=600Mi", metrics=[metric])
    cluster.settle(60)
    assert replicas(cluster) == 6


def test_metrics_of_other_sources_are_reported(cluster: Cluster) -> None:
    target = {"type": "AverageValue", "averageValue": "1"}
    metric = {"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": target}}
    run(cluster, "cpu=1", metrics=[metric])
    assert condition(cluster, "ScalingActive") == ("False", "FailedGetPodsMetric")


def test_two_autoscalers_of_one_workload_do_not_act(cluster: Cluster) -> None:
    for name in ("other", "web"):
        head = {"metadata": {"name": name}}
        cluster.send("POST", AUTOSCALERS, {**autoscaler(metrics=[cpu(50)]), **head})
    cluster.send("POST", DEPLOYMENTS, deployment(2, node="n0", cpu="1"))
    cluster.settle(60)
    assert replicas(cluster) == 2
    assert condition(cluster, "ScalingActive") == ("False", "AmbiguousSelector")


def test_the_older_version_states_the_use_in_percent(cluster: Cluster) -> None:
    run(cluster, "cpu=1", metrics=[cpu(50)])
    older = cluster.send("GET", f"{OLDER}/web")
    assert older["spec"]["targetCPUUtilizationPercentage"] == 50
    assert older["status"]["currentCPUUtilizationPercentage"] == 50


def test_an_autoscaler_of_the_older_version_scales(cluster: Cluster) -> None:
    body = autoscaler(targetCPUUtilizationPercentage=50)
    body["apiVersion"] = "autoscaling/v1"
    assert cluster.send("POST", OLDER, body)["spec"]["targetCPUUtilizationPercentage"] == 50
    run_deployment(cluster, "cpu=2")
    assert replicas(cluster) == 4


def test_a_change_in_the_older_version_keeps_the_other_metrics(cluster: Cluster) -> None:
    target = {"type": "AverageValue", "averageValue": "100Mi"}
    memory = {"type": "Resource", "resource": {"name": "memory", "target": target}}
    cluster.send("POST", AUTOSCALERS, autoscaler(metrics=[cpu(50), memory]))
    change = {"spec": {"targetCPUUtilizationPercentage": 70}}
    assert cluster.send("PATCH", f"{OLDER}/web", change)["apiVersion"] == "autoscaling/v1"
    assert cluster.send("GET", f"{AUTOSCALERS}/web")["spec"]["metrics"] == [memory, cpu(70)]


def test_a_list_of_the_older_version_has_its_form(cluster: Cluster) -> None:
    cluster.send("POST", AUTOSCALERS, autoscaler(metrics=[cpu(50)]))
    listed = cluster.send("GET", OLDER)["items"]
    assert listed[0]["spec"]["targetCPUUtilizationPercentage"] == 50
