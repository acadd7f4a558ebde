"""Pods of a state grouped by PodGroup and by queue, decoded from their objects."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.codec import decode_as
from stretto.api.types.godel import PodGroup, Queue
from stretto.api.types.heads import ENDED, decode_pod_head
from stretto.base.errors import InputError
from stretto.control.dispatcher.membership import (
    GroupRecord,
    MembershipReader,
    group_unit,
    read_group,
)
from stretto.control.queues.config import DispatcherConfig
from stretto.state.work.units import UnitKind
from stretto.stores.store import Record

_GROUP: Final = b"godel.bytedance.com/pod-group-name"


class GroupedPod(NamedTuple):
    """A pod with its gang and queue."""

    #: ``namespace/name`` of the pod.
    key: str
    #: Identity of the pod's unit.
    unit: str
    #: PodGroup of the pod as ``namespace/name``; empty for none.
    group: str
    #: The queue named by the pod or its group.
    queue: str
    #: True if the pod is bound.
    bound: bool
    #: True if the pod has finished.
    ended: bool
    #: Object of the pod.
    record: Record


class PodsByGroup:
    """Pods by PodGroup and by queue."""

    def __init__(
        self, pods: Iterable[Record], groups: Iterable[Record], queues: Iterable[Record]
    ) -> None:
        """Read groups, queues and memberships; pods that no check needs are skipped."""
        #: PodGroups by ``namespace/name``.
        self.groups: dict[str, GroupRecord] = {}
        #: Queues by name.
        self.queues: dict[str, Queue] = {}
        for record in groups:
            try:
                group = decode_as(PodGroup, record.body)
            except InputError:
                continue
            self.groups[f"{record.namespace}/{record.name}"] = read_group(group, 0.0, 0.0)
        for record in queues:
            try:
                self.queues[record.name] = decode_as(Queue, record.body)
            except InputError:
                continue
        specs = [queue.spec for queue in self.queues.values()]
        limited = any(spec.limit or spec.max_running_units is not None for spec in specs)
        #: Every pod with a group; if any queue has limits, every pod.
        self.members: list[GroupedPod] = list(self._members(pods, limited))

    def _members(self, pods: Iterable[Record], limited: bool) -> Iterator[GroupedPod]:
        reader = MembershipReader(DispatcherConfig())
        for record in pods:
            if not limited and _GROUP not in record.body:
                continue
            try:
                head = decode_pod_head(record.body)
            except InputError:
                continue
            membership = reader.membership(head.metadata)
            group = ""
            if membership.kind is UnitKind.POD_GROUP:
                group = membership.identity.removeprefix(group_unit(""))
            named = self.groups[group].queue if group in self.groups else ""
            yield GroupedPod(
                key=f"{record.namespace}/{record.name}",
                unit=membership.identity or record.uid,
                group=group,
                queue=named or membership.queue,
                bound=bool(record.node or head.spec.node_name),
                ended=head.status.phase in ENDED,
                record=record,
            )
