"""One part of the objects of a kind: those whose hash, modulo the number of parts, is its index.

The hashed text of an object is the value of a label. An object without this label has the text of
its namespace, and a cluster-scoped object the text of its name, so that each object is in exactly
one part. Without a label key, all objects of a namespace are in one part, which never changes.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

import msgspec

_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_END: Final = 1 << 64
"""The first number beyond the hashes."""
_KNOWN_HASHES: Final = 1 << 17
"""Number of cached hashes: each shard of a large list needs them again."""


class ShardHash(Enum):
    """Hash functions of shards; each is applied to UTF-8."""

    #: CRC-32 of IEEE 802.3.
    CRC32 = "crc32"
    #: FNV-1a with 64 bits.
    FNV1A = "fnv1a"


@lru_cache(maxsize=_KNOWN_HASHES)
def fnv1a(text: str) -> int:
    """The FNV-1a hash of a text, with 64 bits."""
    found = _BASIS
    for each in text.encode():
        found = (found ^ each) * _PRIME % _END
    return found


_FUNCTIONS: Final[Mapping[ShardHash, Callable[[str], int]]] = {
    ShardHash.CRC32: lambda text: crc32(text.encode()),
    ShardHash.FNV1A: fnv1a,
}


class _LabelledMeta(msgspec.Struct, frozen=True, gc=False):
    """The labels of an object; their types are not checked."""

    labels: Any = None


class _LabelledObject(msgspec.Struct, frozen=True, gc=False):
    """An object of which only the labels are decoded."""

    metadata: _LabelledMeta


_LABELLED: Final = msgspec.json.Decoder(_LabelledObject)


class ObjectShard(msgspec.Struct, frozen=True, gc=False):
    """One of several equal parts of the objects of a kind."""

    #: Number of parts.
    count: int
    #: Number of this part, from 0.
    index: int
    #: Key of the label whose value is hashed; empty: the namespace or the name is hashed.
    label: str = ""
    #: The hash function.
    function: ShardHash = ShardHash.CRC32

    def holds(self, namespace: str, name: str, body: bytes | msgspec.Raw = b"") -> bool:
        """Return whether an object is in this part.

        Args:
            namespace: its namespace; empty for a cluster-scoped object.
            name: its name.
            body: its JSON; only read if the part depends on a label.
        """
        text = self._label_of(body) if self.label else None
        found = _FUNCTIONS[self.function](namespace or name if text is None else text)
        return found % self.count == self.index

    def holds_labels(self, namespace: str, name: str, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels is in this part."""
        text = (labels or {}).get(self.label) if self.label else None
        found = _FUNCTIONS[self.function](namespace or name if text is None else text)
        return found % self.count == self.index

    def query(self) -> dict[str, str]:
        """The list options that select this part on a server."""
        found = {
            "shardingCount": str(self.count),
            "shardingIndex": str(self.index),
            "hashFunction": self.function.value,
        }
        return found | ({"shardingLabelKey": self.label} if self.label else {})

    def _label_of(self, body: bytes | msgspec.Raw) -> str | None:
        """The value of the label in an object; ``None`` without it."""
        try:
            labels = _LABELLED.decode(body).metadata.labels
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None  # an unreadable body must not hide other objects
        value = labels.get(self.label) if isinstance(labels, dict) else None
        return value if isinstance(value, str) else None
