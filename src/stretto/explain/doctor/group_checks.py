"""Invariants 2 and 5: partially bound gangs, and queues above their limits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from stretto.api.types.effective_requests import requests
from stretto.api.types.godel import Queue
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.explain.doctor.findings import DoctorCheck, Finding
from stretto.explain.doctor.grouping import GroupedPod, PodsByGroup
from stretto.explain.words.amounts import format_amount
from stretto.state.classes.table import decode_spec
from stretto.stores.store import Record


def part_bound(pods: PodsByGroup, once_complete: frozenset[str]) -> Iterator[Finding]:
    """Gangs with bound pods, but fewer than must start together.

    Args:
        pods: the pods by PodGroup.
        once_complete: gangs (``namespace/name``) that were complete once.
    """
    by_group: dict[str, list[GroupedPod]] = {}
    for member in pods.members:
        if member.group:
            by_group.setdefault(member.group, []).append(member)
    for name, members in by_group.items():
        group = pods.groups.get(name)
        if group is None:
            continue
        placed = sum(member.bound or member.ended for member in members)
        if not any(member.bound and not member.ended for member in members):
            continue
        if placed >= group.min_member:
            continue
        was_complete = group.ran or name in once_complete or len(members) < group.min_member
        check = DoctorCheck.GANG_SHRUNK if was_complete else DoctorCheck.GANG_PART_BOUND
        sentence = (
            f"gang {name} has {placed} of {len(members)} pods bound and needs at least "
            f"{group.min_member}"
        )
        keys = tuple(f"Pod {m.key}" for m in members if m.bound)
        yield Finding(check, sentence, (f"PodGroup {name}", *keys))


def over_limit(pods: PodsByGroup) -> Iterator[Finding]:
    """Queues whose pods, including those of descendant queues, use more than the limit."""
    used_by: dict[str, Counter[str]] = {}
    running: dict[str, set[str]] = {}
    requests_of_body: dict[bytes, Mapping[str, int]] = {}
    for member in pods.members:
        if not member.bound or member.ended:
            continue
        pod_amounts = requests_of_body.get(member.record.body)
        if pod_amounts is None:
            pod_amounts = requests_of_body[member.record.body] = _requests(member.record)
        for above in _ancestors(member.queue, pods.queues):
            used_by.setdefault(above, Counter()).update(pod_amounts)
            running.setdefault(above, set()).add(member.unit)
    for name, queue in pods.queues.items():
        limit = amounts(queue.spec.limit, f"queue {name}: limit")
        used = used_by.get(name, Counter())
        for resource, most in limit.items():
            if used[resource] > most:
                has, may = format_amount(resource, used[resource]), format_amount(resource, most)
                sentence = f"queue {name} uses {has}, its limit is {may}"
                yield Finding(DoctorCheck.QUEUE_OVER_LIMIT, sentence, (f"Queue {name}",))
        units, cap = len(running.get(name, ())), queue.spec.max_running_units
        if cap is not None and units > cap:
            sentence = f"queue {name} runs {units} units, its limit is {cap}"
            yield Finding(DoctorCheck.QUEUE_OVER_LIMIT, sentence, (f"Queue {name}",))


def _requests(record: Record) -> Mapping[str, int]:
    """A pod's requests, including one pod slot; empty if it cannot be decoded."""
    try:
        return {**requests(decode_spec(record.body)), "pods": 1}
    except (InputError, msgspec.DecodeError):
        return {}


def _ancestors(name: str, queues: Mapping[str, Queue]) -> Sequence[str]:
    """A queue and its ancestors."""
    path: list[str] = []
    while name and name not in path:
        path.append(name)
        name = queues[name].spec.parent if name in queues else ""
    return path
