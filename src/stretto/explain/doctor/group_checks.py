"""Laws 2 and 5 on live state: gangs that stand in part, and queues above their limits."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.effective_requests import requests
from stretto.api.types.godel import PodGroup, Queue
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.control.dispatcher.membership import (
    GroupRecord,
    MembershipReader,
    group_unit,
    read_group,
)
from stretto.control.queues.config import DispatcherConfig
from stretto.explain.doctor.findings import DoctorCheck, Finding
from stretto.explain.words.amounts import format_amount
from stretto.state.classes.table import decode_spec
from stretto.state.work.units import UnitKind
from stretto.stores.store import Record

_OVER: Final = frozenset({"Succeeded", "Failed"})
_GROUP: Final = b"godel.bytedance.com/pod-group-name"
_QUEUE: Final = b"stretto.dev/queue"


class GroupedPod(NamedTuple):
    """A pod, as gangs and queues see it."""

    #: ``namespace/name``.
    key: str
    #: Identity of its unit.
    unit: str
    #: Its PodGroup as ``namespace/name``; empty for none.
    group: str
    #: The queue that it or its group names.
    queue: str
    #: Whether it is on a node.
    bound: bool
    #: Whether it has run to its end.
    ended: bool
    #: Its object.
    record: Record


class PodsByGroup:
    """Pods by PodGroup and by queue."""

    def __init__(
        self, pods: Iterable[Record], groups: Iterable[Record], queues: Iterable[Record]
    ) -> None:
        """Read who belongs where; pods of no group and no queue are passed over unless needed."""
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
        #: Every pod that has a group, or a queue where queues have limits.
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
            wish = reader.wish(head.metadata)
            group = ""
            if wish.kind is UnitKind.POD_GROUP:
                group = wish.identity.removeprefix(group_unit(""))
            named = self.groups[group].queue if group in self.groups else ""
            yield GroupedPod(
                key=f"{record.namespace}/{record.name}",
                unit=wish.identity or record.uid,
                group=group,
                queue=named or wish.queue,
                bound=bool(record.node or head.spec.node_name),
                ended=head.status.phase in _OVER,
                record=record,
            )


def part_bound(tenancy: PodsByGroup, stood: frozenset[str]) -> Iterator[Finding]:
    """Gangs with some of their pods on nodes and fewer than must start together.

    Args:
        tenancy: who belongs where.
        stood: gangs (``namespace/name``) that are known to have been whole once.
    """
    by_group: dict[str, list[GroupedPod]] = {}
    for member in tenancy.members:
        if member.group:
            by_group.setdefault(member.group, []).append(member)
    for name, members in by_group.items():
        group = tenancy.groups.get(name)
        if group is None:
            continue
        placed = sum(member.bound or member.ended for member in members)
        if not any(member.bound and not member.ended for member in members):
            continue
        if placed >= group.min_member:
            continue
        was_whole = group.ran or name in stood or len(members) < group.min_member
        check = DoctorCheck.GANG_SHRUNK if was_whole else DoctorCheck.GANG_PART_BOUND
        sentence = (
            f"gang {name} has {placed} of {len(members)} pods on nodes and needs "
            f"{group.min_member} together"
        )
        keys = tuple(f"Pod {m.key}" for m in members if m.bound)
        yield Finding(check, sentence, (f"PodGroup {name}", *keys))


def over_limit(tenancy: PodsByGroup) -> Iterator[Finding]:
    """Queues whose pods, with those of the queues below, hold more than the limit says."""
    held: dict[str, Counter[str]] = {}
    running: dict[str, set[str]] = {}
    asked: dict[bytes, Mapping[str, int]] = {}
    for member in tenancy.members:
        if not member.bound or member.ended:
            continue
        amounts_of = asked.get(member.record.body)
        if amounts_of is None:
            amounts_of = asked[member.record.body] = _asks(member.record)
        for above in _upwards(member.queue, tenancy.queues):
            held.setdefault(above, Counter()).update(amounts_of)
            running.setdefault(above, set()).add(member.unit)
    for name, queue in tenancy.queues.items():
        limit = amounts(queue.spec.limit, f"queue {name}: limit")
        used = held.get(name, Counter())
        for resource, most in limit.items():
            if used[resource] > most:
                has, may = format_amount(resource, used[resource]), format_amount(resource, most)
                sentence = f"queue {name} holds {has}, its limit is {may}"
                yield Finding(DoctorCheck.QUEUE_OVER_LIMIT, sentence, (f"Queue {name}",))
        units, cap = len(running.get(name, ())), queue.spec.max_running_units
        if cap is not None and units > cap:
            sentence = f"queue {name} runs {units} units, its limit is {cap}"
            yield Finding(DoctorCheck.QUEUE_OVER_LIMIT, sentence, (f"Queue {name}",))


def _asks(record: Record) -> Mapping[str, int]:
    """What a pod asks for, its own place included; nothing where it cannot be read."""
    try:
        return {**requests(decode_spec(record.body)), "pods": 1}
    except (InputError, msgspec.DecodeError):
        return {}


def _upwards(name: str, queues: Mapping[str, Queue]) -> Sequence[str]:
    """A queue and those that it is part of."""
    way: list[str] = []
    while name and name not in way:
        way.append(name)
        name = queues[name].spec.parent if name in queues else ""
    return way
