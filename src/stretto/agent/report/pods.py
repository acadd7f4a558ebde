"""Pods of a node, with their cgroups and requests."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.effective_requests import requests
from stretto.api.types.pod import Pod
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.state.classes.annotations import QOS_LEVEL
from stretto.stores.store import Record

SHARED: Final = "shared_cores"
"""QoS level of pods without a level."""


class NodePod(msgspec.Struct, frozen=True):
    """A pod of a node."""

    #: Namespace and name.
    key: str
    #: QoS level.
    level: str = SHARED
    #: Requested milli-CPU and bytes.
    request: tuple[int, int] = (0, 0)
    #: Creation time in seconds since 1970; 0 if unknown.
    created_s: float = 0.0
    #: Priority.
    priority: int = 0


def node_pods(records: Iterable[Record]) -> dict[str, NodePod]:
    """Return pods by uid; an unreadable pod is returned without its requests."""
    return {record.uid: _pod(record) for record in records}


def _pod(record: Record) -> NodePod:
    key = f"{record.namespace}/{record.name}"
    try:
        pod = codec.decode_as(Pod, record.body, f"pod {key}")
        wanted = requests(pod.spec, f"pod {key}: spec")
        created = pod.metadata.creation_timestamp
        since = parse_timestamp(created) if created else 0.0
    except InputError:
        return NodePod(key)
    level = pod.metadata.annotations.get(QOS_LEVEL, SHARED)
    request = wanted.get("cpu", 0), wanted.get("memory", 0)
    return NodePod(key, level, request, since, pod.spec.priority or 0)
