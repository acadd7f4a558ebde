"""Checks of a store's replies to the writes of simulations and scenarios."""

from stretto.base.errors import InputError, InvariantBrokenError, UnreachableError
from stretto.stores.store import Replies, StatusReason, WriteOutcome


def require_accepted(replies: Replies) -> None:
    """Check that a memory store accepted every write.

    Raises:
        InvariantBrokenError: a write failed, which is a bug.
    """
    for reply in replies:
        if reply.outcome is not WriteOutcome.OK:
            reason = reply.message or reply.code.value
            raise InvariantBrokenError("the simulated store", reason, "report this as a bug")


def check_written(replies: Replies) -> None:
    """Check that every write succeeded, now or before an interruption.

    Raises:
        InputError: the store reports that an object is malformed.
        UnreachableError: the store did not accept a write, or its outcome is unknown.
    """
    for reply in replies:
        done = reply.code in (StatusReason.ALREADY_EXISTS, StatusReason.NOT_FOUND)
        if reply.outcome is not WriteOutcome.OK and not done:
            reason = reply.message or reply.code.value or reply.outcome.value
            if reply.code is StatusReason.INVALID:
                expected = f"objects that a store accepts ({reason})"
                raise InputError("the scenario", None, expected, "correct that object")
            hint = "correct it and start the run again: it resumes where it stopped"
            raise UnreachableError("the store", reason, hint)
