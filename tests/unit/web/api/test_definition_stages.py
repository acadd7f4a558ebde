"""The stages of a definition: its names are accepted, its objects end first, its APIServices."""

import gc
from typing import Any
from weakref import ref

from stretto.api.checks.custom.values import check_value
from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Send

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
FIRS = "/apis/x.example/v1/namespaces/default/firs"


def definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "x.example", "scope": "Namespaced", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "firs.x.example"},
        "spec": {**spec, "names": {"plural": "firs", "kind": "Fir"}},
    }


def fir(name: str, *finalizers: str) -> dict[str, Any]:
    metadata = {"name": name, "finalizers": list(finalizers)}
    return {"apiVersion": "x.example/v1", "kind": "Fir", "metadata": metadata}


def ending(send: Send) -> list[str]:
    conditions = send("GET", f"{DEFINITIONS}/firs.x.example").item["status"]["conditions"]
    return [each["reason"] for each in conditions if each["type"] == "Terminating"]


def test_the_kind_of_a_new_definition_is_served_at_once(send: Send) -> None:
    created = send("POST", DEFINITIONS, definition())
    assert not created.item["status"]["conditions"]
    assert send("POST", FIRS, fir("a")).status == 201


def test_a_deleted_definition_stays_until_its_objects_are_gone(
    server: ApiServer, send: Send
) -> None:
    send("POST", DEFINITIONS, definition())
    send("POST", FIRS, fir("a", "x.example/held"))
    send("DELETE", f"{DEFINITIONS}/firs.x.example")
    server.tick()
    assert ending(send) == ["InstanceDeletionInProgress"]
    send("PUT", f"{FIRS}/a", {**send("GET", f"{FIRS}/a").item, **_without(send, "a")})
    server.tick()
    assert send("GET", f"{DEFINITIONS}/firs.x.example").status == 404


def _without(send: Send, name: str) -> dict[str, Any]:
    metadata = send("GET", f"{FIRS}/{name}").item["metadata"]
    return {"metadata": {**metadata, "finalizers": []}}


def test_no_object_is_created_while_its_definition_ends(send: Send) -> None:
    send("POST", DEFINITIONS, definition())
    send("DELETE", f"{DEFINITIONS}/firs.x.example")
    refused = send("POST", FIRS, fir("b"))
    assert (refused.status, refused.item["reason"]) == (405, "MethodNotAllowed")


def test_a_definition_has_an_api_service_while_its_kind_is_served(
    server: ApiServer, send: Send
) -> None:
    send("POST", DEFINITIONS, definition())
    assert send("GET", f"{SERVICES}/v1.x.example").item["spec"]["groupPriorityMinimum"] == 1000
    send("DELETE", f"{DEFINITIONS}/firs.x.example")
    server.tick()
    server.tick()
    assert send("GET", f"{SERVICES}/v1.x.example").status == 404


def test_nothing_keeps_the_resource_of_a_removed_definition(server: ApiServer, send: Send) -> None:
    send("POST", DEFINITIONS, definition())
    for method, path in (("POST", FIRS), ("PUT", f"{FIRS}/a"), ("DELETE", f"{FIRS}/a")):
        send(method, path, fir("a"))
        resource = ref(next(iter(server.state.resources.custom())))
    send("DELETE", f"{DEFINITIONS}/firs.x.example")
    server.tick()
    server.tick()
    gc.collect()
    assert resource() is None


def test_every_group_of_kubernetes_has_an_available_api_service(send: Send) -> None:
    items = send("GET", SERVICES).item["items"]
    reasons = {each["status"]["conditions"][0]["reason"] for each in items}
    assert reasons == {"Local"}
    assert {"v1.", "v1.apps"} <= {each["metadata"]["name"] for each in items}


def test_a_fraction_where_an_integer_belongs_has_two_faults() -> None:
    faults = check_value(5.5, {"type": "integer"}, "spec.watts")
    assert [each.field for each in faults] == ["spec.watts", "<nil>"]
    assert faults[1].message.endswith("of type integer (default format) in spec.watts")
