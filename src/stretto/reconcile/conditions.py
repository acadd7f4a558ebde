"""Conditions of objects: one of a type, and a time of transition that stays with the status."""

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
