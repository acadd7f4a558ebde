"""Conditions of objects: one per type; lastTransitionTime changes only with the status."""

from collections.abc import Iterable

from stretto.reconcile.cache import Fields


def condition_of(conditions: Iterable[Fields], kind: str) -> Fields | None:
    """Return the condition of a type; ``None`` if there is none."""
    return next((each for each in conditions if each.get("type") == kind), None)


def true_condition(conditions: Iterable[Fields] | None, *kinds: str) -> Fields | None:
    """Return the first condition of some types whose status is True; ``None`` if there is none."""
    for each in conditions or ():
        if each.get("type") in kinds and each.get("status") == "True":
            return each
    return None


def transition_time(old: Fields | None, status: str, now: str) -> str:
    """Return ``lastTransitionTime`` of a condition with a new status.

    Args:
        old: the previous condition; ``None`` if there is none.
        status: the new status.
        now: RFC 3339 time.
    """
    if old is None or old.get("status") != status:
        return now
    return str(old.get("lastTransitionTime") or now)


def with_condition(conditions: Iterable[Fields] | None, new: Fields, now: str) -> list[Fields]:
    """Return the conditions with one of them set; a new type is appended.

    Args:
        conditions: the previous conditions; ``None`` for none.
        new: the condition; its ``lastTransitionTime`` is set here.
        now: RFC 3339 time.
    """
    after = list(conditions or ())
    kinds = [each.get("type") for each in after]
    at = kinds.index(new["type"]) if new["type"] in kinds else len(after)
    old = after[at] if at < len(after) else None
    since = transition_time(old, new["status"], now)
    after[at : at + 1] = [{**new, "lastTransitionTime": since}]
    return after
