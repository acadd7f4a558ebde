"""Strategic merges know which lists are maps by a key."""

from typing import Any

import pytest

from stretto.api.edit.strategic import strategic_merge
from stretto.base.errors import InputError


def condition(type_: str, status: str) -> dict[str, Any]:
    return {"type": type_, "status": status}


def merged(target: Any, patch: dict[str, Any]) -> Any:
    return strategic_merge(target, patch, "pod web")


def test_conditions_merge_by_type() -> None:
    target = {"conditions": [{**condition("A", "True"), "reason": "x"}, condition("B", "True")]}
    patch = {"conditions": [condition("A", "False"), condition("C", "True")]}
    assert merged(target, patch)["conditions"] == [
        {**condition("A", "False"), "reason": "x"},
        condition("B", "True"),
        condition("C", "True"),
    ]


def test_an_item_is_deleted_by_its_key() -> None:
    target = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert merged(target, {"containers": [{"$patch": "delete", "name": "a"}]}) == {
        "containers": [{"name": "b"}]
    }


def test_a_list_is_replaced_when_the_patch_says_so() -> None:
    target = {"containers": [{"name": "a"}]}
    patch = {"containers": [{"$patch": "replace"}, {"name": "b"}]}
    assert merged(target, patch) == {"containers": [{"name": "b"}]}


@pytest.mark.parametrize("name", ["tolerations", "taints", "args", "unknown"])
def test_lists_that_are_not_maps_are_replaced(name: str) -> None:
    assert merged({name: [{"key": "a"}]}, {name: [{"key": "b"}]}) == {name: [{"key": "b"}]}


def test_ports_merge_by_the_key_they_have() -> None:
    containers = {"ports": [{"containerPort": 1, "name": "a"}]}
    assert merged(containers, {"ports": [{"containerPort": 1, "hostPort": 2}]})["ports"] == [
        {"containerPort": 1, "name": "a", "hostPort": 2}
    ]
    services = {"ports": [{"port": 1}]}
    assert len(merged(services, {"ports": [{"port": 2}]})["ports"]) == 2


def test_finalizers_merge_as_a_set() -> None:
    assert merged({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]})["finalizers"] == [
        "a",
        "b",
        "c",
    ]


def test_texts_are_deleted_from_a_list() -> None:
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert merged({"finalizers": ["a", "b"]}, patch) == {"finalizers": ["b"]}


def test_the_order_of_items_can_be_set() -> None:
    target = {"conditions": [condition("A", ""), condition("B", ""), condition("C", "")]}
    patch = {"$setElementOrder/conditions": [{"type": "C"}, {"type": "A"}]}
    assert [each["type"] for each in merged(target, patch)["conditions"]] == ["C", "A", "B"]


def test_an_object_is_replaced_or_deleted_when_the_patch_says_so() -> None:
    assert merged({"a": {"x": 1}}, {"a": {"$patch": "replace", "y": 2}}) == {"a": {"y": 2}}
    assert merged({"a": {"x": 1}}, {"a": {"$patch": "delete"}}) == {"a": {}}


def test_only_retained_keys_survive() -> None:
    target = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert merged(target, patch) == {"strategy": {"type": "Recreate"}}


def test_null_removes_a_member_at_every_depth() -> None:
    target = {"a": {"b": 1, "c": 2}, "containers": [{"name": "x", "image": "y"}]}
    patch = {"a": {"b": None, "new": {"z": None}}, "containers": [{"name": "x", "image": None}]}
    assert merged(target, patch) == {"a": {"c": 2, "new": {}}, "containers": [{"name": "x"}]}


@pytest.mark.parametrize(
    "patch",
    [
        {"conditions": [{"status": "True"}]},
        {"containers": ["a"]},
        {"a": {"$patch": "explode"}},
        {"$deleteFromPrimitiveList/finalizers": "a"},
    ],
)
def test_a_patch_that_cannot_be_merged_is_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="patch of pod web"):
        merged({"a": {}}, patch)


def test_the_patch_that_godels_scheduler_writes_is_read() -> None:
    conditions = [condition("PodScheduled", "False")]
    order = {"$setElementOrder/conditions": [{"type": "PodScheduled"}]}
    after = merged({"metadata": {}}, {"status": {**order, "conditions": conditions}})
    assert after == {"metadata": {}, "status": {"conditions": conditions}}
