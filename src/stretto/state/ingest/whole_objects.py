"""Storage of whole objects, for profiles that need more than rows and columns contain.

CRDs and other objects that are neither pods nor nodes go to ``cluster.objects``. With
``ClusterConfig.whole``, whole nodes are stored there too, and each pod with a row keeps its last
record: the body is shared with the store, so a record costs a reference. An unreadable object is
recorded in ``cluster.abnormal``, counts as absent and fails alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.objects import ClusterObjects, meta_of
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

CURES: Final[Mapping[Kind, Cure]] = {
    kinds.NAMESPACE: Cure.NAMESPACE_CHANGED,
    kinds.PERSISTENT_VOLUME_CLAIM: Cure.VOLUME_CHANGED,
    kinds.PERSISTENT_VOLUME: Cure.VOLUME_CHANGED,
    kinds.STORAGE_CLASS: Cure.VOLUME_CHANGED,
    kinds.CSI_NODE: Cure.VOLUME_CHANGED,
    kinds.CSI_DRIVER: Cure.VOLUME_CHANGED,
    kinds.CSI_STORAGE_CAPACITY: Cure.VOLUME_CHANGED,
    kinds.VOLUME_ATTACHMENT: Cure.VOLUME_CHANGED,
    kinds.SERVICE: Cure.NONE,
    kinds.REPLICA_SET: Cure.NONE,
    kinds.REPLICATION_CONTROLLER: Cure.NONE,
    kinds.STATEFUL_SET: Cure.NONE,
    kinds.POD_DISRUPTION_BUDGET: Cure.POD_LEFT,
}
"""Kinds that rules read, with the cures of a change (services and owners affect only scores)."""
VOLUME_KINDS: Final = tuple(kind for kind, cure in CURES.items() if cure is Cure.VOLUME_CHANGED)
"""Kinds that volume rules read."""
OWNER_KINDS: Final = (
    kinds.SERVICE,
    kinds.REPLICA_SET,
    kinds.REPLICATION_CONTROLLER,
    kinds.STATEFUL_SET,
)
"""Kinds whose pods the default topology spread counts."""


def apply_objects(cluster: Cluster, kind: Kind, events: Iterable[WatchEvent]) -> None:
    """Apply events of one of the kinds in ``CURES``, in order."""
    for event in events:
        if event.type is not EventType.BOOKMARK:
            _apply(cluster, kind, event)


def referenced_kinds(objects: ClusterObjects, kind: Kind) -> dict[str, Record]:
    """Known records of a kind by uid, for a comparison with a fresh list."""
    found = {}
    for item in objects.of(codec.struct_of(kind)):
        meta = meta_of(item)
        version = int(meta.resource_version or 0)
        found[meta.uid] = Record(kind, meta.namespace, meta.name, meta.uid, version, b"")
    return found


def store_node(cluster: Cluster, node: Node) -> None:
    """Store a whole node, without the fields that no rule reads (conditions, addresses)."""
    meta, status = node.metadata, node.status
    stored = Node(
        msgspec.structs.replace(meta, resource_version="", managed_fields=msgspec.UNSET),
        msgspec.structs.replace(node.spec, provider_id="", pod_cidr=""),
        msgspec.structs.replace(status, conditions=(), addresses=(), capacity={}),
    )
    if cluster.objects.nodes.get(meta.name) != stored:
        cluster.objects.put(stored)


def forget_node(cluster: Cluster, name: str) -> None:
    """Remove a whole node."""
    cluster.objects.drop((Node.__name__, "", name))


def store_bodies(cluster: Cluster, events: Sequence[WatchEvent]) -> None:
    """Store the records of pods that have rows; call it after the events were applied."""
    pods, records = cluster.pods, cluster.records
    for event in events:
        record = event.record
        row = pods.row(record.uid)
        if row is None:
            records.pop(record.uid, None)
            continue
        before = records.get(record.uid)
        if event.type is EventType.DELETED or event.type is EventType.BOOKMARK:
            continue
        if before is not None and before.version >= record.version:
            continue
        records[record.uid] = record
        if before is not None and pods.slot[row] != NO_SLOT and _has_changed(before, record):
            cluster.ledger.touch([int(pods.slot[row])])
            cluster.changes.add_cures(_cures(before, record))


def _apply(cluster: Cluster, kind: Kind, event: WatchEvent) -> None:
    record, objects = event.record, cluster.objects
    identity = (codec.struct_of(kind).__name__, record.namespace, record.name)
    known = objects.find(identity)
    if known is not None and event.type is EventType.DELETED:
        if meta_of(known).uid not in ("", record.uid):
            return
    elif known is not None and int(meta_of(known).resource_version or 0) >= record.version:
        return  # our own write was applied before its watch event
    cluster.changes.add_cures(CURES[kind])
    place = f"{record.namespace}/{record.name}".lstrip("/")
    key = f"{kind.kind.lower()} {place}"
    cluster.abnormal.pop(key, None)
    if event.type is EventType.DELETED:
        objects.drop(identity)
    else:
        try:
            objects.put(read_object(kind, record))
        except InputError as error:
            objects.drop(identity)
            cluster.abnormal[key] = str(error)
    cluster.domains.object_changed(known, objects.find(identity))


def read_object(kind: Kind, record: Record) -> Wire:
    """Decode an object of a record; the record's metadata overrides the body's.

    Raises:
        InputError: the object is unreadable; the message contains the field.
    """
    item = codec.decode(kind, record.body)
    meta = msgspec.structs.replace(
        meta_of(item),
        namespace=record.namespace,
        name=record.name,
        uid=record.uid,
        resource_version=str(record.version),
        deletion_timestamp=record.deleting or meta_of(item).deletion_timestamp,
    )
    return msgspec.structs.replace(item, metadata=meta)


def _has_changed(before: Record, after: Record) -> bool:
    """Return whether anything other than the fields of a bind changed."""
    return before.deleting != after.deleting or (
        before.body is not after.body and before.body != after.body
    )


def _cures(before: Record, after: Record) -> Cure:
    """Cures of a change of a running pod; a smaller request was already reported."""
    try:
        old, new = decode_pod_head(before.body).metadata, decode_pod_head(after.body).metadata
    except InputError:
        return Cure.POD_LABELS
    changed = bytes(old.labels) != bytes(new.labels)
    terminates = (
        before.deleting != after.deleting or old.deletion_timestamp != new.deletion_timestamp
    )
    return Cure.POD_LABELS if changed or terminates else Cure.NONE
