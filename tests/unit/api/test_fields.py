"""Field selectors compare fields of parsed objects."""

import pytest

from stretto.api.wire.fields import parse_fields
from stretto.base.errors import InputError

POD = {"metadata": {"name": "web"}, "spec": {"priority": 7}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "metadata.name=web",
        "metadata.name==web",
        "spec.nodeName=",
        "status.phase!=Pending",
        "spec.priority=7",
        "spec.nodeName=,metadata.name=web,status.phase!=Failed",
    ],
)
def test_an_object_is_selected_when_all_fields_compare(text: str) -> None:
    assert parse_fields(text).matches(POD)


@pytest.mark.parametrize("text", ["metadata.name=db", "status.phase!=Running", "spec.nodeName=n1"])
def test_an_object_is_not_selected_when_a_field_differs(text: str) -> None:
    assert not parse_fields(text).matches(POD)


def test_an_absent_switch_reads_as_false() -> None:
    assert parse_fields("spec.unschedulable=false").matches({"spec": {}})
    assert parse_fields("spec.unschedulable=true").matches({"spec": {"unschedulable": True}})


def test_a_comma_in_a_value_is_escaped() -> None:
    selector = parse_fields(r"reason=a\,b\=c\\")
    assert selector.matches({"reason": "a,b=c\\"})
    assert str(selector) == r"reason=a\,b\=c\\"


def test_a_store_can_require_a_value() -> None:
    selector = parse_fields("status.phase!=Failed,spec.nodeName=n1")
    assert selector.required("spec.nodeName") == "n1"
    assert selector.required("status.phase") is None


@pytest.mark.parametrize("text", ["x", "=x", "a=b=c", "a=b,,c=d", "a>1", r"a=\x"])
def test_a_text_that_is_no_field_selector_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"such as spec\.nodeName="):
        parse_fields(text)
