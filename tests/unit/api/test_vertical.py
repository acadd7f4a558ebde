"""VerticalPodAutoscalers: unknown fields are accepted, and each wrong field is named."""

from typing import Any

import msgspec
import pytest

from stretto.api.codec import decode
from stretto.api.types.capacity.vertical import VerticalPodAutoscaler, VerticalUpdateMode
from stretto.api.validation import validate
from stretto.api.wire.kinds import VERTICAL_POD_AUTOSCALER
from stretto.base.errors import InputError

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def autoscaler(**spec: Any) -> VerticalPodAutoscaler:
    body = {"metadata": {"name": "web"}, "spec": {"targetRef": TARGET, **spec}}
    found = decode(VERTICAL_POD_AUTOSCALER, msgspec.json.encode(body))
    validate(found)
    assert isinstance(found, VerticalPodAutoscaler)
    return found


def policies(*each: dict[str, Any]) -> dict[str, Any]:
    return {"resourcePolicy": {"containerPolicies": each}}


def test_the_mode_without_a_policy_is_that_of_kubernetes() -> None:
    assert autoscaler().mode is VerticalUpdateMode.RECREATE
    assert autoscaler(updatePolicy={"updateMode": "Off"}).mode is VerticalUpdateMode.OFF


def test_fields_without_a_reader_are_accepted() -> None:
    found = autoscaler(updatePolicy={"updateMode": "Initial", "minReplicas": 2}, startupBoost={})
    assert found.mode is VerticalUpdateMode.INITIAL


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"targetRef": {"name": "web"}}, "kind"),
        ({"targetRef": {**TARGET, "name": "Web"}}, "spec.targetRef.name"),
        ({"updatePolicy": {"updateMode": False}}, "updateMode"),
        ({"recommenders": [{"name": "a"}, {"name": "b"}]}, "at most one recommender"),
        (policies({"minAllowed": {"cpu": "2"}, "maxAllowed": {"cpu": "1"}}), "maxAllowed.cpu, 1"),
        (policies({"minAllowed": {"cpu": "much"}}), "minAllowed"),
        (policies({"controlledResources": ["gpu"]}), "one of cpu, memory"),
        (policies({}, {}), "remove one of the two"),
        (policies({"containerName": "A B"}), "containerName"),
    ],
)
def test_a_wrong_field_is_named(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        autoscaler(**spec)
