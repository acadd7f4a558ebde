"""VerticalPodAutoscalers in a local cluster: recommendations from the simulated use of pods."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.web.local.clusters import DEPLOYMENTS, Cluster, deployment

CRDS = Path(__file__).resolve().parents[4] / "deploy" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = "/apis/autoscaling.k8s.io/v1/namespaces/shop"
AUTOSCALERS = f"{PLACE}/verticalpodautoscalers"
CHECKPOINTS = f"{PLACE}/verticalpodautoscalercheckpoints"


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster(nodes=1)
    for name in ("verticalpodautoscalers", "verticalpodautoscalercheckpoints"):
        text = (CRDS / f"{name}.yaml").read_text(encoding="utf-8")
        assert "code" not in found.send("POST", DEFINITIONS, yaml.safe_load(text))
    return found


def autoscaler(target: str = "web", **spec: Any) -> dict[str, Any]:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    body = {"targetRef": ref, "updatePolicy": {"updateMode": "Off"}, **spec}
    kind = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"}
    return {**kind, "metadata": {"name": "web"}, "spec": body}


def run(cluster: Cluster, load: str = "cpu=800m,memory=2Gi", seconds: int = 180) -> None:
    body = deployment(2, node="n0", cpu="1")
    body["metadata"]["annotations"] = {"stretto.dev/load": load}
    cluster.send("POST", DEPLOYMENTS, body)
    cluster.settle(seconds)


def add(cluster: Cluster, seconds: int = 180, **spec: Any) -> dict[str, Any]:
    created = cluster.send("POST", AUTOSCALERS, autoscaler(**spec))
    assert "code" not in created, created
    cluster.settle(seconds)
    return status(cluster)


def status(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.send("GET", f"{AUTOSCALERS}/web")["status"]
    return found


def target(found: dict[str, Any]) -> dict[str, str]:
    only: dict[str, str] = found["recommendation"]["containerRecommendations"][0]["target"]
    return only


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: f"{each['status']} {each['reason']}" for each in found["conditions"]}


def test_the_use_of_the_pods_is_recommended_with_a_margin(cluster: Cluster) -> None:
    run(cluster)
    found = add(cluster)
    assert target(found) == {"cpu": "476m", "memory": "1238659775"}
    assert reasons(found)["RecommendationProvided"] == "True "
    assert reasons(found)["Measured"] == "True Measured"


def test_checkpoints_are_owned_by_their_autoscaler(cluster: Cluster) -> None:
    run(cluster)
    add(cluster)
    [found] = cluster.send("GET", CHECKPOINTS)["items"]
    assert found["spec"] == {"vpaObjectName": "web", "containerName": "c"}
    assert found["status"]["totalSamplesCount"] == 2
    cluster.send("DELETE", f"{AUTOSCALERS}/web")
    cluster.settle(30)
    assert cluster.send("GET", CHECKPOINTS)["items"] == []


def test_printer_columns_show_the_target(cluster: Cluster) -> None:
    run(cluster)
    add(cluster)
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    cells = cluster.send("GET", AUTOSCALERS, headers=table)["rows"][0]["cells"]
    assert cells[:-1] == ["web", "Off", "476m", "1238659775", "True"]


def test_a_missing_target_is_stated_and_the_recommendation_stays(cluster: Cluster) -> None:
    run(cluster)
    before = add(cluster)["recommendation"]
    cluster.send("DELETE", f"{DEPLOYMENTS}/web")
    cluster.settle(120)
    found = status(cluster)
    assert reasons(found)["ConfigUnsupported"] == "True TargetUnreadable"
    assert found["recommendation"]["containerRecommendations"][0]["target"] == target(
        {"recommendation": before}
    )


def test_a_mode_that_changes_pods_is_stated_as_not_applied(cluster: Cluster) -> None:
    run(cluster)
    found = add(cluster, updatePolicy={"updateMode": "Recreate"})
    assert reasons(found)["Applied"] == "False RecommendationOnly"


def policy(**fields: Any) -> dict[str, Any]:
    return {"resourcePolicy": {"containerPolicies": [fields]}}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"updatePolicy": {"updateMode": "Sometimes"}}, "updateMode"),
        ({"targetRef": {"kind": "Deployment"}}, "targetRef.name"),
        (policy(mode="Of"), "mode"),
        (policy(minAllowed={"cpu": "2"}, maxAllowed={"cpu": "1"}), "at most maxAllowed"),
        (policy(minAllowed={"cpu": "much"}), "quantity"),
        (policy(maxAllowed={"memory": "-1"}), "0 or more"),
        (policy(controlledResources=["gpu"]), "controlledResources"),
        (policy(containerName=""), "containerName"),
        ({"resourcePolicy": {"containerPolicies": [{}, {"mode": "Off"}]}}, "Duplicate"),
        ({"recommenders": [{"name": "a"}, {"name": "b"}]}, "recommenders"),
    ],
)
def test_a_malformed_spec_is_refused(cluster: Cluster, spec: dict[str, Any], said: str) -> None:
    answer = cluster.send("POST", AUTOSCALERS, autoscaler(**spec))
    assert answer["code"] == 422
    assert said in answer["message"]
