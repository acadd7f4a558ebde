"""Mailboxes of hosts: claims that wait for the answer of a host, in the order of arrival."""

from collections import deque
from typing import NamedTuple


class HostRequest(NamedTuple):
    """A claim on its way to a host."""

    #: Position of the claim in its plan.
    claim: int
    #: Position of its unit in the plan.
    unit: int
    #: Number of hosts that have refused it before.
    rank: int = 0


class HostMailboxes:
    """One mailbox per host; a host answers one message at a time."""

    def __init__(self) -> None:
        """Start without mail."""
        self._mail: dict[int, deque[HostRequest]] = {}
        #: Hosts with mail, in the order of their turns.
        self._turns: deque[int] = deque()

    def __len__(self) -> int:
        return sum(map(len, self._mail.values()))

    def post(self, host: int, request: HostRequest) -> None:
        """Put a message at the end of a mailbox."""
        box = self._mail.get(host)
        if box is None:
            self._mail[host] = deque((request,))
            self._turns.append(host)
        else:
            box.append(request)

    def take(self) -> tuple[int, HostRequest] | None:
        """Return the oldest message of the host whose turn it is; ``None`` without mail.

        A host with more mail gets its next turn after the others, so that a full mailbox delays no
        other host.
        """
        if not self._turns:
            return None
        host = self._turns.popleft()
        box = self._mail[host]
        request = box.popleft()
        if box:
            self._turns.append(host)
        else:
            del self._mail[host]
        return host, request

    def clear(self) -> None:
        """Drop all mail, because the plans of these claims are lost."""
        self._mail.clear()
        self._turns.clear()
