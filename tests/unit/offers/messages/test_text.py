"""JSON of Mesos' messages: what is accepted, and the errors of what is not."""

import re

import pytest

from stretto.offers.messages import text
from stretto.offers.messages.text import MessageError


def call(**fields: object) -> object:
    return text.read("scheduler.Call", fields)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"type": 1}, "Not expecting a JSON number for field 'type'"),
        ({"subscribe": "x"}, "Not expecting a JSON string for field 'subscribe'"),
        ({"subscribe": {}}, "Missing required fields: subscribe.framework_info"),
        (
            {"acknowledge": {"uuid": "!!"}},
            "Failed to base64 decode bytes field 'uuid': Invalid character '!'",
        ),
        (
            {"accept": {"operations": [{"type": "LAUNCH_GROUP", "launch_group": {}}]}},
            (
                "Missing required fields: accept.operations[0].launch_group.executor,"
                " accept.operations[0].launch_group.task_group"
            ),
        ),
    ],
)
def test_a_wrong_field_is_answered_as_mesos_does(fields: dict[str, object], error: str) -> None:
    with pytest.raises(MessageError, match=re.escape(error)):
        call(**fields)


def test_unknown_fields_unknown_enums_and_null_are_unset() -> None:
    assert call(type="FOO", zzz=1, framework_id=None) == {}


def test_numbers_may_be_strings_and_become_the_type_of_the_field() -> None:
    request = {"decline": {"offer_ids": [], "filters": {"refuse_seconds": "2"}}}
    assert call(**request) == {"decline": {"filters": {"refuse_seconds": 2.0}}}


@pytest.mark.parametrize(
    ("body", "near"), [(b"", ""), (b"hello\nx", "hello"), (b'{"type": "SUBSCRIBE"', "")]
)
def test_a_body_that_is_not_json_is_quoted_from_the_error_on(body: bytes, near: str) -> None:
    with pytest.raises(MessageError, match="syntax error at line 1 near: " + near):
        text.parse(body)


def test_a_deep_message_is_rejected() -> None:
    labels: dict[str, object] = {"name": "x"}
    for _ in range(100):
        labels = {"nested": labels}
    with pytest.raises(MessageError, match="Expecting a JSON object"):
        text.read("scheduler.Call", [labels])
