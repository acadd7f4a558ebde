"""Strategic merges know which lists are maps by a key."""

import re
from typing import Any

import pytest

from stretto.api.edit.strategic import (
    RetainKeysError,
    StrategicPatchError,
    strategic_merge,
    unordered,
)
from stretto.api.schema.kubernetes import struct


def condition(type_: str, status: str) -> dict[str, Any]:
    return {"type": type_, "status": status}


def status_after(target: Any, patch: dict[str, Any]) -> Any:
    return strategic_merge(target, patch, struct("core/v1.PodStatus"))


def spec_after(target: Any, patch: dict[str, Any]) -> Any:
    return strategic_merge(target, patch, struct("core/v1.PodSpec"))


def metadata_after(target: Any, patch: dict[str, Any]) -> Any:
    return strategic_merge(target, patch, struct("meta/v1.ObjectMeta"))


def test_conditions_merge_by_type_and_those_of_the_patch_keep_its_order() -> None:
    target = {"conditions": [{**condition("A", "True"), "reason": "x"}, condition("B", "True")]}
    patch = {"conditions": [condition("A", "False"), condition("C", "True")]}
    assert status_after(target, patch)["conditions"] == [
        {**condition("A", "False"), "reason": "x"},
        condition("C", "True"),
        condition("B", "True"),
    ]


def test_an_item_is_deleted_by_its_key() -> None:
    target = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert spec_after(target, {"containers": [{"$patch": "delete", "name": "a"}]}) == {
        "containers": [{"name": "b"}]
    }


@pytest.mark.parametrize("more", [[{"name": "b"}], [{"name": "b", "image": None}]])
def test_a_list_is_replaced_by_a_directive_of_the_patch(more: list[Any]) -> None:
    target = {"containers": [{"name": "a"}]}
    patch = {"containers": [{"$patch": "replace"}, *more]}
    assert spec_after(target, patch) == {"containers": [{"name": "b"}]}


@pytest.mark.parametrize("name", ["tolerations", "unknown"])
def test_lists_that_are_not_maps_are_replaced(name: str) -> None:
    assert spec_after({name: [{"key": "a"}]}, {name: [{"key": "b"}]}) == {name: [{"key": "b"}]}


@pytest.mark.parametrize(
    ("name", "key"), [("core/v1.Container", "containerPort"), ("core/v1.ServiceSpec", "port")]
)
def test_ports_merge_by_the_key_of_their_type(name: str, key: str) -> None:
    target, patch = {"ports": [{key: 1, "name": "a"}]}, {"ports": [{key: 1, "protocol": "UDP"}]}
    assert strategic_merge(target, patch, struct(name)) == {
        "ports": [{key: 1, "name": "a", "protocol": "UDP"}]
    }


def test_ports_of_a_network_policy_are_replaced() -> None:
    rule = struct("networking/v1.NetworkPolicyIngressRule")
    assert strategic_merge({"ports": [{"port": 1}]}, {"ports": [{"port": 2}]}, rule) == {
        "ports": [{"port": 2}]
    }


def test_finalizers_merge_as_a_set() -> None:
    merged = metadata_after({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]})
    assert sorted(merged["finalizers"]) == ["a", "b", "c"]


def test_texts_are_deleted_from_a_list() -> None:
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert metadata_after({"finalizers": ["a", "b"]}, patch) == {"finalizers": ["b"]}


def test_the_order_of_items_can_be_set() -> None:
    target = {"conditions": [condition("A", ""), condition("B", ""), condition("C", "")]}
    patch = {"$setElementOrder/conditions": [{"type": "C"}, {"type": "A"}]}
    assert [each["type"] for each in status_after(target, patch)["conditions"]] == ["B", "C", "A"]


def test_an_object_is_replaced_or_deleted_by_a_directive_of_the_patch() -> None:
    assert spec_after({"a": {"x": 1}}, {"a": {"$patch": "replace", "y": 2}}) == {"a": {"y": 2}}
    assert spec_after({"a": {"x": 1}}, {"a": {"$patch": "delete"}}) == {"a": {}}


