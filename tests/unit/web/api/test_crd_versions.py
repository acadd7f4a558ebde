"""Custom resources in several versions: what each knows, and which one is stored."""

from typing import Any

import pytest

from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Send

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OLD = "/apis/example.org/v1beta1/namespaces/default/trees"
NEW = "/apis/example.org/v1/namespaces/default/trees"
WORD = {"type": "string"}


def version(name: str, *, storage: bool = False, **properties: Any) -> Any:
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def spec_of(*versions: Any, plural: str = "trees", kind: str = "Tree") -> Any:
    names = {"plural": plural, "kind": kind}
    body = {"group": "example.org", "scope": "Namespaced", "names": names}
    return {**body, "versions": list(versions)}


@pytest.fixture
def defined(server: ApiServer, send: Send) -> None:
    new = version("v1", storage=True, color=WORD, ok=WORD)
    old = version("v1beta1", color=WORD, old={**WORD, "default": "o"})
    body = {"metadata": {"name": "trees.example.org"}, "spec": spec_of(new, old)}
    assert send("POST", DEFINITIONS, body).status == 201
    server.tick()


def tree(api: str, **spec: str) -> Any:
    return {"apiVersion": f"example.org/{api}", "kind": "Tree", "metadata": {"name": "t"}} | {
        "spec": spec
    }


@pytest.mark.usefixtures("defined")
def test_fields_that_the_stored_version_lacks_are_lost(send: Send) -> None:
    created = send("POST", OLD, tree("v1beta1", color="red", old="x"))
    assert created.item["spec"] == {"color": "red"}
    assert created.item["apiVersion"] == "example.org/v1beta1"


@pytest.mark.usefixtures("defined")
def test_a_version_shows_only_what_it_has(send: Send) -> None:
    send("POST", NEW, tree("v1", color="red", ok="yes"))
    assert send("GET", f"{OLD}/t").item["spec"] == {"color": "red"}


@pytest.mark.usefixtures("defined")
def test_owners_are_forgotten_where_versions_cannot_be_compared(send: Send) -> None:
    send("POST", NEW, tree("v1", ok="yes"))
    media = "merge-patch+json"
    changed = send("PATCH", f"{OLD}/t", {"spec": {"color": "red"}}, media)
    assert "managedFields" not in changed.item["metadata"]


@pytest.mark.usefixtures("defined")
def test_an_apply_in_another_version_removes_only_what_its_applier_owned(send: Send) -> None:
    apply = "apply-patch+yaml"
    first = tree("v1", color="red")
    first["metadata"]["finalizers"] = ["example.org/f"]
    send("PATCH", f"{NEW}/t?fieldManager=m", first, apply)
    labels = {"metadata": {"labels": {"a": "b"}}}
    send("PATCH", f"{NEW}/t", labels, "merge-patch+json")
    changed = send("PATCH", f"{OLD}/t?fieldManager=m", tree("v1beta1", color="red"), apply)
    assert changed.status == 200
    metadata = changed.item["metadata"]
    assert (metadata.get("finalizers"), metadata.get("labels")) == (None, {"a": "b"})


@pytest.mark.usefixtures("defined")
def test_the_storage_version_can_change(send: Send, server: ApiServer) -> None:
    send("POST", NEW, tree("v1", color="red"))
    new = version("v1", color=WORD, ok=WORD)
    old = version("v1beta1", storage=True, color=WORD, old={**WORD, "default": "o"})
    body = {"spec": {"versions": [new, old]}}
    send("PATCH", f"{DEFINITIONS}/trees.example.org", body, "merge-patch+json")
    server.tick()
    body = {"metadata": {"labels": {"a": "b"}}}
    assert send("PATCH", f"{NEW}/t", body, "merge-patch+json").status == 200
    definition = send("GET", f"{DEFINITIONS}/trees.example.org").item
    assert definition["status"]["storedVersions"] == ["v1", "v1beta1"]


@pytest.mark.usefixtures("defined")
def test_a_version_without_a_scale_has_none(send: Send) -> None:
    send("POST", NEW, tree("v1"))
    answer = send("GET", f"{NEW}/t/scale")
    assert (answer.status, answer.message) == (404, 'trees.example.org "t" not found')


@pytest.mark.usefixtures("defined")
def test_only_the_names_that_are_taken_are_not_accepted(send: Send, server: ApiServer) -> None:
    spec = spec_of(version("v1", storage=True), plural="oaks")
    send("POST", DEFINITIONS, {"metadata": {"name": "oaks.example.org"}, "spec": spec})
    server.tick()
    status = send("GET", f"{DEFINITIONS}/oaks.example.org").item["status"]
    assert status["conditions"][0]["reason"] == "ListKindConflict"
    assert status["acceptedNames"] == {"plural": "oaks", "kind": ""}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"rule": "self.("}, "compilation failed: ERROR: <input>:1:6: Syntax error"),
        ({"rule": "size(self)"}, "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression must evaluate to a string"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(send: Send, rule: Any, text: str) -> None:
    made = version("v1", storage=True, a={**WORD, "x-kubernetes-validations": [rule]})
    body = {"metadata": {"name": "trees.example.org"}, "spec": spec_of(made)}
    answer = send("POST", DEFINITIONS, body)
    assert answer.status == 422
    assert text in answer.message


@pytest.mark.usefixtures("defined")
def test_a_null_that_is_applied_is_a_value(send: Send) -> None:
    body = tree("v1") | {"spec": {"color": None}}
    answer = send("PATCH", f"{NEW}/t?fieldManager=m", body, "apply-patch+yaml")
    assert 'spec.color in body must be of type string: "null"' in answer.message


@pytest.mark.parametrize(("count", "status"), [(100, 201), (101, 422)])
def test_a_definition_has_at_most_100_versions(send: Send, count: int, status: int) -> None:
    versions = [version(f"v{number}", storage=number == 1) for number in range(1, count + 1)]
    body = {"metadata": {"name": "many.example.org"}}
    answer = send("POST", DEFINITIONS, {**body, "spec": spec_of(*versions, plural="many")})
    assert answer.status == status
    assert status == 201 or "Too many: 101: must have at most 100 items" in answer.message


@pytest.mark.parametrize(("count", "status"), [(100, 201), (101, 422)])
def test_a_version_has_at_most_100_printer_columns(send: Send, count: int, status: int) -> None:
    columns = [
        {"name": f"c{number}", "type": "string", "jsonPath": f".spec.c{number}"}
        for number in range(count)
    ]
    each = {**version("v1", storage=True), "additionalPrinterColumns": columns}
    body = {"metadata": {"name": "wide.example.org"}, "spec": spec_of(each, plural="wide")}
    answer = send("POST", DEFINITIONS, body)
    assert answer.status == status
    assert status == 201 or "must have at most 100 items" in answer.message
