"""Pods of one template: each is owned, checked and answered as if it were the only one."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.edit.apply.managers import fields_of_new
from stretto.api.schema.decoding import Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.web.api.authn.users import User
from stretto.web.api.call import Call
from stretto.web.api.message import ApiRequest
from stretto.web.api.objects.naming import (
    complete_object,
    default_object,
    sent_object,
    sent_value,
)
from stretto.web.api.objects.recurring import cache
from stretto.web.api.objects.versions import canonical_form, shown_form
from stretto.web.api.resources import kubernetes_table
from stretto.web.api.routes import Route
from stretto.web.api.webhooks.reviews import ReviewMemory
from tests.unit.web.api.conftest import Send

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str, image: str = "nginx", **metadata: Any) -> dict[str, Any]:
    """A pod of the template."""
    spec = {"containers": [{"name": "web", "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def owned(send: Send, item: dict[str, Any]) -> str:
    """The fields that the creator of a pod owns."""
    return str(send("POST", PODS, item).item["metadata"]["managedFields"][0]["fieldsV1"])


def test_pods_of_one_template_have_equal_owners_of_fields(send: Send) -> None:
    first, second = owned(send, pod("a")), owned(send, pod("b"))
    assert first == second
    assert "f:containers" in first


@pytest.mark.parametrize("added", [{"labels": {"x": "1"}}, {"generateName": "web-"}])
def test_pods_with_other_metadata_have_other_owners_of_fields(
    send: Send, added: dict[str, Any]
) -> None:
    name = f"f:{next(iter(added))}"
    assert name not in owned(send, pod("a"))
    assert name in owned(send, pod("b", **added))


def test_invalid_pods_of_one_template_are_refused_each_by_its_name(send: Send) -> None:
    for name in "ab":
        reply = send("POST", PODS, pod(name, image=" "))
        assert reply.status == 422
        assert reply.message.startswith(f'Pod "{name}" is invalid: spec.containers[0].image')


def test_the_fields_of_a_new_object_are_those_that_differ_from_an_empty_one() -> None:
    kind = struct("core/v1.Pod")
    empty = decode({}, kind, Decoding())
    new = {**empty, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending"}}
    found = fields_of_new(empty, new, kind, {"f:status": {}})
    assert found == {"f:spec": {"f:nodeName": {}}}


def test_answers_about_large_texts_are_not_kept() -> None:
    calls: list[bytes] = []
    answered = cache.recent(calls.append)
    small, large = b"x", bytes(1 << 20)
    for text in (small, small, large, large):
        answered(text)
    assert calls == [small, large, large]


def shown(item: dict[str, Any]) -> dict[str, Any]:
    """A stored object without what the store assigns."""
    assigned = ("name", "uid", "resourceVersion", "managedFields")
    metadata = {key: each for key, each in item["metadata"].items() if key not in assigned}
    return {**item, "metadata": metadata}


@pytest.mark.parametrize("metadata", [{"labels": {"app": "web"}}, {"namespace": "default"}])
def test_every_pod_of_a_template_is_stored_as_the_first_one(
    send: Send, metadata: dict[str, Any]
) -> None:
    first, *others = [send("POST", PODS, pod(name, **metadata)).item for name in "abcd"]
    assert [shown(each) for each in others] == [shown(first)] * 3
    assert [each["metadata"]["name"] for each in others] == list("bcd")


def test_pods_without_a_name_of_one_template_get_different_names(send: Send) -> None:
    item = pod("", generateName="web-")
    del item["metadata"]["name"]
    names = {send("POST", PODS, item).item["metadata"]["name"] for _ in range(4)}
    assert len(names) == 4


def test_each_namespace_gets_the_label_with_its_own_name(send: Send) -> None:
    for name in ("north", "south", "west"):
        item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        labels = send("POST", "/api/v1/namespaces", item).item["metadata"]["labels"]
        assert labels == {"kubernetes.io/metadata.name": name}


def test_every_pod_of_a_template_with_an_unknown_field_gets_a_warning(send: Send) -> None:
    for name in "abcd":
        reply = send("POST", PODS, {**pod(name), "extra": 1})
        assert reply.warnings == ['299 - "unknown field \\"extra\\""']


def test_a_name_that_is_refused_in_one_namespace_is_refused_in_every_attempt(send: Send) -> None:
    for name in "abcd":
        reply = send("POST", PODS, pod(name, namespace="other"))
        assert reply.status == 400


def test_a_refusal_quotes_the_empty_list_of_every_object_of_a_template(send: Send) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    spec = {"selector": {}, "template": {"spec": {"containers": []}}}
    for name in "abcd":
        item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
        message = send("POST", path, {**item, "spec": spec}).message
        assert message == f'Deployment.apps "{name}" is invalid: ' + message.partition(": ")[2]
        assert "spec.selector: Invalid value: {}" in message


def call_with(body: bytes, plural: str) -> Call:
    """Return a call that creates the object in a body."""
    resource = kubernetes_table().find("", "v1", plural)
    assert resource is not None
    request = ApiRequest("POST", PODS, {}, body)
    return Call(request, Route("", "v1", plural, "default"), resource, "create", User("me"))


@pytest.mark.parametrize("name", ["name-of-any-object", "name-of-any-objec\\u0074"])
def test_a_secret_with_the_name_of_the_placeholder_keeps_its_name_and_value(name: str) -> None:
    for value in ("one", "two", "three"):
        body = f'{{"stringData":{{"name":"{value}"}},"metadata":{{"name":"{name}"}}}}'
        item = complete_object(call_with(body.encode(), "secrets"))
        assert item["metadata"]["name"] == "name-of-any-object"
        assert base64.b64decode(item["data"]["name"]).decode() == value


@given(names=st.lists(st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), min_size=3, max_size=5))
def test_a_recurring_body_is_decoded_as_a_new_one(names: list[str]) -> None:
    for name in names:
        body = json.dumps(pod(name, labels={"name": name})).encode()
        call = call_with(body, "pods")
        recurring, new = complete_object(call), default_object(call, sent_object(call))
        assert recurring == new
        assert sent_value(call) == json.loads(body)


@given(st.lists(st.sampled_from(["", "a", "1Gi", "Always"]), min_size=2, max_size=2))
def test_the_form_in_the_store_is_the_form_for_clients(values: list[str]) -> None:
    resource = kubernetes_table().find("", "v1", "pods")
    assert resource is not None
    text, policy = values
    item = pod("a", labels={"app": text}, annotations={}, managedFields=[])
    item["spec"] |= {"restartPolicy": policy, "nodeSelector": {}, "volumes": []}
    shown = shown_form(resource, item, ReviewMemory())
    assert canonical_form(resource, item) == shown
