"""Large objects: the work of a request grows with the size of its body, not with its square."""

import json
from typing import Any

import pytest

from stretto.api.checks.custom.values import check_value
from stretto.api.schema.protobuf import MAGIC, bytes_field
from stretto.api.wire.limits import MAX_VALUES, MORE_VALUES
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer
from tests.support.calls import calls_of
from tests.unit.web.api.conftest import Send

CORE = "/api/v1/namespaces/default"
MAPS, PODS = f"{CORE}/configmaps", f"{CORE}/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def pod(variables: int) -> dict[str, Any]:
    environment = [{"name": f"E{number}", "value": "v"} for number in range(variables)]
    spec = {"containers": [{"name": "c", "image": "i", "env": environment}]}
    return {"metadata": {"name": f"p{variables}"}, "spec": spec}


def environment(variables: int, **fields: str) -> dict[str, Any]:
    """A patch of every variable."""
    each = [{"name": f"E{number}", **fields} for number in range(variables)]
    return {"spec": {"containers": [{"name": "c", "env": each}]}}


def patched(send: Send, variables: int, **fields: str) -> int:
    """The calls of a strategic patch of as many variables as the pod has."""
    assert send("POST", PODS, pod(variables)).status == 201
    body, path = environment(variables, **fields), f"{PODS}/p{variables}?dryRun=All"
    return calls_of(lambda: send("PATCH", path, body, "strategic-merge-patch+json"))


@pytest.mark.parametrize("fields", [{"value": "w"}, {"$patch": "delete"}])
def test_a_strategic_patch_of_twice_as_many_items_takes_twice_the_work(
    send: Send, fields: dict[str, str]
) -> None:
    patched(send, 10, **fields)  # tables are made at the first request
    assert patched(send, 800, **fields) < 2.5 * patched(send, 400, **fields)


def selected(send: Send, selector: str, terms: int) -> int:
    """The calls of a list with a selector of some terms."""
    text = "%2C".join(selector.format(number) for number in range(terms))
    return calls_of(lambda: send("GET", f"{MAPS}?{text}"))


@pytest.mark.parametrize("term", ["!absent{}", "key!%3Dv{}", "key"])
def test_many_terms_of_labels_take_no_work_for_each_object(send: Send, term: str) -> None:
    for number in range(50):
        send("POST", MAPS, {"metadata": {"name": f"m{number}", "labels": {"key": "a"}}})
    selected(send, f"labelSelector={term}", 1)
    few, many = (selected(send, f"labelSelector={term}", terms) for terms in (1, 101))
    assert many - few < 100 * 50  # less than one call for each term and object


def test_many_comparisons_of_fields_take_no_work_for_each_object(send: Send) -> None:
    for number in range(50):
        send("POST", MAPS, {"metadata": {"name": f"m{number}"}})
    term = "metadata.name!%3Dx{}"
    selected(send, f"fieldSelector={term}", 1)
    few, many = (selected(send, f"fieldSelector={term}", terms) for terms in (1, 101))
    assert many - few < 100 * 50


def test_comparisons_of_one_field_hold_together(send: Send) -> None:
    for name in ("a", "b", "c"):
        send("POST", MAPS, {"metadata": {"name": name}})
    without = send("GET", f"{MAPS}?fieldSelector=metadata.name!%3Da%2Cmetadata.name!%3Db")
    both = send("GET", f"{MAPS}?fieldSelector=metadata.name%3Da%2Cmetadata.name%3Db")
    names = [each["metadata"]["name"] for each in without.item["items"]]
    assert ("c" in names, "a" in names, both.item["items"]) == (True, False, [])


def test_values_of_different_types_are_no_duplicates() -> None:
    schema = {"type": "array", "items": {}, "x-kubernetes-list-type": "set"}
    assert check_value([1, True, "1", 0, False], schema, "x") == []
    assert [each.field for each in check_value(["a", "b", "a"], schema, "x")] == ["x[2]"]


