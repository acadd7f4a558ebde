"""Names and amounts of objects of several kinds are checked as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import CORE, ApiClient
from tests.unit.web.api.test_workload_rules import APPS, JOBS, causes, fields, job, workload

Json = dict[str, Any]

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CONTROLLERS = f"{CORE}/replicationcontrollers"
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def limits(kind: str, **parts: Json) -> Json:
    return {"metadata": {"name": "l"}, "spec": {"limits": [{"type": kind, **parts}]}}


def scaler(metric: Json) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 2, "metrics": [metric]}
    return {"metadata": {"name": "h"}, "spec": spec}


def controller(**metadata: Any) -> Json:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return {"metadata": metadata, "spec": {"selector": {"a": "b"}, "template": template}}


def test_the_name_of_a_budget_only_fits_in_a_path() -> None:
    assert ApiClient().send("POST", BUDGETS, {"metadata": {"name": "Any_Name"}})[0] == 201


def test_the_prefix_of_the_name_of_a_controller_is_not_checked() -> None:
    found = fields(CONTROLLERS, controller(generateName="Bad!"))
    assert found == ["metadata.name"]


def test_a_limit_range_without_a_name_gets_one() -> None:
    status, item = ApiClient().send("POST", f"{CORE}/limitranges", {"spec": {"limits": []}})
    assert (status, bool(item["metadata"]["name"])) == (201, True)


def test_a_limit_range_of_containers_names_only_their_resources() -> None:
    body = limits("Container", max={"pods": "1"})
    assert "spec.limits[0].max[pods]" in fields(f"{CORE}/limitranges", body)


def test_a_limit_range_of_claims_may_name_storage() -> None:
    body = limits("PersistentVolumeClaim", max={"storage": "1Gi"})
    assert ApiClient().send("POST", f"{CORE}/limitranges", body)[0] == 201


def test_the_selector_of_a_metric_is_not_checked() -> None:
    metric = {"name": "m", "selector": {"matchLabels": {"a b": "c"}}}
    source = {"metric": metric, "target": {"type": "AverageValue", "averageValue": "1"}}
    assert ApiClient().send("POST", SCALERS, scaler({"type": "Pods", "pods": source}))[0] == 201


def test_a_metric_of_a_container_names_a_resource_of_containers() -> None:
    target = {"type": "Utilization", "averageUtilization": 5}
    source = {"name": "pods", "container": "c", "target": target}
    found = fields(SCALERS, scaler({"type": "ContainerResource", "containerResource": source}))
    assert found == ["spec.metrics[0].containerResource.name"]


def test_a_parameter_of_a_storage_class_has_a_name() -> None:
    body = {"metadata": {"name": "s"}, "provisioner": "p", "parameters": {"": "x"}}
    assert fields(CLASSES, body) == ["parameters"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "must not be empty"),
        ("a", "must start with slash"),
        ("/a b", "must not contain white-space"),
        ("/a//b", "must not contain double slash"),
        ("/a*b", "wildcard can only do suffix matching"),
    ],
)
def test_a_path_of_a_flow_schema_is_valid(path: str, problem: str) -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": [path]}
    subjects = [{"kind": "User", "user": {"name": "u"}}]
    level = {"name": "global-default"}
    rules = [{"subjects": subjects, "nonResourceRules": [rule]}]
    spec = {"priorityLevelConfiguration": level, "rules": rules}
    ((_, message),) = causes(FLOWS, {"metadata": {"name": "f"}, "spec": spec})
    assert message.endswith(problem)


def test_a_malformed_selector_of_roles_has_two_errors() -> None:
    selectors = [{"matchLabels": {"a": "b c"}}]
    rule = {"clusterRoleSelectors": selectors}
    found = fields(ROLES, {"metadata": {"name": "r"}, "aggregationRule": rule})
    assert found[-1] == "aggregationRule.clusterRoleSelectors[0]"


def test_the_manager_of_a_job_has_a_short_name() -> None:
    assert fields(JOBS, job(managedBy=f"example.com/{'x' * 60}")) == ["spec.managedBy"]


def test_the_claim_templates_of_a_stateful_set_have_names() -> None:
    size = {"requests": {"storage": "1Gi"}}
    claims = [{"spec": {"accessModes": ["ReadWriteOnce"], "resources": size}}]
    body = workload({"matchLabels": {"a": "b"}}, {"a": "b"}, volumeClaimTemplates=claims)
    where = "spec.template.spec.volumes[0]"
    expected = [f"{where}.persistentVolumeClaim.claimName", f"{where}.name"]
    assert fields(f"{APPS}/statefulsets", body) == expected


def test_a_rolling_update_of_daemons_stops_at_most_all_of_them() -> None:
    rolling = {"rollingUpdate": {"maxUnavailable": "101%"}}
    body = workload({"matchLabels": {"a": "b"}}, {"a": "b"}, updateStrategy=rolling)
    found = fields(f"{APPS}/daemonsets", body)
    assert found == ["spec.updateStrategy.rollingUpdate.maxUnavailable"]


def test_an_event_with_a_precise_time_may_concern_another_namespace() -> None:
    facts = {"eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "action": "a"}
    facts |= {"reason": "r", "reportingController": "c", "reportingInstance": "i"}
    body = {"metadata": {"name": "e"}, "regarding": {"namespace": "other"}, **facts}
    target = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert ApiClient().send("POST", target, body)[0] == 201
