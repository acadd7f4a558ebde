"""Barriers before responses: a client learns only of writes that are durable."""

from typing import Final, Protocol


class Barrier(Protocol):
    """Makes writes durable before a client learns of them."""

    async def settled(self) -> None:
        """Wait until all previous writes are durable.

        Raises:
            StrettoError: the writes may be lost.
        """
        ...

    def settle(self) -> None:
        """Make all previous writes durable now.

        Raises:
            StrettoError: the writes may be lost.
        """
        ...


class _NoBarrier:
    """Barrier of a store whose writes are durable when they return."""

    async def settled(self) -> None:
        """Return at once."""

    def settle(self) -> None:
        """Do nothing."""


NO_BARRIER: Final[Barrier] = _NoBarrier()
"""Barrier of a store whose writes are durable when they return."""
