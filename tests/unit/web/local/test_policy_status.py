"""The status of ValidatingAdmissionPolicies states which expressions do not suit their kinds."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import Cluster

Json = dict[str, Any]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def create(cluster: Cluster, *expressions: str, **rule: list[str]) -> None:
    named = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], **rule}
    spec = {
        "matchConstraints": {"resourceRules": [{**named, "operations": ["CREATE"]}]},
        "validations": [{"expression": each} for each in expressions],
    }
    made = cluster.send("POST", POLICIES, {"metadata": {"name": "p"}, "spec": spec})
    assert "uid" in made["metadata"], made
    cluster.settle(2.0)


def status(cluster: Cluster) -> Json:
    found: Json = cluster.send("GET", f"{POLICIES}/p")["status"]
    return found


def warnings(cluster: Cluster) -> list[str]:
    found = status(cluster)["typeChecking"].get("expressionWarnings") or ()
    return [f"{each['fieldRef']}: {each['warning']}" for each in found]


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1",
        "object.metadata.labels['a'] == 'b'",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('a'))",
        "object.spec.template.spec.containers[0].resources.limits['cpu'] == '1'",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "object.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')",
    ],
)
def test_an_expression_that_suits_the_kind_has_no_warning(
    cluster: Cluster, expression: str
) -> None:
    create(cluster, expression)
    assert status(cluster) == {"observedGeneration": 1, "typeChecking": {}}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (
            "object.spec.replicas > '1'",
            "found no matching overload for '_>_' applied to '(int, string)'",
        ),
        ("object.spec.retries < 10", "undefined field 'retries'"),
        ("object.status.x == 1", "undefined field 'x'"),
    ],
)
def test_an_expression_that_does_not_suit_the_kind_has_a_warning(
    cluster: Cluster, expression: str, problem: str
) -> None:
    create(cluster, "true", expression)
    (found,) = warnings(cluster)
    assert found.startswith("spec.validations[1].expression: apps/v1, Kind=Deployment: ")
    assert problem in found


def test_a_corrected_policy_has_no_warning(cluster: Cluster) -> None:
    create(cluster, "object.spec.retries < 10")
    right = {"spec": {"validations": [{"expression": "object.spec.replicas < 10"}]}}
    cluster.send("PATCH", f"{POLICIES}/p", right)
    cluster.settle(2.0)
    assert status(cluster) == {"observedGeneration": 2, "typeChecking": {}}


def test_an_expression_about_any_kind_is_not_checked(cluster: Cluster) -> None:
    create(cluster, "object.spec.retries < 10", resources=["*"])
    assert warnings(cluster) == []


def test_fields_of_a_custom_resource_are_known(cluster: Cluster) -> None:
    replicas = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": replicas}}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": schema}
    names = {"plural": "trees", "kind": "Tree"}
    spec = {"group": "a.org", "scope": "Cluster", "names": names, "versions": [version]}
    cluster.send("POST", DEFINITIONS, {"metadata": {"name": "trees.a.org"}, "spec": spec})
    cluster.settle(2.0)
    texts = ["object.spec.replicas > 1", "object.metadata.name != 'x'", "object.spec.height > 1"]
    create(cluster, *texts, apiGroups=["a.org"], resources=["trees"])
    (found,) = warnings(cluster)
    assert found.startswith("spec.validations[2].expression: a.org/v1, Kind=Tree: ")


def test_a_policy_that_names_many_resources_is_checked_by_the_kinds_that_exist(
    cluster: Cluster,
) -> None:
    many = [f"x{number}" for number in range(1500)]
    rule = {"apiVersions": [*many, "v1"], "resources": [*many, "deployments"]}
    create(cluster, "object.spec.nothing == 1", apiGroups=[*many, "apps"], **rule)
    (warning,) = warnings(cluster)
    assert "apps/v1, Kind=Deployment" in warning
