"""Conditions of a federated object; the order of the list is stable."""

from collections.abc import Iterable

from stretto.federation.problems import ObjectCondition
from stretto.reconcile.cache import Fields
from stretto.reconcile.conditions import condition_of, with_condition


def with_conditions(
    present: Iterable[Fields], changes: Iterable[ObjectCondition], now: str
) -> list[Fields] | None:
    """All conditions after some changes; ``None`` if nothing changes.

    A condition with status ``True`` is added only if it was ``False`` before.

    Args:
        present: the present conditions.
        changes: conditions to set.
        now: time of transitions.
    """
    before = after = list(present)
    for change in changes:
        if change.reason or condition_of(after, change.type) is not None:
            after = with_condition(after, _condition(change), now)
    return after if after != before else None


def _condition(change: ObjectCondition) -> Fields:
    if not change.reason:
        return {"type": change.type, "status": "True"}
    reason = {"reason": change.reason, "message": change.message}
    return {"type": change.type, "status": "False", **reason}
