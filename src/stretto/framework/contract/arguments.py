"""Arguments of rules, read strictly: an unknown key or value is an error that names it.

Resources with weights (``resources: [{name, weight}]``) and shapes (``shape: [{utilization,
score}]``) have kube-scheduler's form.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.compiled.tables import SCORE_COLUMNS, SHAPE_POINTS

TYPE_KEYS: Final = frozenset({"apiVersion", "kind"})
"""Type fields that kube-scheduler's arguments may contain."""
MAX_RESOURCE_WEIGHT: Final = 100
"""Largest weight of a resource, as in kube-scheduler."""
MAX_SHAPE_SCORE: Final = 10
"""Largest score of a shape, as in kube-scheduler; scores are scaled to 100."""

ResourceWeights = tuple[tuple[str, int], ...]
"""(resource name, weight) pairs, in the order given."""
Shape = tuple[tuple[float, float], ...]
"""(utilisation 0..100, score 0..100) points, ascending."""

CPU_AND_MEMORY: Final[ResourceWeights] = (("cpu", 1), ("memory", 1))
"""Default resources of scores, with their weights."""


def mapping(value: Any, known: Collection[str], where: str) -> Mapping[str, Any]:
    """Check a mapping and return it; only known keys are allowed.

    Raises:
        InputError: the value is not a mapping.
        UnknownNameError: a key is unknown; the message contains the nearest name.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(where, value, "a mapping of names to values")
    for key in value:
        if key not in known:
            raise UnknownNameError(f"key in {where}", key, known)
    return value


def arguments(value: Any, known: Collection[str], name: str) -> Mapping[str, Any]:
    """Return the arguments of the rule with a name; only known keys are allowed."""
    return mapping(value, {*known, *TYPE_KEYS}, f"args of {name}")


def sequence(value: Any, where: str) -> Sequence[Any]:
    """Check a list and return it; ``None`` counts as empty."""
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise InputError(where, value, "a list")
    return value


def whole(value: Any, low: int, high: int, where: str) -> int:
    """Check a whole number from ``low`` to ``high`` and return it."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(where, value, f"a whole number from {low} to {high}")
    return value


def number(value: Any, low: float, high: float, where: str) -> float:
    """Check a number from ``low`` to ``high`` and return it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(where, value, f"a number from {low:g} to {high:g}")
    return float(value)


def one_of(value: Any, choices: Collection[str], where: str) -> str:
    """Check that a value is one of some words and return it; an error contains the nearest word."""
    if not isinstance(value, str):
        raise InputError(where, value, f"one of {', '.join(sorted(choices))}")
    if value not in choices:
        raise UnknownNameError(f"value of {where}", value, choices)
    return value


def flag(value: Any, where: str) -> bool:
    """Check a boolean and return it."""
    if not isinstance(value, bool):
        raise InputError(where, value, "true or false")
    return value


def text(value: Any, where: str) -> str:
    """Check a non-empty text and return it."""
    if not isinstance(value, str) or not value:
        raise InputError(where, value, "a text that is not empty")
    return value


def resource_weights(value: Any, where: str) -> ResourceWeights:
    """Read ``[{name, weight}]``; if absent, CPU and memory with weight 1.

    A weight of 0 counts as 1.
    """
    found: dict[str, int] = {}
    for i, item in enumerate(sequence(value, where)):
        place = f"{where}[{i}]"
        entry = mapping(item, ("name", "weight"), place)
        name = text(entry.get("name"), f"{place}.name")
        if name in found:
            raise InputError(f"{place}.name", name, "each resource once")
        found[name] = whole(entry.get("weight", 1), 0, MAX_RESOURCE_WEIGHT, f"{place}.weight") or 1
    if len(found) > SCORE_COLUMNS:
        raise InputError(where, f"{len(found)} resources", f"at most {SCORE_COLUMNS}")
    return tuple(found.items()) or CPU_AND_MEMORY


def shape(value: Any, where: str) -> Shape:
    """Read ``[{utilization, score}]`` with ascending utilisation.

    Scores 0..10 are scaled to 0..100.
    """
    points: list[tuple[float, float]] = []
    for i, item in enumerate(sequence(value, where)):
        place = f"{where}[{i}]"
        entry = mapping(item, ("utilization", "score"), place)
        x = whole(entry.get("utilization"), 0, 100, f"{place}.utilization")
        y = whole(entry.get("score"), 0, MAX_SHAPE_SCORE, f"{place}.score")
        if points and x <= points[-1][0]:
            raise InputError(f"{place}.utilization", x, f"more than the {points[-1][0]:g} before")
        points.append((float(x), y * 100.0 / MAX_SHAPE_SCORE))
    if not 1 <= len(points) <= SHAPE_POINTS:
        raise InputError(where, f"{len(points)} points", f"1 to {SHAPE_POINTS} points")
    return tuple(points)
