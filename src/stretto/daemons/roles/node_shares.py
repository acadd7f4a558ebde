"""The shard of each node, from node annotations in the watch."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.handover_annotations import OWNER
from stretto.api.types.heads import decode_object_head
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.slots import BLOCK
from stretto.stores.store import EventType, Record, WatchEvent

_MARK: Final = OWNER.encode()
_NOTES: Final = msgspec.json.Decoder(dict[str, str] | None)


class NodeOwners:
    """The shard of each node with a shard annotation."""

    def __init__(self) -> None:
        """Create the index without nodes."""
        #: Shard by node name.
        self.by_node: dict[str, str] = {}
        #: Number of changes.
        self.version = 0

    def begin(self, records: Iterable[Record]) -> None:
        """Start from a list of all nodes."""
        self.by_node.clear()
        self.version += 1
        for record in records:
            self.put(record.name, _owner(record))

    def noted(self, events: Sequence[WatchEvent]) -> Sequence[WatchEvent]:
        """Record changes and return the events unchanged."""
        for event in events:
            gone = event.type is EventType.DELETED
            self.put(event.record.name, "" if gone else _owner(event.record))
        return events

    def put(self, node: str, shard: str) -> None:
        """Set the shard of a node; empty for none."""
        if self.by_node.get(node, "") == shard:
            return
        self.version += 1
        if shard:
            self.by_node[node] = shard
        else:
            del self.by_node[node]

    def blocks_of(self, shard: str, cluster: Cluster) -> npt.NDArray[np.bool_]:
        """bool[block]: True if most nodes of the block are in the share of a shard."""
        balance: npt.NDArray[np.int64] = np.zeros(cluster.ledger.slots.blocks, np.int64)
        for name, slot in cluster.nodes.by_name.items():
            balance[slot // BLOCK] += 1 if self.by_node.get(name) == shard else -1
        mine: npt.NDArray[np.bool_] = balance > 0
        return mine


def _owner(record: Record) -> str:
    if _MARK not in record.body:
        return ""
    try:
        notes: dict[str, str] | None = _NOTES.decode(
            decode_object_head(record.body).metadata.annotations
        )
    except (InputError, msgspec.DecodeError):
        return ""
    return (notes or {}).get(OWNER, "")