def test_only_retained_keys_survive() -> None:
    target = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    deployment = struct("apps/v1.DeploymentSpec")
    assert strategic_merge(target, patch, deployment) == {"strategy": {"type": "Recreate"}}


def test_retained_keys_without_a_key_that_the_patch_sets_are_refused() -> None:
    with pytest.raises(RetainKeysError):
        spec_after({"securityContext": {}}, {"securityContext": {"$retainKeys": ["x"], "y": 1}})


def test_an_object_with_a_directive_for_an_absent_one_is_dropped() -> None:
    assert spec_after({}, {"nodeSelector": {"$patch": "replace", "a": "b"}}) == {}


def test_other_directives_stay_in_a_new_object() -> None:
    patch = {"affinity": {"$retainKeys": ["nodeAffinity"], "nodeAffinity": None}}
    assert spec_after({}, patch) == {"affinity": {"$retainKeys": ["nodeAffinity"]}}


def test_items_are_deleted_before_others_are_merged() -> None:
    patch = {"containers": [{"name": "a", "image": "x"}, {"name": "a", "$patch": "delete"}]}
    found = spec_after({"containers": [{"name": "a", "command": ["y"]}]}, patch)
    assert found == {"containers": [{"name": "a", "image": "x"}]}


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ({"$patch": "merge"}, "unknown patch type: merge in map: map[$patch:merge]"),
        (
            {"$setElementOrder/nope": []},
            'unable to find api field in struct PodSpec for the json field "nope"',
        ),
        ({"$setElementOrder/hostNetwork": None}, "but received a %!s(<nil>)"),
        ({"$setElementOrder/nodeSelector": []}, "expected slice or array type, but got: struct"),
    ],
)
def test_a_directive_without_a_meaning_is_refused(patch: Any, problem: str) -> None:
    with pytest.raises(StrategicPatchError, match=re.escape(problem)):
        spec_after({}, patch)


def test_null_removes_a_member_at_every_depth() -> None:
    target = {"a": {"b": 1, "c": 2}, "containers": [{"name": "x", "image": "y"}]}
    patch = {"a": {"b": None, "new": {"z": None}}, "containers": [{"name": "x", "image": None}]}
    assert spec_after(target, patch) == {"a": {"c": 2, "new": {}}, "containers": [{"name": "x"}]}


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"containers": [{"image": "x"}]}, "does not contain declared merge key: name"),
        ({"containers": ["a"]}, "list element types are not identical"),
        ({"containers": [{"name": "a", "$patch": "merge"}]}, "merging lists cannot yet"),
        ({"a": {"$patch": "explode"}}, "unknown patch type: explode"),
        ({"$setElementOrder/containers": "a"}, r"expected a \[\]interface"),
        ({"$setElementOrder/containers": ["a"]}, "value for key 0 is not a map"),
        ({"containers": [{"name": "a"}], "$setElementOrder/containers": []}, "The order in patch"),
        (
            {"containers": [{"image": "x"}], "$setElementOrder/containers": [{"name": "a"}]},
            "does not contain declared merge key: name",
        ),
    ],
)
def test_a_patch_that_cannot_be_merged_is_refused(patch: dict[str, Any], text: str) -> None:
    with pytest.raises(StrategicPatchError, match=text):
        spec_after({"a": {}, "containers": [{"name": "z"}]}, patch)


def test_a_list_that_the_object_lacks_is_the_list_of_the_patch() -> None:
    patch = {"containers": [{"image": "x", "env": None}]}
    assert spec_after({}, patch) == {"containers": [{"image": "x"}]}


def test_the_patch_that_godels_scheduler_writes_is_read() -> None:
    conditions = [condition("PodScheduled", "False")]
    order = {"$setElementOrder/conditions": [{"type": "PodScheduled"}]}
    patch = {"status": {**order, "conditions": conditions}}
    after = strategic_merge({"metadata": {}}, patch, struct("core/v1.Pod"))
    assert after == {"metadata": {}, "status": {"conditions": conditions}}


def test_a_message_quotes_a_patch_without_the_lists_that_it_orders() -> None:
    patch = {"$setElementOrder/ports": [{"port": 1}], "ports": [{"port": 1}], "type": "x"}
    assert unordered({"spec": patch}) == {"spec": {"type": "x"}}
