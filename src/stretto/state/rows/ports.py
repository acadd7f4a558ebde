"""Host ports in use, as bits.

Each distinct (host IP, protocol, port) that a pod requests has a bit; a slot's used bits are a row
of 64-bit words. The conflict mask of a pod has its own bits, every bit of the same port if the pod
requests all addresses, and otherwise the all-addresses bit of the same port.

Numbers may be reserved on a slot for users other than pods: every known port with such a number is
in use there, for any address and protocol.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stretto.api.types.effective_requests import HostPort

PortRanges: TypeAlias = Sequence[tuple[int, int]]
"""Inclusive (first, last) pairs of port numbers."""


class HostPorts:
    """Used host ports of all slots, with counts for ports that several pods share."""

    def __init__(self) -> None:
        """Start without slots and ports."""
        #: uint64[slot, word]: bits of the ports in use.
        self.used: npt.NDArray[np.uint64] = np.zeros((0, 1), np.uint64)
        self._bits: dict[HostPort, int] = {}
        self._by_port: dict[tuple[str, int], list[HostPort]] = {}
        self._shared: dict[tuple[int, int], int] = {}
        self._reserved: dict[int, PortRanges] = {}

    @property
    def words(self) -> int:
        """Number of words per slot."""
        return int(self.used.shape[1])

    @property
    def known(self) -> int:
        """Number of distinct ports seen; after it rises, existing masks may be too narrow."""
        return len(self._bits)

    def grow(self, size: int) -> None:
        """Grow the column to ``size`` slots."""
        missing = size - len(self.used)
        if missing > 0:
            self.used = np.vstack([self.used, np.zeros((missing, self.words), np.uint64)])

    def clear(self, slot: int) -> None:
        """Clear the ports of a slot."""
        self.used[slot] = 0
        self._reserved.pop(slot, None)
        for key in [key for key in self._shared if key[0] == slot]:
            del self._shared[key]

    def learn(self, ports: Iterable[HostPort]) -> list[int]:
        """Assign a bit to each new port; returns the slots on which new ports are reserved."""
        new = []
        for port in ports:
            if port not in self._bits:
                self._bits[port] = len(self._bits)
                self._by_port.setdefault((port.protocol, port.port), []).append(port)
                new.append(port)
        words = -(-max(1, len(self._bits)) // 64)
        if words > self.words:
            more = np.zeros((len(self.used), words - self.words), np.uint64)
            self.used = np.hstack([self.used, more])
        return [slot for slot in self._reserved if new and self._take_reserved(slot, new)]

    # ------------------------------------------------------------ reserved numbers

    def reserve(self, slot: int, ranges: PortRanges) -> None:
        """Reserve numbers on a slot; they replace the numbers reserved before."""
        self.release(slot, self.reserved_on(slot))
        self._reserved.pop(slot, None)
        if ranges:
            self._reserved[slot] = ranges
            self._take_reserved(slot, self._bits)

    def reserved_on(self, slot: int) -> list[HostPort]:
        """The known ports whose numbers are reserved on a slot."""
        ranges = self._reserved.get(slot, ())
        return [port for port in self._bits if _covers(ranges, port.port)] if ranges else []

    def numbers_on(self, slot: int, within: PortRanges) -> set[int]:
        """Numbers in these ranges that are in use on a slot, by pods or reserved."""
        used = self.used.item
        return {
            port.port
            for port, bit in self._bits.items()
            if _covers(within, port.port) and used(slot, bit >> 6) >> (bit & 63) & 1
        }

    def would_be_free(self, slot: int, ports: Iterable[HostPort]) -> bool:
        """Return whether only reserved numbers conflict with these ports on a slot."""
        reserved = [
            port for port in self.reserved_on(slot) if (slot, self._bits[port]) not in self._shared
        ]
        self.release(slot, reserved)
        try:
            return self.free_on(slot, ports)
        finally:
            self.take(slot, reserved)

    def is_contended(self, slot: int) -> bool:
        """Return whether a pod uses a number that is reserved on its slot."""
        return any((slot, self._bits[port]) in self._shared for port in self.reserved_on(slot))

    def _take_reserved(self, slot: int, ports: Iterable[HostPort]) -> list[HostPort]:
        ranges = self._reserved[slot]
        chosen = [port for port in ports if _covers(ranges, port.port)]
        self.take(slot, chosen)
        return chosen

    # ------------------------------------------------------------ pods

    def conflict_mask(self, ports: Iterable[HostPort]) -> npt.NDArray[np.uint64]:
        """uint64[word]: the bits that must be clear for these ports to be free."""
        mask = np.zeros(self.words, np.uint64)
        for port in ports:
            for other in self._by_port.get((port.protocol, port.port), ()):
                if port.conflicts(other):
                    bit = self._bits[other]
                    mask[bit // 64] |= np.uint64(1 << (bit % 64))
        return mask

    def own_mask(self, ports: Iterable[HostPort]) -> npt.NDArray[np.uint64]:
        """uint64[word]: the bits that these ports set."""
        mask = np.zeros(self.words, np.uint64)
        for port in ports:
            bit = self._bits[port]
            mask[bit // 64] |= np.uint64(1 << (bit % 64))
        return mask

    def take(self, slot: int, ports: Iterable[HostPort]) -> None:
        """Mark ports as used; a port that other pods already use is counted."""
        for port in ports:
            word, bit = divmod(self._bits[port], 64)
            used, flag = int(self.used.item(slot, word)), 1 << bit
            if used & flag:
                key = (slot, self._bits[port])
                self._shared[key] = self._shared.get(key, 1) + 1
            else:
                self.used[slot, word] = used | flag

    def release(self, slot: int, ports: Iterable[HostPort]) -> None:
        """Release ports; a port that several pods use stays in use until the last release."""
        for port in ports:
            word, bit = divmod(self._bits[port], 64)
            key = (slot, self._bits[port])
            count = self._shared.pop(key, 1) - 1
            if count > 1:
                self._shared[key] = count
            if count == 0:
                self.used[slot, word] &= ~np.uint64(1 << bit)

    def free_on(self, slot: int, ports: Iterable[HostPort]) -> bool:
        """Return whether none of these ports conflicts with a used port of the slot."""
        used, bits = self.used.item, self._bits
        for port in ports:
            for other in self._by_port.get((port.protocol, port.port), ()):
                bit = bits[other]
                if used(slot, bit >> 6) >> (bit & 63) & 1 and port.conflicts(other):
                    return False
        return True


def _covers(ranges: PortRanges, number: int) -> bool:
    return any(first <= number <= last for first, last in ranges)
