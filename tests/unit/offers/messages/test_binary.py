"""Protobuf of Mesos' messages, compared with bytes that a Mesos master sent."""

import base64

import pytest

from stretto.offers.messages import binary
from stretto.offers.messages.text import MessageError

#: A response to GET_ROLES with one role, one framework and two scalars.
ROLES = base64.b64decode(
    "CA1yZgpkCgN3ZWIRAAAAAAAA8D8aKwopYzYwNTc0MGUtZGNkMS00NGM0LWIxNWItYTgyMDI2NjM4MTEzLTAwMDAiEwoE"
    "Y3B1cxAAGgkJAAAAAAAA8D8iEgoDbWVtEAAaCQkAAAAAAABQQA=="
)


def test_recorded_bytes_are_read_by_name() -> None:
    (role,) = binary.read("operator.Response", ROLES)["get_roles"]["roles"]
    assert (role["name"], role["weight"]) == ("web", 1.0)
    assert [each["scalar"]["value"] for each in role["resources"]] == [1.0, 64.0]


def test_a_message_that_is_read_and_written_has_the_same_bytes() -> None:
    assert binary.write("operator.Response", binary.read("operator.Response", ROLES)) == ROLES


def test_maps_and_bytes_survive() -> None:
    quota = {"quota_configs": [{"role": "a", "limits": {"cpus": {"value": 2.0}}}], "force": True}
    call = {"type": "UPDATE_QUOTA", "update_quota": quota}
    assert binary.read("operator.Call", binary.write("operator.Call", call)) == call


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\x1a\x00"])
def test_garbage_and_missing_fields_are_rejected(data: bytes) -> None:
    with pytest.raises(MessageError):
        binary.read("scheduler.Call", data)
