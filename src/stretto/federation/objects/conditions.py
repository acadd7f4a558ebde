"""The conditions of a federated object, each in its place."""

from collections.abc import Iterable

from stretto.federation.problems import ObjectCondition
from stretto.reconcile.cache import Fields
from stretto.reconcile.conditions import transition_time


def with_conditions(
    present: Iterable[Fields], changes: Iterable[ObjectCondition], now: str
) -> list[Fields] | None:
    """All conditions after some changes; ``None`` if nothing changes.

    A condition that is true appears only if it was false before.

    Args:
        present: the conditions now.
        changes: conditions to set.
        now: time of transitions.
    """
    before = list(present)
    made = {str(each.get("type")): each for each in before}
    for change in changes:
        old = made.get(change.type)
        if old is not None or change.reason:
            made[change.type] = _condition(change, old, now)
    after = list(made.values())
    return after if after != before else None


def _condition(change: ObjectCondition, old: Fields | None, now: str) -> Fields:
    status = "False" if change.reason else "True"
    since = transition_time(old, status, now)
    made: Fields = {"type": change.type, "status": status, "lastTransitionTime": since}
    if change.reason:
        made |= {"reason": change.reason, "message": change.message}
    return made
