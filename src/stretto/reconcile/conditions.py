"""Conditions of objects: one of each type; its time of transition stays while its status stays."""

from collections.abc import Iterable

from stretto.reconcile.cache import Fields


def condition_of(conditions: Iterable[Fields], kind: str) -> Fields | None:
    """The condition of a type; ``None`` if there is none."""
    return next((each for each in conditions if each.get("type") == kind), None)


def transition_time(old: Fields | None, status: str, now: str) -> str:
    """``lastTransitionTime`` of a condition with a status.

    Args:
        old: the condition so far; ``None`` if there is none.
        status: its status from now on.
        now: RFC 3339 time.
    """
    if old is None or old.get("status") != status:
        return now
    return str(old.get("lastTransitionTime") or now)


def with_condition(conditions: Iterable[Fields] | None, new: Fields, now: str) -> list[Fields]:
    """Conditions with one set: in the place of the one with its type, or as the last one.

    Args:
        conditions: the conditions so far; ``None`` for none.
        new: the condition; its time of transition is set here.
        now: RFC 3339 time.
    """
    after = list(conditions or ())
    kinds = [each.get("type") for each in after]
    at = kinds.index(new["type"]) if new["type"] in kinds else len(after)
    old = after[at] if at < len(after) else None
    since = transition_time(old, new["status"], now)
    after[at : at + 1] = [{**new, "lastTransitionTime": since}]
    return after
