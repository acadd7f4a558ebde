"""Which taints a pod bears: Kubernetes' rule for a toleration and a taint, and a canonical form.

Here, because several rules ask: taints themselves, cordons (a cordon counts as a taint), and the
spreading that leaves tainted nodes out.
"""

from collections.abc import Collection, Iterable
from typing import Final

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire.selectors import integer

NO_SCHEDULE: Final = "NoSchedule"
"""Effect: no new pods."""
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
"""Effect: new pods only where there is no better place."""
NO_EXECUTE: Final = "NoExecute"
"""Effect: no new pods, and running ones leave."""

TolerationKey = tuple[str, str, str, str]
"""(key, operator, value, effect) of a toleration, defaults filled in."""


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = True) -> bool:
    """Whether one toleration bears one taint; empty key or effect stand for every one.

    ``compares`` says whether Gt and Lt are known.
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


def all_tolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str]
) -> bool:
    """Whether every taint with one of these effects is borne."""
    return untolerated(taints, tolerations, effects) == 0


def untolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str]
) -> int:
    """How many taints with one of these effects are not borne."""
    return sum(
        taint.effect in effects and not any(tolerates(each, taint) for each in tolerations)
        for taint in taints
    )


def toleration_keys(
    tolerations: Iterable[Toleration], effects: Collection[str]
) -> tuple[TolerationKey, ...]:
    """What matters of tolerations for taints with these effects: sorted, doubles removed."""
    keys = {
        (each.key, each.operator or "Equal", each.value, each.effect)
        for each in tolerations
        if not each.effect or each.effect in effects
    }
    return tuple(sorted(keys))


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Gt and Lt: whether the taint's integer lies on the borne side of the toleration's."""
    mine, limit = _plain_integer(taint.value), _plain_integer(toleration.value)
    if mine is None or limit is None:
        return False
    if toleration.operator == "Gt":
        return mine > limit
    return toleration.operator == "Lt" and mine < limit


def _plain_integer(text: str) -> int | None:
    """An integer in its plain form: Kubernetes takes neither ``007`` nor ``+7`` here."""
    number = integer(text)
    return number if number is not None and str(number) == text else None
