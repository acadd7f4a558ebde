"""Pods of a state as rows of a list."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import POD
from stretto.api.wire.quantity import format_amount
from stretto.base.errors import InputError
from stretto.control.dispatcher.membership import MembershipReader
from stretto.control.queues.config import DispatcherConfig
from stretto.explain.inventory.causes import FITS, NOT_EXPLAINED, reasons_by_row
from stretto.explain.inventory.meta import age_of, pod_meta
from stretto.explain.why.scene import Scene
from stretto.explain.words.reasons import Reason
from stretto.state.rows.devices import mask_to_text
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Record

FITS_NOW: Final = "It fits; the scheduler has not bound it yet."
"""Sentence for a pending pod that the copy of the state could place."""
_UNCLAIMED: Final = (PodState.ASSUMED, PodState.BOUND)


class PodRow(msgspec.Struct, frozen=True):
    """One pod."""

    #: Namespace.
    namespace: str
    #: Name.
    name: str
    #: ``bound``, ``pending``, ``unschedulable``, ``gated``, ``backoff``, ``nominated``, ``not
    #: handled``, ...
    status: str
    #: Node of the pod; empty for none.
    node: str = ""
    #: Queue of the pod.
    queue: str = ""
    #: Unit of the pod, as ``Kind/namespace/name``; empty for a single pod.
    unit: str = ""
    #: Resolved priority of the pod.
    priority: int = 0
    #: Requests in Kubernetes notation, by resource.
    requests: dict[str, str] = {}
    #: Allocated devices, such as ``0,3``; empty for none.
    devices: str = ""
    #: Seconds since the pod was created or first seen; ``None`` if unknown.
    age_s: float | None = None
    #: Code of the reason why the pod is pending; empty for a pod with a node.
    reason: str = ""
    #: The reason as a sentence.
    sentence: str = ""
    #: Labels of the pod.
    labels: dict[str, str] = {}

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class ListedPod(NamedTuple):
    """A pod's record with its row."""

    #: Object of the pod.
    record: Record
    #: Row of the pod in the scene; ``None`` if the scheduler does not handle the pod.
    row: int | None


def pod_rows(scene: Scene, records: Sequence[Record], at: float | None) -> list[PodRow]:
    """Rows of pods, in the order of their names.

    Args:
        scene: the state that contains the pods.
        records: the pods; other kinds are skipped.
        at: time of the state, in seconds since the start of the run, or as wall time; ``None`` if
            unknown.
    """
    chosen = [
        ListedPod(each, scene.cluster.pods.row(each.uid)) for each in records if each.kind == POD
    ]
    chosen.sort(key=lambda each: (each.record.namespace, each.record.name))
    pods = scene.cluster.pods
    pending = [
        each.row
        for each in chosen
        if each.row is not None and not each.record.node and pods.state[each.row] not in _UNCLAIMED
    ]
    reasons = reasons_by_row(scene, pending)
    reader = MembershipReader(DispatcherConfig())
    return [_row_of(scene, each, reasons, reader, at) for each in chosen]


def _row_of(
    scene: Scene,
    chosen: ListedPod,
    reasons: dict[int, Reason | None],
    reader: MembershipReader,
    at: float | None,
) -> PodRow:
    record, row = chosen
    head = PodRow(record.namespace, record.name, "unreadable", record.node)
    try:
        labels, member = pod_meta(record, reader)
    except InputError as error:
        return msgspec.structs.replace(head, reason="unreadable", sentence=str(error))
    head = msgspec.structs.replace(
        head, labels=labels, queue=member.queue, unit=member.key, age_s=age_of(record, at)
    )
    if row is None:
        return _unhandled(scene, head, record)
    pods = scene.cluster.pods
    unit = scene.notes.unit_of(row)
    names = scene.cluster.ledger.resources.names
    pod = scene.cluster.classes[int(pods.class_id[row])]
    requests = {names[column]: format_amount(names[column], n) for column, n in pod.requests}
    requests |= {each.kind: str(each.count) for each in pod.devices}
    state, reason, sentence = _standing(scene, chosen, reasons)
    since = None if at is None or head.age_s is not None else max(0.0, at - float(pods.since[row]))
    return msgspec.structs.replace(
        head,
        status=state,
        queue=unit.queue if unit is not None else head.queue,
        unit=unit.key if unit is not None and unit.kind != "Pod" else head.unit,
        priority=int(pods.priority[row]),
        requests=requests,
        devices=mask_to_text(int(pods.devices[row])),
        age_s=since if head.age_s is None else head.age_s,
        reason=reason,
        sentence=sentence,
    )


def _standing(
    scene: Scene, chosen: ListedPod, reasons: dict[int, Reason | None]
) -> tuple[str, str, str]:
    """Return status, reason code and sentence of a pod that the scheduler handles."""
    record, row = chosen
    assert row is not None
    if record.node:
        return "bound", "", ""
    state = PodState(int(scene.cluster.pods.state[row]))
    if state in _UNCLAIMED:
        return "pending", FITS, FITS_NOW
    why = reasons.get(row)
    code = why.code.value if why is not None else NOT_EXPLAINED
    return state.name.lower(), code, why.sentence if why is not None else ""


def _unhandled(scene: Scene, head: PodRow, record: Record) -> PodRow:
    """Row of a pod that the scheduler does not handle."""
    why = scene.objects.unhandled.get(head.key)
    fault = scene.cluster.abnormal.get(f"pod {head.key}")
    if why is not None:
        status = "ended" if why.code.value == "ended" else "not handled"
        return msgspec.structs.replace(
            head, status=status, reason=why.code.value, sentence=why.sentence
        )
    if fault is not None:
        return msgspec.structs.replace(head, reason="unreadable", sentence=fault)
    return msgspec.structs.replace(head, status="bound" if record.node else "not handled")
