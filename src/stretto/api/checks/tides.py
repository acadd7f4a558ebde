"""Validation of TideNodePools, and the settings in their annotations."""

from collections.abc import Mapping
from math import ceil, floor
from typing import Final

import msgspec

from stretto.api.checks import pod, rules
from stretto.api.types.capacity.tides import TideLabel, TideNodePool, TideTaint
from stretto.api.wire import names
from stretto.base.errors import InputError

HOLD_SECONDS: Final = "tide.stretto.dev/hold-seconds"
"""Annotation of a pool: seconds that a node without online pods stays online."""
MOST_SWITCHING: Final = "tide.stretto.dev/max-switching"
"""Annotation of a pool: maximum nodes that switch at once, as a number or a percentage."""
WATERMARK: Final = "watermark"
"""Name of the only eviction strategy."""
_DAY_S: Final = 86_400
_COUNT: Final = "a number of nodes, or 0% to 100%"


class TideSettings(msgspec.Struct, frozen=True):
    """Settings in the annotations of a pool."""

    #: Seconds that a node without online pods stays online.
    hold_s: int = 600
    #: Maximum nodes that switch at once, as a number or a percentage of the nodes that switch.
    most_switching: int | str = "10%"


def check_tide_node_pool(pool: TideNodePool, where: str) -> None:
    """Validate a TideNodePool: metadata, selector, labels, taints, reserve and settings."""
    rules.metadata(pool.metadata, where, namespaced=False)
    configs, path = pool.spec.node_configs, f"{where}spec.nodeConfigs"
    rules.labels(configs.node_selector, f"{path}.nodeSelector")
    _label(configs.online_label, f"{path}.onlineLabel")
    _label(configs.offline_label, f"{path}.offlineLabel")
    _label(configs.tide_label, f"{path}.tideLabel")
    if configs.online_label is not None and configs.online_label == configs.offline_label:
        found = f"{configs.online_label.key}={configs.online_label.value}"
        raise InputError(f"{path}.offlineLabel", found, "another label than onlineLabel")
    count_of(configs.reserve.online, 100, f"{path}.reserve.online")
    count_of(configs.reserve.offline, 100, f"{path}.reserve.offline")
    strategy, path = pool.spec.evict_strategy, f"{where}spec.evictStrategy"
    rules.one_of(strategy.type, ("", WATERMARK), f"{path}.type")
    _taint(strategy.watermark.evict_online_pod_taint, f"{path}.watermark.evictOnlinePodTaint")
    _taint(strategy.watermark.evict_offline_pod_taint, f"{path}.watermark.evictOfflinePodTaint")
    tide_settings(pool.metadata.annotations, f"{where}metadata.annotations")


def tide_settings(annotations: Mapping[str, str], where: str) -> TideSettings:
    """The settings in the annotations of a pool.

    Raises:
        InputError: a value is malformed; the message contains the annotation.
    """
    found = TideSettings()
    hold, most = annotations.get(HOLD_SECONDS), annotations.get(MOST_SWITCHING)
    if hold is not None:
        if not (hold.isascii() and hold.isdigit() and int(hold) <= _DAY_S):
            raise InputError(f"{where}.{HOLD_SECONDS}", hold, f"whole seconds, 0 to {_DAY_S}")
        found = msgspec.structs.replace(found, hold_s=int(hold))
    if most is not None:
        value = int(most) if most.isascii() and most.isdigit() else most
        count_of(value, 100, f"{where}.{MOST_SWITCHING}")
        found = msgspec.structs.replace(found, most_switching=value)
    return found


def count_of(value: int | str, whole: int, where: str, *, up: bool = False) -> int:
    """Resolve a number of nodes, or a percentage of ``whole``, rounded down or up.

    Raises:
        InputError: the value is negative, or not a percentage from 0 % to 100 %.
    """
    if isinstance(value, int):
        rules.within(value, 0, rules.INT32_MAX, where)
        return value
    digits = value.removesuffix("%")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 3
    if digits == value or not is_number or int(digits) > 100:
        raise InputError(where, value, _COUNT)
    share = int(digits) * whole / 100
    return ceil(share) if up else floor(share)


def _label(label: TideLabel | None, path: str) -> None:
    if label is not None:
        names.label_key(label.key, f"{path}.key")
        names.label_value(label.value, f"{path}.value")


def _taint(taint: TideTaint | None, path: str) -> None:
    if taint is not None:
        names.label_key(taint.key, f"{path}.key")
        names.label_value(taint.value, f"{path}.value")
        rules.one_of(taint.effect, ("", *pod.EFFECTS), f"{path}.effect")
