"""Conditions of objects: the time of a transition is kept while the status stays."""

from stretto.reconcile.cache import Fields


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
