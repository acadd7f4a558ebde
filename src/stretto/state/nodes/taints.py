"""Toleration of taints: Kubernetes' matching rule, and a canonical form of tolerations.

Several rules use it: taints themselves, cordons (a cordon counts as a taint), and topology spread
that excludes tainted nodes.
"""

from collections.abc import Collection, Iterable
from typing import Final

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire.selectors import integer

NO_SCHEDULE: Final = "NoSchedule"
"""Effect that excludes new pods."""
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
"""Effect that allows new pods only if no better node exists."""
NO_EXECUTE: Final = "NoExecute"
"""Effect that excludes new pods and evicts running ones."""

TolerationKey = tuple[str, str, str, str]
"""(key, operator, value, effect) of a toleration, with defaults filled in."""


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = True) -> bool:
    """Return whether a toleration matches a taint.

    An empty key or effect matches every key or effect.

    ``compares`` enables Gt and Lt.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator == "Exists":
        return True
    return compares and _compares(toleration, taint)


def untolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str]
) -> int:
    """Number of taints with one of these effects that are not tolerated."""
    return sum(
        taint.effect in effects and not any(tolerates(each, taint) for each in tolerations)
        for taint in taints
    )


def toleration_keys(
    tolerations: Iterable[Toleration], effects: Collection[str]
) -> tuple[TolerationKey, ...]:
    """The tolerations relevant to taints with these effects: sorted, without duplicates."""
    keys = {
        (each.key, each.operator or "Equal", each.value, each.effect)
        for each in tolerations
        if not each.effect or each.effect in effects
    }
    return tuple(sorted(keys))


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the taint's integer satisfies the toleration's comparison (Gt or Lt)."""
    mine, limit = _plain_integer(taint.value), _plain_integer(toleration.value)
    if mine is None or limit is None:
        return False
    if toleration.operator == "Gt":
        return mine > limit
    return toleration.operator == "Lt" and mine < limit


def _plain_integer(text: str) -> int | None:
    """An integer in its canonical form: Kubernetes accepts neither ``007`` nor ``+7`` here."""
    number = integer(text)
    return number if number is not None and str(number) == text else None
