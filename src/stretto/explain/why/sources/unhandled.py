"""Facts of objects that the cluster state does not keep: unhandled pods, gates and PodGroups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from stretto.api.codec import decode_as
from stretto.api.types.heads import ENDED, decode_pod_head
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD, POD_GROUP, WORKLOAD_POD_GROUP
from stretto.base.errors import InputError
from stretto.explain.why.sources.lookup import full_name
from stretto.explain.words.reasons import Reason, ReasonCode, reason
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record

GROUP_KINDS: Final = (POD_GROUP, WORKLOAD_POD_GROUP)
"""Kinds that define a gang."""
FACT_KINDS: Final = (POD, *GROUP_KINDS)
"""Kinds whose objects ``read_objects`` uses."""
_GATES: Final = b'"schedulingGates"'


class ObjectFacts(NamedTuple):
    """Facts of objects that the cluster state does not contain and explanations need."""

    #: Pods that the scheduler does not handle, by ``namespace/name``, with the reason.
    unhandled: Mapping[str, Reason] = {}
    #: Scheduling gates by ``namespace/name``, for pods that have any.
    gates: Mapping[str, tuple[str, ...]] = {}
    #: Existing PodGroups, as ``namespace/name``.
    groups: tuple[str, ...] = ()


def read_objects(
    records: Sequence[Record], cluster: Cluster, scheduler_names: frozenset[str]
) -> ObjectFacts:
    """Collect the facts from objects.

    Args:
        records: objects of any kinds, including all pods and PodGroups.
        cluster: the state to which the objects were applied.
        scheduler_names: values of ``schedulerName`` that the scheduler handles.
    """
    return ObjectFacts(
        dict(_unhandled(records, cluster, scheduler_names)),
        gates_of(records),
        tuple(f"{each.namespace}/{each.name}" for each in records if each.kind in GROUP_KINDS),
    )


def unhandled_pod(objects: ObjectFacts, cluster: Cluster, pod: str) -> tuple[str, Reason] | None:
    """``namespace/name`` and reason of a pod that is not handled; ``None`` for any other pod."""
    key = full_name(pod)
    if key in objects.unhandled:
        return key, objects.unhandled[key]
    complaint = cluster.abnormal.get(f"pod {key}")
    if complaint is None:
        return None
    return key, reason(ReasonCode.UNREADABLE, f"It cannot be read: {complaint}.")


def not_handled(record: Record, scheduler_names: frozenset[str]) -> Reason | None:
    """Reason why the scheduler does not handle a pod; ``None`` if it does or cannot read it."""
    try:
        head = decode_pod_head(record.body)
    except InputError:
        return None
    if head.status.phase in ENDED:
        return reason(ReasonCode.ENDED, f"It has finished (phase {head.status.phase}).")
    if head.spec.scheduler_name in scheduler_names:
        return None
    handled = ", ".join(sorted(scheduler_names))
    named = head.spec.scheduler_name or "empty"
    sentence = f"Its schedulerName is {named}; this scheduler handles {handled}."
    return reason(ReasonCode.OTHER_SCHEDULER, sentence)


def gates_of(records: Iterable[Record]) -> dict[str, tuple[str, ...]]:
    """The scheduling gates of pods that have any, by ``namespace/name``."""
    return dict(_gates(records))


def _gates(records: Iterable[Record]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pods with scheduling gates, and the gates."""
    for record in records:
        if record.kind == POD and _GATES in record.body:
            with suppress(InputError):
                gates = decode_as(Pod, record.body).spec.scheduling_gates
                yield f"{record.namespace}/{record.name}", tuple(gate.name for gate in gates)


def _unhandled(
    records: Iterable[Record], cluster: Cluster, scheduler_names: frozenset[str]
) -> Iterator[tuple[str, Reason]]:
    """Pods without a row in the cluster state, with the reason."""
    for record in records:
        if record.kind != POD or cluster.pods.row(record.uid) is not None:
            continue
        why = not_handled(record, scheduler_names)
        if why is not None:
            yield f"{record.namespace}/{record.name}", why
