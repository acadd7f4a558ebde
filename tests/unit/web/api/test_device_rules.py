"""Claims, classes and slices of devices are checked as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import ApiClient
from tests.unit.web.api.test_workload_rules import causes, fields

Json = dict[str, Any]

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
TEMPLATES = f"{GROUP}/namespaces/default/resourceclaimtemplates"
SLICES = f"{GROUP}/resourceslices"
CLASSES = f"{GROUP}/deviceclasses"


def claim(exactly: Json | None = None, **devices: Any) -> Json:
    request = {"name": "r", "exactly": {"deviceClassName": "c", **(exactly or {})}}
    return {"metadata": {"name": "n"}, "spec": {"devices": {"requests": [request], **devices}}}


def pool(*devices: Json, **spec: Any) -> Json:
    facts = {"driver": "d.e", "pool": {"name": "p", "resourceSliceCount": 1}}
    nodes = spec or {"allNodes": True}
    return {"metadata": {"name": "s"}, "spec": {**facts, **nodes, "devices": list(devices)}}


@pytest.mark.parametrize(
    ("toleration", "member"),
    [
        ({"key": "a b", "operator": "Exists"}, "key"),
        ({"operator": "Gt"}, "operator"),
        ({"operator": "Exists", "value": "v"}, "value"),
        ({"operator": "Exists", "effect": "Never"}, "effect"),
    ],
)
def test_a_toleration_of_devices_is_checked(toleration: Json, member: str) -> None:
    found = fields(CLAIMS, claim({"tolerations": [toleration]}))
    assert set(found) == {f"spec.devices.requests[0].exactly.tolerations[0].{member}"}


def test_settings_for_a_driver_name_it() -> None:
    found = fields(CLAIMS, claim(config=[{"opaque": {"parameters": {}}}]))
    assert found == ["spec.devices.config[0].opaque.driver"]


def test_a_constraint_names_each_request_once() -> None:
    constraint = {"requests": ["r", "r"], "matchAttribute": "d.e/a"}
    ((field, message),) = causes(CLAIMS, claim(constraints=[constraint]))
    assert (field, message) == ("spec.devices.constraints[0].requests[1]", 'Duplicate value: "r"')


def test_the_template_of_a_claim_of_devices_has_no_name() -> None:
    spec = {"metadata": {"name": "n"}, "spec": claim()["spec"]}
    assert fields(TEMPLATES, {"metadata": {"name": "t"}, "spec": spec}) == ["spec.metadata.name"]


def test_an_extended_resource_of_a_class_has_a_domain() -> None:
    body = {"metadata": {"name": "c"}, "spec": {"extendedResourceName": "gpu"}}
    assert fields(CLASSES, body) == ["spec.extendedResourceName"]


@pytest.mark.parametrize(
    ("device", "member"),
    [
        ({"attributes": {"v": {"version": "1"}}}, "attributes[v].version"),
        ({"attributes": {"v": {}}}, "attributes[v]"),
        ({"capacity": {"c": {"value": "1", "requestPolicy": {}}}}, "capacity[c].requestPolicy"),
        ({"taints": [{"key": "a"}]}, "taints[0].effect"),
        ({"consumesCounters": [{"counters": {"c": {"value": "1"}}}]}, "consumesCounters[0].counte"),
        ({"bindingConditions": ["a"]}, "bindingFailureConditions"),
    ],
)
def test_a_device_of_a_slice_is_checked(device: Json, member: str) -> None:
    (found,) = fields(SLICES, pool({"name": "d", **device}))
    assert found.startswith(f"spec.devices[0].{member}")


def test_a_device_states_its_nodes_if_its_slice_does_not() -> None:
    body = pool({"name": "d"}, perDeviceNodeSelection=True)
    assert fields(SLICES, body) == ["spec.devices[0]"]


def test_a_slice_selects_nodes_by_one_term() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * 2
    body = pool(nodeSelector={"nodeSelectorTerms": terms})
    ((_, message),) = causes(SLICES, body)
    assert message.endswith("must have exactly one node selector term")


NEEDED = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"


def test_a_claim_with_administrative_access_needs_a_label_of_its_namespace() -> None:
    ((field, message),) = causes(CLAIMS, claim({"adminAccess": True}))
    assert field == "spec.devices.requests[0].adminAccess"
    assert message == f"Forbidden: {NEEDED} on the containing namespace"


def test_a_template_with_administrative_access_needs_a_label_of_its_namespace() -> None:
    template = {"metadata": {"name": "t"}, "spec": {"spec": claim({"adminAccess": True})["spec"]}}
    assert fields(TEMPLATES, template) == ["spec.devices.requests[0].adminAccess"]


def test_the_label_of_a_namespace_allows_administrative_access() -> None:
    client = ApiClient()
    labels = {"resource.kubernetes.io/admin-access": "true"}
    client.send("POST", "/api/v1/namespaces", {"metadata": {"name": "ops", "labels": labels}})
    status, _ = client.send("POST", CLAIMS.replace("default", "ops"), claim({"adminAccess": True}))
    assert status == 201


def test_an_allocation_with_administrative_access_needs_a_label_of_its_namespace() -> None:
    client = ApiClient()
    _, made = client.send("POST", CLAIMS, claim())
    result = {"request": "r", "driver": "d.e", "pool": "p", "device": "d", "adminAccess": True}
    status = {"allocation": {"devices": {"results": [result]}}}
    code, answer = client.send("PUT", f"{CLAIMS}/n/status", {**made, "status": status})
    paths = [each["field"] for each in answer["details"]["causes"]]
    assert (code, paths) == (422, ["status.allocation.devices.results[0].adminAccess"])
