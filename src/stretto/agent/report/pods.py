"""Pods of a node, with their cgroups and requests."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.effective_requests import requests
from stretto.api.types.heads import ENDED
from stretto.api.types.pod import Pod
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.state.classes.annotations import MEMORY_ENHANCEMENT, QOS_LEVEL, RECLAIMED_CORES
from stretto.stores.store import Record

LONGEST_NUMBER: Final = 4
"""Digits of the number of a NUMA node."""
NUMA_BINDING: Final = "katalyst.kubewharf.io/numa_bind_result"
"""Annotation of Katalyst's agent with the NUMA node of a reclaimed pod; -1 for none."""
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
    #: True if no other pod may use its NUMA nodes.
    has_exclusive_numas: bool = False
    #: NUMA node to which Katalyst's agent bound the pod; ``None`` without a binding.
    bound_to: int | None = None
    #: True if it is being deleted, as after an eviction.
    is_ending: bool = False

    @property
    def needs_place(self) -> bool:
        """True if the NUMA nodes of the pod matter for the headroom."""
        return self.level == RECLAIMED_CORES or self.has_exclusive_numas


def node_pods(records: Iterable[Record]) -> dict[str, NodePod]:
    """Return pods by uid; an unreadable pod is returned without its requests.

    A pod that has ended uses nothing and is omitted.
    """
    found = {record.uid: _pod(record) for record in records}
    return {uid: pod for uid, pod in found.items() if pod is not None}


def _pod(record: Record) -> NodePod | None:
    key = f"{record.namespace}/{record.name}"
    try:
        pod = codec.decode_as(Pod, record.body, f"pod {key}")
        wanted = requests(pod.spec, f"pod {key}: spec")
        created = pod.metadata.creation_timestamp
        since = parse_timestamp(created) if created else 0.0
    except InputError:
        return NodePod(key)
    if pod.status.phase in ENDED:
        return None
    annotations = pod.metadata.annotations
    return NodePod(
        key,
        annotations.get(QOS_LEVEL, SHARED),
        (wanted.get("cpu", 0), wanted.get("memory", 0)),
        since,
        pod.spec.priority or 0,
        _has_exclusive_numas(annotations.get(MEMORY_ENHANCEMENT, "")),
        _bound_to(annotations.get(NUMA_BINDING, "")),
        pod.metadata.deletion_timestamp is not None,
    )


def _has_exclusive_numas(text: str) -> bool:
    """Return whether the annotation of memory requests exclusive NUMA nodes."""
    try:
        found = msgspec.json.decode(text or "{}", type=dict[str, str | bool])
    except msgspec.DecodeError:
        return False
    return found.get("numa_exclusive") in (True, "true")


def _bound_to(text: str) -> int | None:
    """Return the NUMA node of a binding, and -1 for an unreadable one; ``-1`` means no binding."""
    if text in ("", "-1"):
        return None
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else -1
