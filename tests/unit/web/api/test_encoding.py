"""The encoding of objects: those of one template share the encoding of their spec."""

from typing import Any

import pytest

from stretto.api.edit.yaml_text import load_documents
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.protobuf import decode_message, encode_message, open_envelope
from stretto.web.api.encoding import YAML, dumped, protobuf

POD = struct("core/v1.Pod")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod with a spec."""
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_pod_is_encoded_with_its_own_name_and_spec(node: str) -> None:
    raw = open_envelope(protobuf(pod(node, nodeName=node))).raw
    found = decode_message(raw, POD)
    assert (found["metadata"]["name"], found["spec"]["nodeName"]) == (node, node)


@pytest.mark.parametrize("spec", [{}, {"nodeName": "n1"}, {"priority": 0, "nodeSelector": {}}])
def test_a_shared_spec_is_encoded_as_an_object_of_its_own(spec: dict[str, Any]) -> None:
    item = pod("p", **spec)
    assert open_envelope(protobuf(item)).raw == encode_message(item, POD)


@pytest.mark.parametrize("text", ["a", "\x7f", "\x85", "\ufeff", "\ufffe", "é\U0001f600", "a\nb"])
def test_yaml_has_the_same_values_for_small_and_large_objects(text: str) -> None:
    for count in (1, 10_000):
        item = {"data": {f"k{number}": text for number in range(count)}}
        ((_, found),) = load_documents(dumped(item, YAML), "x.yaml")
        assert found == item


def test_only_large_objects_have_the_flow_style_of_yaml() -> None:
    assert dumped({"a": 1}, YAML) == b"a: 1\n"
    assert dumped({"a": "x" * 100_000, "b": 1}, YAML).endswith(b'x","b":1}\n')
