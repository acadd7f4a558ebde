"""Pods of one template: each is owned, checked and answered as if it were the only one."""

from typing import Any

import pytest

from stretto.api.edit.apply.managers import fields_of_new
from stretto.api.schema.decoding import Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.web.api.objects import recent
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
    answered = recent.recent(calls.append)
    small, large = b"x", bytes(1 << 20)
    for text in (small, small, large, large):
        answered(text)
    assert calls == [small, large, large]
