"""Networks, devices, attachments and reviews are checked as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import ApiClient

Json = dict[str, Any]

DEVICES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def refused(target: str, body: Json) -> dict[str, str]:
    """Return the messages of the refused fields of a new object."""
    _, answer = ApiClient().send("POST", target, {"metadata": {"name": "x"}, **body})
    return {each["field"]: each["message"] for each in answer["details"]["causes"]}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("device.foo == 1", "undefined field 'foo'"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("device.driver > 1", "found no matching overload for '_>_'"),
        ("", "Syntax error: mismatched input"),
    ],
)
def test_an_expression_about_devices_has_their_types(expression: str, problem: str) -> None:
    selector = {"cel": {"expression": expression}}
    request = {"name": "r", "exactly": {"deviceClassName": "c", "selectors": [selector]}}
    found = refused(DEVICES, {"spec": {"devices": {"requests": [request]}}})
    assert problem in found["spec.devices.requests[0].exactly.selectors[0].cel.expression"]


def test_an_expression_about_devices_may_bind_a_domain() -> None:
    text = "cel.bind(d, device.attributes['x.io'], d.a && d.version.isGreaterThan(semver('1.0.0')))"
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": text}}]},
    }
    body = {"metadata": {"name": "x"}, "spec": {"devices": {"requests": [request]}}}
    assert ApiClient().send("POST", DEVICES, body)[0] == 201


def test_an_attachment_with_a_volume_states_its_driver_and_access() -> None:
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"inlineVolumeSpec": {"csi": {}}}}
    found = refused("/apis/storage.k8s.io/v1/volumeattachments", {"spec": spec})
    path = "spec.source.inlineVolumeSpec"
    wanted = {f"{path}.accessModes", f"{path}.csi.driver", f"{path}.csi.volumeHandle"}
    assert set(found) == wanted


def test_a_version_of_reviews_is_stated_once() -> None:
    client = {"url": "https://a.b/c"}
    hook = {"name": "a.b.c", "clientConfig": client, "sideEffects": "None"}
    found = refused(HOOKS, {"webhooks": [{**hook, "admissionReviewVersions": ["v1", "v1"]}]})
    field = "webhooks[0].admissionReviewVersions[1]"
    assert found == {field: 'Invalid value: "v1": duplicate version'}


def test_addresses_of_an_unknown_type_are_not_checked() -> None:
    endpoint = {"addresses": ["10.0.0.1"]}
    found = refused(SLICES, {"addressType": "IPv5", "endpoints": [endpoint], "ports": []})
    assert set(found) == {"addressType"}


def test_a_range_of_addresses_has_one_network_per_family() -> None:
    target = "/apis/networking.k8s.io/v1/servicecidrs"
    found = refused(target, {"spec": {"cidrs": ["10.9.0.0/24", "10.8.0.0/24"]}})
    assert "no more than one IP for each IP family" in found["spec.cidrs"]


def test_text_after_a_time_is_named() -> None:
    target = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"renewTime": "2024-01-01T00:00:00.000000Z-"}
    _, answer = ApiClient().send("POST", target, {"metadata": {"name": "x"}, "spec": spec})
    assert answer["message"].endswith(': extra text: "-"')


def test_a_range_of_addresses_only_gains_a_network() -> None:
    client, target = ApiClient(), "/apis/networking.k8s.io/v1/servicecidrs"
    body: Json = {"metadata": {"name": "x"}, "spec": {"cidrs": ["10.9.0.0/24"]}}
    _, made = client.send("POST", target, body)
    made["spec"]["cidrs"] = ["10.8.0.0/33"]
    _, answer = client.send("PUT", f"{target}/x", made)
    assert [each["field"] for each in answer["details"]["causes"]] == ["spec.cidrs[0]"]
    made["spec"]["cidrs"] = ["10.9.0.0/24", "2001:db8::/64"]
    assert client.send("PUT", f"{target}/x", made)[0] == 200


def test_a_range_of_addresses_has_at_most_two_networks() -> None:
    networks = ["10.9.0.0/24", "10.8.0.0/24", "2001:db8::/64"]
    found = refused("/apis/networking.k8s.io/v1/servicecidrs", {"spec": {"cidrs": networks}})
    assert found["spec.cidrs"].startswith('Invalid value: {"CIDRs":["10.9.0.0/24"')


def test_a_lease_never_has_a_strategy_of_election() -> None:
    client, target = ApiClient(), "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    _, made = client.send("POST", target, {"metadata": {"name": "x"}, "spec": {}})
    made["spec"]["strategy"] = "OldestEmulationVersion"
    _, answer = client.send("PUT", f"{target}/x", made)
    assert "strategy" not in answer["spec"]
