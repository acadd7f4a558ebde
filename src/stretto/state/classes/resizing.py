"""Resource requests of resized pods, from the container statuses that a kubelet reports.

The charge of such a pod is the maximum of its spec's requests, the allocated and the actual
resources (``api.types.effective_requests``), which is also part of its class. The reported
resources are reduced to a few bytes, equal for all pods of a template in the same state, by which
the class is found without full decoding. Pending pods and pods without reported resources are not
read.
"""

from typing import Final

import msgspec

from stretto.api.types.heads import NO_BYTES, PodHead, unreadable
from stretto.stores.store import Record

_REPORTED: Final = b'ontainerStatuses"'
_PENDING: Final = b'"PodResizePending"'
_NOTHING: Final = (b"", b"null")


class _NamedContainer(msgspec.Struct, frozen=True, gc=False):
    """A container of the spec; statuses refer to it by name."""

    name: msgspec.Raw = NO_BYTES


class _ResizedSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    containers: tuple[_NamedContainer, ...] | None = None
    init_containers: tuple[_NamedContainer, ...] | None = None


class _ResizedContainer(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Reported status of one container."""

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
    """True if a status may report container resources; a byte search with false positives."""
    return _REPORTED in body


def reported_resources(record: Record, head: PodHead) -> bytes:
    """Key of the resources that a pod's node reports, as a supplement of the spec.

    Empty for a pod without a node or without reported resources: then only the spec counts.

    Raises:
        InputError: the status is invalid.
    """
    if not (record.node or head.spec.node_name):
        return b""
    return spec_as_reported(record.body, head)


def spec_as_reported(body: bytes, head: PodHead) -> bytes:
    """Return the same key for the body of a pod on a node."""
    if not may_report_resources(body) and head.spec.resources is NO_BYTES:
        return b""
    try:
        pod = _POD.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("pod", error) from error
    status, spec = pod.status, pod.spec
    if status is None:
        return b""
    reported = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    in_force = (status.resources, *[each.resources for each in reported])
    if all(bytes(each) in _NOTHING for each in in_force):
        return b""
    names = (*(spec.containers or ()), *(spec.init_containers or ()))
    key = [b",".join([each.name for each in names])]
    for each in reported:
        key += (each.name, each.resources, each.allocated_resources)
    key += (b"", status.resources, status.allocated_resources)
    if _PENDING in bytes(status.conditions):
        key.append(status.conditions)
    return b"\n\0".join(key)
