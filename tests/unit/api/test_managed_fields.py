"""Managed fields of requests: the elements of many items are read at once, as if one by one."""

from typing import Any

import pytest

from stretto.api.edit.apply.managers import decode_managers
from stretto.api.edit.apply.walking import ApplyError

LEAVES = {".": {}, "f:name": {}}


def read(fields: dict[str, Any]) -> Any:
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    (found,) = decode_managers([{**entry, "fieldsV1": fields}]).values()
    return found.fields


@pytest.mark.parametrize(
    "fields",
    [
        {"f:a": {'k:{"name":"x"}': LEAVES, 'k:{"name":"y","port":1}': LEAVES}},
        {"f:a": {".": {}, 'k:{"a":[1]}': {}, 'k:{"a":{"b":"\\n"}}': LEAVES}},
        {"f:a": {"v:1": {}, 'v:"x"': {}}, "f:b": {"i:0": {}}},
    ],
)
def test_fields_are_read_as_they_are(fields: dict[str, Any]) -> None:
    assert read(fields) == fields


@pytest.mark.parametrize(
    "keys",
    [
        ['k:{"a":1', 'k:{"b":2}'],
        ['k:{"a":"', 'k:"}', "k:{}],[{}"],
        ['k:{"a":[[1', "k:2]]}", "k:{}],\n[{}"],
        ["k:1"],
        ["k:"],
    ],
)
def test_texts_that_are_items_only_together_are_refused(keys: list[str]) -> None:
    with pytest.raises(ApplyError, match="invalid path element"):
        read({"f:a": {key: {} for key in keys}})


@pytest.mark.parametrize("below", [None, [], "", 0])
def test_a_node_that_is_no_object_is_refused(below: Any) -> None:
    items = {f'k:{{"name":"{name}"}}': {"f:name": {}} for name in "xy"}
    with pytest.raises(ApplyError, match="expected an object"):
        read({"f:a": {**items, 'k:{"name":"z"}': {"f:name": below}}})


def test_elements_of_later_versions_are_left_out() -> None:
    assert read({"f:a": {"z:1": {}, "f:b": {}}}) == {"f:a": {"f:b": {}}}
