"""The contract of a controller, and the results of a reconciliation."""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

import msgspec

from stretto.reconcile.cache import Change
from stretto.stores.store import Reply


class RetryError(Exception):
    """A reconciliation cannot finish now; the key is retried with back-off."""

    def __init__(self, message: str, after: float | None = None, cause: str = "") -> None:
        """Retry after a delay in seconds; ``None`` for the back-off of the loop."""
        super().__init__(message)
        #: The answer of the store without the attempted action; the message if the answer is
        #: unknown.
        self.cause = cause or message
        #: Seconds before the next attempt; ``None`` for the back-off of the loop.
        self.after = after


class Later(msgspec.Struct, frozen=True):
    """Key that becomes due after a delay."""

    #: The key.
    key: Hashable
    #: Seconds until it is due.
    delay: float


class Sweep(msgspec.Struct, frozen=True):
    """Many keys that one change makes due, such as those of all objects.

    The loop enumerates the keys once for all changes of one read. A starting controller reads every
    object and every cluster, and each cluster makes all objects due.
    """

    #: Name of the group of keys within its controller.
    name: str
    #: Enumerates the keys.
    keys: Callable[[], Iterable[Hashable]]


class Reconciler(Protocol):
    """Controller that brings objects to their desired state, one key at a time.

    A reconciler is level-triggered: a reconciliation reads the current state and assumes nothing
    about the changes before it. Therefore several changes may lead to one reconciliation.
    """

    @property
    def name(self) -> str:
        """Name in logs, metrics and messages."""
        ...

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the keys that a change makes due.

        A ``Later`` makes its key due after a delay. A ``Sweep`` stands for many keys.
        """
        ...

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bring one key to its desired state.

        Args:
            key: the key to reconcile.
            now: monotonic time in seconds.

        Returns:
            Seconds until the key is due again without a change; ``None`` for never.

        Raises:
            RetryError: the reconciliation cannot finish now.
        """
        ...


def accepted(reply: Reply, what: str) -> Reply:
    """Return a reply that is ok; otherwise cause a retry of the write.

    Raises:
        RetryError: the write was not accepted.
    """
    if reply.outcome.value != "ok":
        cause = reply.message or reply.code.value
        raise RetryError(f"{what}: {cause}", reply.retry_after, cause)
    return reply
