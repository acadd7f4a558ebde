"""32-bit Fowler-Noll-Vo hashes, which break ties as in KubeAdmiral and Karmada.

FNV-1 multiplies before it mixes in a byte, FNV-1a afterwards
(https://datatracker.ietf.org/doc/html/draft-eastlake-fnv).
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF
_FEW: Final = 16
"""Number of texts up to which they are hashed one by one, because columns cost more."""

HashColumn: TypeAlias = NDArray[np.uint32]
"""One hash for each text."""


def fnv1(text: str) -> int:
    """FNV-1 of the UTF-8 bytes of ``text``: KubeAdmiral's hash of cluster and workload."""
    found = _OFFSET
    for byte in text.encode():
        found = (found * _PRIME & _MASK) ^ byte
    return found


def fnv1a(text: str) -> int:
    """FNV-1a of the UTF-8 bytes of ``text``: Karmada's hash of a workload's uid."""
    return _fnv1a(_OFFSET, text.encode())


def fnv1a_each(hashes: HashColumn, text: str) -> HashColumn:
    """FNV-1a of many texts with the same suffix, from the hashes of their prefixes."""
    if len(hashes) > _FEW:
        found, prime = hashes.copy(), np.uint32(_PRIME)
        for byte in text.encode():
            found ^= np.uint32(byte)
            found *= prime
        return found
    return np.array([_fnv1a(each, text.encode()) for each in hashes.tolist()], np.uint32)


def _fnv1a(found: int, text: bytes) -> int:
    for byte in text:
        found = (found ^ byte) * _PRIME & _MASK
    return found
