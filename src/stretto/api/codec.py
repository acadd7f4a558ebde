"""JSON to structs and back, with the path of what is wrong.

An object stays the bytes it came in. A struct is a reading of it, and is never written back over
it: a change is a ``set_fields`` or a patch on the bytes, so fields that we do not know survive.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar, cast

import msgspec

from stretto.api.types import cnr, core, godel, pod, storage, workload_groups, workloads
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.api.wire.limits import measured
from stretto.api.wire.meta import Wire
from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError

_T = TypeVar("_T")

STRUCTS: Final[dict[Kind, type[Wire]]] = {
    kinds.POD: pod.Pod,
    kinds.NODE: core.Node,
    kinds.NAMESPACE: core.Namespace,
    kinds.EVENT: core.Event,
    kinds.BINDING: core.Binding,
    kinds.SERVICE: core.Service,
    kinds.CONFIG_MAP: core.ConfigMap,
    kinds.REPLICATION_CONTROLLER: workloads.ReplicationController,
    kinds.PERSISTENT_VOLUME_CLAIM: storage.PersistentVolumeClaim,
    kinds.PERSISTENT_VOLUME: storage.PersistentVolume,
    kinds.DEPLOYMENT: workloads.Deployment,
    kinds.REPLICA_SET: workloads.ReplicaSet,
    kinds.STATEFUL_SET: workloads.StatefulSet,
    kinds.DAEMON_SET: workloads.DaemonSet,
    kinds.JOB: workloads.Job,
    kinds.LEASE: core.Lease,
    kinds.POD_DISRUPTION_BUDGET: core.PodDisruptionBudget,
    kinds.PRIORITY_CLASS: core.PriorityClass,
    kinds.STORAGE_CLASS: storage.StorageClass,
    kinds.CSI_NODE: storage.CsiNode,
    kinds.CSI_DRIVER: storage.CsiDriver,
    kinds.CSI_STORAGE_CAPACITY: storage.CsiStorageCapacity,
    kinds.VOLUME_ATTACHMENT: storage.VolumeAttachment,
    kinds.WORKLOAD_POD_GROUP: workload_groups.WorkloadPodGroup,
    kinds.POD_GROUP: godel.PodGroup,
    kinds.SCHEDULER: godel.Scheduler,
    kinds.MOVEMENT: godel.Movement,
    kinds.RESERVATION: godel.Reservation,
    kinds.QUEUE: godel.Queue,
    kinds.CUSTOM_NODE_RESOURCE: cnr.CustomNodeResource,
    kinds.NM_NODE: cnr.NmNode,
}
"""Which struct reads which kind."""

_KINDS: Final = {struct: kind for kind, struct in STRUCTS.items()}
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])

Path = tuple[str | int, ...]


def decode(kind: Kind, body: bytes) -> Wire:
    """An object of ``kind`` from its JSON; what is malformed is refused with its path."""
    return decode_as(STRUCTS[kind], body)


def decode_as(struct: type[_T], body: bytes, where: str = "") -> _T:
    """Any struct of ``api`` from its JSON.

    ``where`` names the object in a refusal; empty takes the object's own kind and name.
    Members that are null count as absent, as in Kubernetes.
    """
    measured(body, where or _kind_word(struct))
    try:
        return cast("_T", _decoder(cast("Any", struct)).decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError) and b"null" in body:
            return _decode_without_nulls(struct, body, where)
        raise refusal(error, body, where or _kind_word(struct), struct) from error


def _decode_without_nulls(struct: type[_T], body: bytes, where: str) -> _T:
    """The second try, on a copy without null members."""
    try:
        return msgspec.convert(without_nulls(parse(body, where)), struct)
    except msgspec.ValidationError as error:
        raise refusal(error, body, where or _kind_word(struct), struct) from error


@cache
def _decoder(struct: Any) -> msgspec.json.Decoder[Any]:
    """Decoders are made once for each struct."""
    return msgspec.json.Decoder(struct)


def _kind_word(struct: type[Any]) -> str:
    """What a refusal calls an object of this struct."""
    return struct.__name__.lower()


def encode(item: Wire) -> bytes:
    """A struct as JSON, with ``apiVersion`` and ``kind`` in front where it is a whole object."""
    body = msgspec.json.encode(item)
    kind = _KINDS.get(type(item))
    if kind is None:
        return body
    head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}"'.encode()
    return head + (b"}" if body == b"{}" else b"," + body[1:])


def kind_of_struct(item: Wire) -> Kind:
    """The kind of a whole object."""
    return _KINDS[type(item)]


# ---------------------------------------------------------------- raw objects


def parse(body: bytes, where: str) -> Any:
    """Untyped JSON, measured first."""
    try:
        return msgspec.json.decode(measured(body, where))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(error, body, where) from error


def parse_object(body: bytes, where: str) -> dict[str, Any]:
    """Untyped JSON that must be an object."""
    found = parse(body, where)
    if not isinstance(found, dict):
        raise InputError(where, found, "a JSON object", "begin it with { and end it with }")
    return found


def without_nulls(value: Any) -> Any:
    """A copy in which no object has a null member; nulls inside lists stay."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def set_fields(body: bytes, fields: Mapping[Path, Any]) -> bytes:
    """``body`` with fields set, each named by its path; None removes one.

    Everything beside the paths is copied byte by byte: order, unknown fields and the spelling of
    numbers survive. Missing objects on a path are made; a list index must exist.
    """
    if not fields:
        return body
    below: dict[str | int, dict[Path, Any]] = {}
    for path, value in fields.items():
        below.setdefault(path[0], {})[path[1:]] = value
    if all(isinstance(name, int) for name in below):
        return _set_items(body, cast("dict[int, dict[Path, Any]]", below))
    members = _members(body, fields)
    for name, inner in below.items():
        key = str(name)
        if () in inner:
            if inner[()] is None:
                members.pop(key, None)
            else:
                members[key] = msgspec.Raw(msgspec.json.encode(inner[()]))
            continue
        old = members.get(key)
        if old is not None or any(value is not None for value in inner.values()):
            members[key] = msgspec.Raw(set_fields(b"{}" if old is None else bytes(old), inner))
    return msgspec.json.encode(members)


def _set_items(body: bytes, below: Mapping[int, Mapping[Path, Any]]) -> bytes:
    """``set_fields`` on a list: its items are named by their index."""
    try:
        items: list[msgspec.Raw] = _ITEMS.decode(body)
        for index, inner in below.items():
            whole = msgspec.json.encode(inner[()]) if () in inner else None
            items[index] = msgspec.Raw(whole or set_fields(bytes(items[index]), inner))
    except (msgspec.DecodeError, RecursionError, IndexError) as error:
        raise InputError("set_fields", list(below), "an index of an existing list") from error
    return msgspec.json.encode(items)


def _members(body: bytes, fields: Mapping[Path, Any]) -> dict[str, msgspec.Raw]:
    """The members of an object, each as raw JSON; null counts as an empty object."""
    try:
        return _MEMBERS.decode(body) if body != b"null" else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        paths: Sequence[str] = [".".join(map(str, path)) for path in fields]
        raise InputError(", ".join(paths), body[:80], "an object on the way there") from error
