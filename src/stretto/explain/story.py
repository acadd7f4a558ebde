"""A pod's history step by step, each step with its cause: the result of ``stretto story``.

A run record is complete: it contains every attempt, including failed ones, and pods deleted before
the end. The objects of a store contain only events, conditions and bindings.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Event
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import DEFAULT_NAMESPACE, EVENT, POD
from stretto.base.clock import timestamp_or_none
from stretto.base.errors import InputError, NotFoundError
from stretto.explain.records.steps import FAILED_STEPS, StepFact
from stretto.explain.why.sources.loaded import LoadedRun
from stretto.explain.why.sources.lookup import full_name, similar_names, unknown_pod
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import Reason
from stretto.stores.store import Record

SCHEMA: Final = "stretto.story/v1"
"""Version of the JSON form of ``Story``."""
_EVENT_STEPS: Final = {
    "FailedScheduling": "no place",
    "Scheduled": "placed",
    "Preempted": "preempted",
    "Reclaimed": "reclaimed",
    "Rescheduled": "moved",
    "NodeOverCommitted": "over-commit",
    "GangReleased": "gang broken",
}
"""Steps by the reason of their event; other events keep their reason."""
_UNTRIED: Final = "not attempted: an identical pod had just found no node"


class Story(msgspec.Struct, frozen=True):
    """History of one pod."""

    #: ``namespace/name``.
    pod: str
    #: Final state: ``bound``, ``unschedulable``, ``gone``, ...
    state: str
    #: Final node; empty for none.
    node: str
    #: Steps in order.
    steps: tuple[StepFact, ...]
    #: Reason why the pod is pending at the end; ``None`` if it is not pending.
    waits: Reason | None = None
    #: Source of the story, as text.
    basis: str = ""
    #: Number of steps of all pods that were dropped because of the recorder's limit.
    dropped: int = 0
    #: Wall time of second 0 of the steps; ``None`` for the clock of a run.
    start_s: float | None = None

    @property
    def declined(self) -> int:
        """Number of failed attempts."""
        return sum(step.step in FAILED_STEPS for step in self.steps)


def story_of_run(run: LoadedRun, pod: str) -> Story:
    """Build a pod's history from a recorded run.

    Args:
        run: the record.
        pod: ``name`` or ``namespace/name``; the latest pod of that name.

    Raises:
        NotFoundError: no such pod; the hint lists similar names.
    """
    basis = f"record of run {run.facts.name}"
    try:
        explanation = explain_pod(run.scene, pod)
    except NotFoundError:
        serials = run.file.deleted(pod)
        if not serials:
            raise _unknown(run, pod) from None
        steps = run.steps_of(serials[-1])
        key = full_name(pod)
        return Story(key, "gone", "", steps, None, basis, run.facts.steps_dropped)
    steps = explanation.steps
    waits = explanation.dominant
    attempted = any(step.step in ("no place", "placed", "refused") for step in steps)
    if waits is not None and explanation.state == "unschedulable" and not attempted:
        at = steps[-1].time_s if steps else 0.0
        steps = (*steps, StepFact(at, "passed over", _UNTRIED, "no relevant event since"))
    return Story(
        explanation.pod,
        explanation.state,
        explanation.node,
        steps,
        waits,
        basis,
        run.facts.steps_dropped,
    )


def _unknown(run: LoadedRun, pod: str) -> NotFoundError:
    pods = run.scene.cluster.pods
    names = [*(pods.name[row] for row in pods.rows().tolist()), *run.file.deleted_names()]
    suggestion = similar_names(pod.rpartition("/")[2], names)
    return unknown_pod(pod, len(names), suggestion)


# ---------------------------------------------------------------- from objects


def story_of_objects(records: Sequence[Record], pod: str, basis: str) -> Story:
    """Build a pod's history from the objects of a store: creation, events and current node.

    Raises:
        NotFoundError: no such pod; the hint lists similar names.
    """
    record = _find(records, pod)
    start = timestamp_or_none(record.created) or 0.0
    steps = [StepFact(0.0, "seen", "the pod was created")]
    steps += _events(records, record, start)
    if record.node:
        steps.append(StepFact(steps[-1].time_s, "bound", f"on {record.node}"))
    else:
        steps += _pending_steps(record, start, steps)
    state = "bound" if record.node else "waiting"
    return Story(_key(record), state, record.node, tuple(steps), None, basis, start_s=start or None)


def _pending_steps(record: Record, start: float, steps: Sequence[StepFact]) -> list[StepFact]:
    """Steps of a pending pod that no event shows: its gates and its condition."""
    try:
        pod = decode_as(Pod, record.body)
    except InputError:
        return []
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return [StepFact(steps[-1].time_s, "held", f"scheduling gates: {gates}")]
    found = pod.status.condition("PodScheduled")
    if found is None or found.status != "False":
        return []
    if any(step.detail.startswith(found.message) for step in steps):
        return []
    since = timestamp_or_none(found.last_transition_time)
    at = steps[-1].time_s if since is None else max(0.0, since - start)
    return [StepFact(at, "no place", found.message)]


def _find(records: Iterable[Record], pod: str) -> Record:
    space, _, name = pod.rpartition("/")
    pods = [record for record in records if record.kind == POD]
    found = [r for r in pods if r.name == name and (not space or r.namespace == space)]
    if not found:
        raise unknown_pod(pod, len(pods), similar_names(name, (record.name for record in pods)))
    return next((r for r in found if r.namespace == DEFAULT_NAMESPACE), found[0])


def _events(records: Iterable[Record], pod: Record, start: float) -> list[StepFact]:
    """Events about a pod, ordered by time."""
    found = []
    mark = pod.uid.encode()
    for record in records:
        if record.kind != EVENT or mark not in record.body:
            continue
        try:
            event = decode_as(Event, record.body)
        except InputError:
            continue
        if event.involved_object.uid == pod.uid:
            found += list(_steps_of_event(event, start))
    return sorted(found, key=lambda step: step.time_s)


def _steps_of_event(event: Event, start: float) -> Iterator[StepFact]:
    """Convert one event: a step at its first time and, if repeated, one at its last time."""
    step = _EVENT_STEPS.get(event.reason, event.reason)
    first = timestamp_or_none(event.first_timestamp or event.event_time)
    last = timestamp_or_none(event.last_timestamp)
    if first is not None:
        yield StepFact(max(0.0, first - start), step, event.message)
    if last is not None and event.count > 1 and last != first:
        repeated = f"{event.message} ({event.count} times in total)"
        yield StepFact(max(0.0, last - start), step, repeated)


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
