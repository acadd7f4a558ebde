"""Pods of a node: which cgroup belongs to which pod, and what it requests."""

from collections.abc import Iterable

import msgspec

from stretto.api import codec
from stretto.api.wire.kinds import POD
from stretto.api.wire.quantity import milli
from stretto.base.errors import InputError
from stretto.state.classes.annotations import QOS_LEVEL
from stretto.stores.store import Record

SHARED = "shared_cores"
"""The QoS level of pods that state none."""


class NodePod(msgspec.Struct, frozen=True):
    """A pod of a node."""

    #: Namespace and name.
    key: str
    #: QoS level.
    level: str = SHARED
    #: Requested cores.
    cores: float = 0.0


class _PodContainer(msgspec.Struct, frozen=True):
    """The requests of a container."""

    #: Requests and limits.
    resources: dict[str, dict[str, str | int | float]] = {}


class _PodFields(msgspec.Struct, frozen=True, rename="camel"):
    """What the agent reads of a pod."""

    #: Identity and annotations.
    metadata: dict[str, msgspec.Raw]
    #: Containers.
    spec: dict[str, msgspec.Raw]


def node_pods(records: Iterable[Record]) -> dict[str, NodePod]:
    """Pods by uid; one that cannot be read is listed without its requests."""
    return {record.uid: _pod(record) for record in records}


def _pod(record: Record) -> NodePod:
    key = f"{record.namespace}/{record.name}"
    try:
        fields = codec.decode_as(_PodFields, record.body, f"{POD.kind} {key}")
        notes = msgspec.json.decode(fields.metadata.get("annotations", b"{}"), type=dict[str, str])
        containers = msgspec.json.decode(
            fields.spec.get("containers", b"[]"), type=list[_PodContainer]
        )
        requests = [each.resources.get("requests", {}).get("cpu", 0) for each in containers]
        cores = sum(milli(each, f"{key}: requests.cpu") for each in requests) / 1000
    except (InputError, msgspec.DecodeError):
        return NodePod(key)
    return NodePod(key, notes.get(QOS_LEVEL, SHARED), cores)
