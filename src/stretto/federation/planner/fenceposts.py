"""Limits of a rolling update as numbers; percentages are resolved like in Kubernetes."""

import math
import re
from typing import Final

from stretto.base.errors import InputError

_PERCENT: Final = re.compile(r"(-?\d{1,9})%")


def resolve(max_surge: int | str, max_unavailable: int | str, replicas: int) -> tuple[int, int]:
    """Surge, rounded up, and unavailable pods, rounded down; both zero allow one unavailable pod.

    Raises:
        InputError: a text is not a percentage.
    """
    surge = math.ceil(_amount(max_surge, replicas, "maxSurge"))
    unavailable = math.floor(_amount(max_unavailable, replicas, "maxUnavailable"))
    if not surge and not unavailable:
        return 0, 1
    return max(0, surge), max(0, unavailable)


def _amount(value: int | str, replicas: int, field: str) -> float:
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        raise InputError(field, value, "a number, or a percentage such as 25%")
    return int(percent[1]) * replicas / 100
