"""TideNodePools: Katalyst's manifests are accepted, and each wrong field is named."""

from typing import Any

import msgspec
import pytest

from stretto.api.checks.tides import count_of
from stretto.api.codec import decode
from stretto.api.types.capacity.tides import TideNodePool
from stretto.api.validation import validate
from stretto.api.wire.kinds import TIDE_NODE_POOL
from stretto.base.errors import InputError

CONFIGS: dict[str, Any] = {
    "nodeSelector": {"pool": "t"},
    "onlineLabel": {"key": "example.com/side", "value": "day"},
    "offlineLabel": {"key": "example.com/side", "value": "night"},
    "tideLabel": {"key": "example.com/tide", "value": "true"},
    "reserve": {"online": 2, "offline": "25%"},
}
TAINT = {"key": "example.com/day", "value": "true", "effect": "NoExecute"}
MARKS = {"evictOnlinePodTaint": TAINT, "evictOfflinePodTaint": {"key": "example.com/night"}}


def pool(
    configs: dict[str, Any], strategy: dict[str, Any] | None = None, **annotations: str
) -> TideNodePool:
    notes = {f"tide.stretto.dev/{key.replace('_', '-')}": each for key, each in annotations.items()}
    spec = {"nodeConfigs": configs, "evictStrategy": strategy or {"type": "watermark"}}
    body = {"metadata": {"name": "t", "annotations": notes}, "spec": spec}
    found = decode(TIDE_NODE_POOL, msgspec.json.encode(body))
    validate(found)
    assert isinstance(found, TideNodePool)
    return found


def test_every_field_of_katalyst_is_read() -> None:
    found = pool(CONFIGS, {"type": "watermark", "watermark": MARKS})
    assert found.spec.node_configs.reserve.offline == "25%"
    assert msgspec.to_builtins(found)["spec"]["nodeConfigs"] == CONFIGS


def test_a_pool_with_a_selector_alone_is_complete() -> None:
    assert pool({"nodeSelector": {"pool": "t"}}).spec.node_configs.reserve.online == 0


@pytest.mark.parametrize(
    ("configs", "where"),
    [
        ({"reserve": {"online": -1}}, "reserve.online"),
        ({"reserve": {"offline": "101%"}}, "reserve.offline"),
        ({"reserve": {"online": "half"}}, "reserve.online"),
        ({"nodeSelector": {"a b": "c"}}, "nodeSelector"),
        ({"tideLabel": {"key": "/", "value": "x"}}, "tideLabel.key"),
        ({"onlineLabel": {"key": "a", "value": "-"}}, "onlineLabel.value"),
        ({**CONFIGS, "offlineLabel": CONFIGS["onlineLabel"]}, "offlineLabel"),
    ],
)
def test_a_wrong_field_of_the_nodes_is_named(configs: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        pool(configs)


@pytest.mark.parametrize(
    ("strategy", "where"),
    [
        ({"type": "flood"}, "evictStrategy.type"),
        ({"watermark": {"evictOnlinePodTaint": {"key": "a", "effect": "Evict"}}}, "effect"),
        ({"watermark": {"evictOfflinePodTaint": {"key": "a b"}}}, "evictOfflinePodTaint.key"),
    ],
)
def test_a_wrong_field_of_the_strategy_is_named(strategy: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        pool({}, strategy)


@pytest.mark.parametrize(
    "notes", [{"hold_seconds": "soon"}, {"hold_seconds": "-5"}, {"max_switching": "120%"}]
)
def test_a_wrong_setting_is_named(notes: dict[str, str]) -> None:
    (name,) = notes
    with pytest.raises(InputError, match=name.replace("_", "-")):
        pool({}, **notes)


@pytest.mark.parametrize(
    ("share", "up", "count"), [("25%", True, 3), ("25%", False, 2), (4, True, 4), ("0%", True, 0)]
)
def test_a_percentage_is_rounded_as_in_katalyst(share: int | str, up: bool, count: int) -> None:
    assert count_of(share, 10, "reserve", up=up) == count
