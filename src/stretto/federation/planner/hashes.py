"""32-bit Fowler-Noll-Vo hashes, which both originals use to break ties.

FNV-1 multiplies before it mixes in a byte, FNV-1a afterwards
(https://datatracker.ietf.org/doc/html/draft-eastlake-fnv).
"""

from typing import Final

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF


def fnv1(text: str) -> int:
    """FNV-1 of the UTF-8 bytes of ``text``: KubeAdmiral's hash of cluster and workload."""
    found = _OFFSET
    for byte in text.encode():
        found = (found * _PRIME & _MASK) ^ byte
    return found


def fnv1a(text: str) -> int:
    """FNV-1a of the UTF-8 bytes of ``text``: Karmada's hash of a workload's uid."""
    found = _OFFSET
    for byte in text.encode():
        found = (found ^ byte) * _PRIME & _MASK
    return found
