"""A pod's life, step by step, each with its cause: the answer behind ``stretto story``.

From the record of a run it is complete: every attempt, the declined ones too, and pods that ended
long before the run did. From the objects of a store it is what was told there: events, conditions
and bindings.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Event
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import EVENT, POD
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError, NotFoundError
from stretto.explain.records.steps import StepFact
from stretto.explain.why.scene import DEFAULT_NAMESPACE, LoadedRun
from stretto.explain.why.why import explain_pod
from stretto.explain.words.nearest import nearest
from stretto.explain.words.reasons import Reason
from stretto.stores.store import Record

SCHEMA: Final = "stretto.story/v1"
"""Version of the form below as JSON."""
_UNTRIED: Final = "it was not tried by itself: a pod that asks for the same had just found no node"


class Story(msgspec.Struct, frozen=True):
    """One pod's life."""

    #: ``namespace/name``.
    pod: str
    #: Where it was in the end: ``bound``, ``unschedulable``, ``gone``, ...
    state: str
    #: Its node in the end; empty for none.
    node: str
    #: What happened, in order.
    steps: tuple[StepFact, ...]
    #: Why it waited in the end; ``None`` where it did not.
    waits: Reason | None = None
    #: What the story was taken from, in words.
    basis: str = ""
    #: Steps of all pods that were not kept, because there were too many.
    dropped: int = 0

    @property
    def declined(self) -> int:
        """Attempts that came to nothing."""
        return sum(step.step in ("no place", "refused") for step in self.steps)


def story_of_run(run: LoadedRun, pod: str) -> Story:
    """A pod's life in a run, by its record.

    Args:
        run: the record.
        pod: ``name`` or ``namespace/name``; the latest bearer of the name.

    Raises:
        NotFoundError: there was no such pod; the nearest names are told.
    """
    basis = f"the record of run {run.facts.name}"
    try:
        said = explain_pod(run.scene, pod)
    except NotFoundError:
        serials = run.file.gone(pod)
        if not serials:
            raise _unknown(run, pod) from None
        steps = run.steps_of(serials[-1])
        key = pod if "/" in pod else f"{DEFAULT_NAMESPACE}/{pod}"
        return Story(key, "gone", "", steps, None, basis, run.facts.steps_dropped)
    steps = said.steps
    waits = said.dominant
    tried = any(step.step in ("no place", "placed", "refused") for step in steps)
    if waits is not None and said.state == "unschedulable" and not tried:
        at = steps[-1].time_s if steps else 0.0
        steps = (*steps, StepFact(at, "passed over", _UNTRIED, "nothing has cured that since"))
    return Story(said.pod, said.state, said.node, steps, waits, basis, run.facts.steps_dropped)


def _unknown(run: LoadedRun, pod: str) -> NotFoundError:
    pods = run.scene.cluster.pods
    names = [*(pods.name[row] for row in pods.rows().tolist()), *run.file.ended_names()]
    found = nearest(pod.rpartition("/")[2], names)
    hint = f"did you mean {' or '.join(found)}?" if found else ""
    return NotFoundError(f"pod {pod}", f"the run had {len(names):,} pods", hint)


# ---------------------------------------------------------------- from objects


def story_of_objects(records: Sequence[Record], pod: str, basis: str) -> Story:
    """What the objects of a store tell of a pod: its creation, events, and where it is.

    Raises:
        NotFoundError: there is no such pod; the nearest names are told.
    """
    record = _find(records, pod)
    start = _time(record.created) or 0.0
    steps = [StepFact(0.0, "seen", "the pod was created")]
    steps += _events(records, record, start)
    if record.node:
        steps.append(StepFact(steps[-1].time_s, "bound", f"on {record.node}"))
    else:
        steps += _standing(record, start, steps)
    state = "bound" if record.node else "waiting"
    return Story(_key(record), state, record.node, tuple(steps), None, basis)


def _standing(record: Record, start: float, told: Sequence[StepFact]) -> list[StepFact]:
    """What a pod without a node says of itself where no event does: gates and its condition."""
    try:
        pod = decode_as(Pod, record.body)
    except InputError:
        return []
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return [StepFact(told[-1].time_s, "held", f"by scheduling gates: {gates}")]
    found = pod.status.condition("PodScheduled")
    if found is None or found.status != "False":
        return []
    if any(step.detail.startswith(found.message) for step in told):
        return []
    since = _time(found.last_transition_time)
    at = told[-1].time_s if since is None else max(0.0, since - start)
    return [StepFact(at, "no place", found.message)]


def _find(records: Iterable[Record], pod: str) -> Record:
    space, _, name = pod.rpartition("/")
    pods = [record for record in records if record.kind == POD]
    found = [r for r in pods if r.name == name and (not space or r.namespace == space)]
    if not found:
        near = nearest(name, (record.name for record in pods))
        hint = f"did you mean {' or '.join(near)}?" if near else ""
        raise NotFoundError(f"pod {pod}", f"{len(pods):,} pods are known", hint)
    return next((r for r in found if r.namespace == DEFAULT_NAMESPACE), found[0])


def _events(records: Iterable[Record], pod: Record, start: float) -> list[StepFact]:
    """Events about a pod, by time."""
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
            found += list(_told(event, start))
    return sorted(found, key=lambda step: step.time_s)


def _told(event: Event, start: float) -> Iterator[StepFact]:
    """One event, at its first time; where it was told again, at its last time too."""
    step = {"FailedScheduling": "no place", "Scheduled": "placed"}.get(event.reason, event.reason)
    first = _time(event.first_timestamp or event.event_time)
    last = _time(event.last_timestamp)
    if first is not None:
        yield StepFact(max(0.0, first - start), step, event.message)
    if last is not None and event.count > 1 and last != first:
        more = f"{event.message} ({event.count} times in all)"
        yield StepFact(max(0.0, last - start), step, more)


def _time(text: str | None) -> float | None:
    try:
        return parse_timestamp(text) if text else None
    except InputError:
        return None


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
