"""Pods on nodes whose containers' resources are told by their status, as they are when resized.

Such a pod takes the largest of what its spec wants, what is set aside and what is in force
(``api.types.effective_requests``), and that is its class too. What its node says is brought into
few bytes, the same for all pods of a template that are in the same state, by which the class is
known without decoding anything in full. Pods that wait, and those of which nothing is told, are not
read.
"""

from typing import Final

import msgspec

from stretto.api.types.heads import NO_BYTES, PodHead, unreadable
from stretto.stores.store import Record

_TOLD: Final = b'ontainerStatuses"'
_PENDING: Final = b'"PodResizePending"'
_NOTHING: Final = (b"", b"null")


class _NamedContainer(msgspec.Struct, frozen=True, gc=False):
    """A container of the spec: statuses are told by name."""

    name: msgspec.Raw = NO_BYTES


class _ResizedSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    containers: tuple[_NamedContainer, ...] | None = None
    init_containers: tuple[_NamedContainer, ...] | None = None


class _ResizedContainer(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is told of one container."""

    name: msgspec.Raw = NO_BYTES
    resources: msgspec.Raw = NO_BYTES
    allocated_resources: msgspec.Raw = NO_BYTES


class _ResizedStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: msgspec.Raw = NO_BYTES
    container_statuses: tuple[_ResizedContainer, ...] | None = None
    init_container_statuses: tuple[_ResizedContainer, ...] | None = None
    resources: msgspec.Raw = NO_BYTES
    allocated_resources: msgspec.Raw = NO_BYTES


class _ResizedPod(msgspec.Struct, frozen=True, gc=False):
    spec: _ResizedSpec = _ResizedSpec()
    status: _ResizedStatus | None = None


_POD: Final = msgspec.json.Decoder(_ResizedPod)


def may_report_resources(body: bytes) -> bool:
    """Whether a pod's status says anything of its containers; no decoding, and may err on yes."""
    return _TOLD in body


def reported_resources(record: Record, head: PodHead) -> bytes:
    """What a pod's node says of its resources: the key of what stands beside its spec.

    Empty for a pod that is on no node, or of which nothing is told: its spec alone counts.

    Raises:
        InputError: the status makes no sense.
    """
    if not (record.node or head.spec.node_name):
        return b""
    return spec_as_reported(record.body, head)


def spec_as_reported(body: bytes, head: PodHead) -> bytes:
    """The same of a body whose pod is on a node."""
    if not may_report_resources(body) and head.spec.resources is NO_BYTES:
        return b""
    try:
        pod = _POD.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("pod", error) from error
    status, spec = pod.status, pod.spec
    if status is None:
        return b""
    told = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    in_force = (status.resources, *[each.resources for each in told])
    if all(bytes(each) in _NOTHING for each in in_force):
        return b""
    names = (*(spec.containers or ()), *(spec.init_containers or ()))
    key = [b",".join([each.name for each in names])]
    for each in told:
        key += (each.name, each.resources, each.allocated_resources)
    key += (b"", status.resources, status.allocated_resources)
    if _PENDING in bytes(status.conditions):
        key.append(status.conditions)
    return b"\n\0".join(key)
