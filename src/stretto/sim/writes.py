"""Writes of simulations and scenarios: in parts, with checks of the store's replies."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError, InvariantBrokenError, UnreachableError
from stretto.stores.store import Replies, StatusReason, Store, WriteOutcome

AT_ONCE: Final = 4096
"""Number of objects written in one call."""


T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield consecutive parts of a sequence with at most ``size`` items each.

    >>> list(batches("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for low in range(0, len(items), size):
        yield items[low : low + size]


def create_in_parts(store: Store, kind: Kind, bodies: Sequence[bytes]) -> Iterator[None]:
    """Create objects in a memory store; yields after each part.

    Raises:
        InvariantBrokenError: a write failed, which is a bug.
    """
    for part in batches(bodies, AT_ONCE):
        require_accepted(store.create(kind, part))
        yield


def create_all(store: Store, kind: Kind, bodies: Sequence[bytes]) -> None:
    """Create objects in a memory store.

    Raises:
        InvariantBrokenError: a write failed, which is a bug.
    """
    for _ in create_in_parts(store, kind, bodies):
        pass


def parts_by_kind(
    objects: Iterable[tuple[Kind, bytes]], size: int = AT_ONCE
) -> Iterator[tuple[Kind, Sequence[bytes]]]:
    """Yield objects in parts of one kind, the kinds in the order of first occurrence."""
    by_kind: dict[Kind, list[bytes]] = {}
    for kind, body in objects:
        by_kind.setdefault(kind, []).append(body)
    for kind, bodies in by_kind.items():
        for part in batches(bodies, size):
            yield kind, part


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