def test_a_definition_may_have_more_values_than_other_objects(send: Send) -> None:
    fields = {f"f{number}": {"type": "string"} for number in range(MAX_VALUES // 2)}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"properties": fields}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    body = {"metadata": {"name": "x"}, "spec": {"versions": [version]}}
    assert send("POST", MAPS, body).status == 413
    assert send("POST", DEFINITIONS, body).status == 422  # decoded, and refused for other reasons


def test_a_json_patch_may_have_as_many_operations_as_in_kubernetes(send: Send) -> None:
    send("POST", MAPS, {"metadata": {"name": "m"}, "data": {"a": "b"}})
    operations = [{"op": "test", "path": "/data/a", "value": "b"}] * 10_000
    assert send("PATCH", f"{MAPS}/m", operations, "json-patch+json").status == 200


def sent(server: ApiServer, target: str, media: str, body: bytes) -> int:
    answer = server.handle(ApiRequest("POST", target, {"content-type": media}, body))
    assert isinstance(answer, ApiResponse)
    return answer.status


def protobuf(kind: str, raw: bytes) -> bytes:
    meta = bytes_field(1, b"v1") + bytes_field(2, kind.encode())
    return MAGIC + bytes_field(1, meta) + bytes_field(2, raw)


def test_a_protobuf_message_of_very_many_fields_is_refused(server: ApiServer) -> None:
    containers = bytes_field(2, b"\x12\x00" * (MORE_VALUES + 1))
    unknown = b"\x78\x01" * (MORE_VALUES + 1)
    assert sent(server, PODS, PROTOBUF, protobuf("Pod", containers)) == 413
    assert sent(server, PODS, PROTOBUF, protobuf("Pod", unknown)) == 413


def test_json_inside_a_protobuf_message_counts(server: ApiServer) -> None:
    fields = json.dumps([0] * (MAX_VALUES + 1)).encode()
    entry = bytes_field(7, bytes_field(1, fields))  # fieldsV1 of an entry of managed fields
    body = protobuf("ConfigMap", bytes_field(1, bytes_field(17, entry)))
    assert sent(server, MAPS, PROTOBUF, body) == 413


def test_very_many_documents_of_a_text_are_not_read(server: ApiServer) -> None:
    assert sent(server, MAPS, "application/yaml", b"---\n" * (MAX_VALUES + 1)) == 400


def test_documents_behind_the_first_are_not_read(server: ApiServer) -> None:
    text = b"metadata: {name: m}\n---\n{ broken"
    assert sent(server, MAPS, "application/yaml", text) == 201


def test_a_json_patch_cannot_make_an_object_deeper_than_a_body(send: Send) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    send("POST", DEFINITIONS, definition(schema))
    send("POST", "/apis/e.io/v1/widgets", widget({"a": {}}))
    deeper = [
        {"op": "add", "path": "/spec/t", "value": {}},
        {"op": "move", "from": "/spec/a", "path": "/spec/t/d"},
        {"op": "move", "from": "/spec/t", "path": "/spec/a"},
    ]
    statuses = [
        send("PATCH", "/apis/e.io/v1/widgets/x", deeper * count, "json-patch+json").status
        for count in (20, 60, 3000)
    ]
    assert statuses == [200, 422, 422]


def definition(spec: Any, group: str = "e.io") -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    inner = {"group": group, "names": names, "scope": "Cluster", "versions": [version]}
    return {"metadata": {"name": f"widgets.{group}"}, "spec": inner}


def widget(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "e.io/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": spec}


def changed_items(send: Send, items: int, **rules: Any) -> int:
    """The calls of a change of every item of a keyed list to a value that is refused."""
    name, number = {"type": "string", "maxLength": 9}, {"type": "integer", "maximum": 1}
    each = {"type": "object", "properties": {"name": name, "n": number}, "required": ["name"]}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    schema = {"type": "array", "maxItems": 1000, "items": {**each, **rules}, **keys}
    assert send("POST", DEFINITIONS, definition(schema, f"s{items}.io")).status == 201
    entries = [[{"name": f"i{at}", "n": value} for at in range(items)] for value in (0, 2)]
    path, group = f"/apis/s{items}.io/v1/widgets", {"apiVersion": f"s{items}.io/v1"}
    assert send("POST", path, {**widget(entries[0]), **group}).status == 201
    path += "/x"
    return calls_of(lambda: send("PATCH", path, {"spec": entries[1]}, "merge-patch+json"))


@pytest.mark.parametrize("rules", [{}, {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}])
def test_a_change_of_twice_as_many_keyed_items_takes_twice_the_work(
    send: Send, rules: dict[str, Any]
) -> None:
    changed_items(send, 10, **rules)
    assert changed_items(send, 600, **rules) < 2.5 * changed_items(send, 300, **rules)


def test_a_slice_of_more_endpoints_than_in_kubernetes_is_refused(send: Send) -> None:
    each = {"addresses": ["10.0.0.1"]}
    body = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [each] * 1001}
    answer = send("POST", SLICES, body)
    assert "endpoints: Too many: 1001: must have at most 1000 items" in answer.message
    body["endpoints"] = [{"addresses": ["10.0.0.1"] * 101}]
    assert "addresses: Too many: 101: must have at most 100" in send("POST", SLICES, body).message


def test_defaults_and_pruning_do_not_change_a_stored_object(send: Send) -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}
    send("POST", DEFINITIONS, definition({"type": "object", "properties": {"a": inner}}))
    send("POST", "/apis/e.io/v1/widgets", widget({"a": {}}))
    changed = definition({"type": "object", "properties": {"a": {**inner, "properties": {
        "c": {"type": "string", "default": "y"}}}}})  # fmt: skip
    send("PATCH", f"{DEFINITIONS}/widgets.e.io", {"spec": changed["spec"]}, "merge-patch+json")
    assert send("GET", "/apis/e.io/v1/widgets/x").item["spec"] == {"a": {"c": "y"}}
    send("PATCH", f"{DEFINITIONS}/widgets.e.io", {"spec": definition({
        "type": "object", "properties": {"a": inner}})["spec"]}, "merge-patch+json")  # fmt: skip
    assert send("GET", "/apis/e.io/v1/widgets/x").item["spec"] == {"a": {"b": "x"}}


def changed_versions(send: Send, versions: int) -> int:
    """The calls of a change of an object whose fields have an owner in each of some versions."""
    group, names = f"n{versions}.io", [f"v{number}" for number in range(1, versions + 1)]
    kind = definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, group)
    (first,) = kind["spec"]["versions"]
    kind["spec"]["versions"] = [{**first, "name": name, "storage": name == "v1"} for name in names]
    assert send("POST", DEFINITIONS, kind).status == 201
    item = {**widget({f"f{at}": {"a": "b"} for at in range(300)}), "apiVersion": f"{group}/v1"}
    owner = {"operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:x": {}}}}
    item["metadata"]["managedFields"] = [
        {**owner, "manager": name, "apiVersion": f"{group}/{name}"} for name in names
    ]
    path, spec = f"/apis/{group}/v1/widgets", {f"f{at}": {"a": "c"} for at in range(300)}
    assert send("POST", path, item).status == 201
    return calls_of(lambda: send("PATCH", f"{path}/x", {"spec": spec}, "merge-patch+json"))


def test_owners_in_many_versions_with_one_schema_take_one_comparison(send: Send) -> None:
    changed_versions(send, 1)
    assert changed_versions(send, 20) < 2 * changed_versions(send, 2)
