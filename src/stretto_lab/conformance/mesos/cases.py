"""The conformance runner of recorded sessions: one case for each record."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stretto.offers.messages import binary
from stretto_lab.conformance.mesos import sessions
from stretto_lab.conformance.mesos.deviations import deviation_of
from stretto_lab.conformance.mesos.matching import MISSING, UNORDERED, MesosBindings, differences
from stretto_lab.conformance.mesos.replay import MasterReplay, StepOutcome
from stretto_lab.conformance.mesos.sessions import WireRecord
from stretto_lab.conformance.report import Disagreement

Found = tuple[str, Any, Any]
"""A field with the recorded value and the value of the replay."""


class SessionCase(msgspec.Struct, frozen=True):
    """One record, and the result of its replay."""

    #: The record.
    record: WireRecord
    #: The replay after this record.
    replay: MasterReplay
    #: Result of the master.
    outcome: StepOutcome

    @property
    def features(self) -> tuple[str, ...]:
        """The session; reports count agreement by it."""
        return (self.record.session,)


def read(path: Path) -> Iterator[SessionCase]:
    """Replay the sessions of a file; yield each record.

    Raises:
        InputError: the file cannot be read, or a line is not a record.
    """
    for session in sessions.read(path):
        replay = MasterReplay(session)
        for record in session.records:
            yield SessionCase(record, replay, replay.step(record))


def compare(case: SessionCase) -> tuple[list[Disagreement], set[str]]:
    """The differing fields, and the rules of intended differences."""
    disagreed: list[Disagreement] = []
    rules: set[str] = set()
    name = f"{case.record.session}/{case.record.n}"
    for field, want, got in _found(case):
        rule = deviation_of(field)
        if rule is not None:
            rules.add(rule)
        else:
            disagreed.append(Disagreement(name, field, want, got))
    return disagreed, rules


def _found(case: SessionCase) -> Iterator[Found]:
    record, outcome = case.record, case.outcome
    if record.records is not None:
        if record.records != case.replay.records:
            yield "records", record.records, case.replay.records
        return
    if record.status is not None:
        yield from _answer(case)
    yield from _events(case)
    if case.replay.notes_agents and record.agent_received != outcome.agent_received:
        yield "agent_received", record.agent_received, outcome.agent_received


def _answer(case: SessionCase) -> Iterator[Found]:
    record, answer = case.record, case.outcome.answer
    assert answer is not None
    if record.status != answer.status:
        yield "status", record.status, answer.status
    yield from _headers(case)
    if record.json is not None:
        yield from _json(case, answer.body)
    elif record.body is not None:
        got = answer.body.decode(errors="replace")
        if not case.replay.bound.accepts(record.body, got):
            yield "body", case.replay.bound.fill(record.body), got


def _headers(case: SessionCase) -> Iterator[Found]:
    answer = case.outcome.answer
    assert answer is not None
    got = dict(answer.headers)
    if answer.content_type:
        got["Content-Type"] = answer.content_type
    if answer.stream is not None:
        got["Transfer-Encoding"] = "chunked"
    want = dict(case.record.headers)
    length = want.pop("Content-Length", None)
    fixed = case.record.body is not None and "${" not in case.record.body
    if length is not None and fixed and length != f"{len(answer.body)}":
        yield "header Content-Length", length, f"{len(answer.body)}"
    for field, left, right in differences(want, got, case.replay.bound):
        yield f"header {field}", left, right


def _json(case: SessionCase, body: bytes) -> Iterator[Found]:
    want, bound = case.record.json, case.replay.bound
    if case.record.body_base64 is not None:
        want = binary.read("operator.Response", base64.b64decode(case.record.body_base64))
        body = msgspec.json.encode(binary.read("operator.Response", body))
        want = _timeless(want)
    try:
        got = msgspec.json.decode(body)
    except msgspec.DecodeError:
        yield "json", want, body.decode(errors="replace")
        return
    left, right = _metrics(want, bound), _metrics(got, bound)
    if left is not None and right is not None:
        for name in sorted(left.keys() | right.keys()):
            pair = left.get(name, MISSING), right.get(name, MISSING)
            if name not in left or name not in right or list(differences(*pair, bound)):
                yield f"metric {name}", *pair
        return
    for field, one, other in differences(want, got, bound):
        yield f"json {field}", one, other


def _metrics(document: Any, bound: MesosBindings) -> dict[str, Any] | None:
    """The metrics of a document, by name; ``None`` for other documents."""
    if isinstance(document, dict) and document.get("type") == "GET_METRICS":
        return {each["name"]: each["value"] for each in document["get_metrics"]["metrics"]}
    if isinstance(document, dict) and any(key.startswith("master/") for key in document):
        return {bound.fill(key): value for key, value in document.items()}
    return None


def _events(case: SessionCase) -> Iterator[Found]:
    want, got, bound = case.record.events, case.outcome.events, case.replay.bound
    for stream in sorted(want.keys() | got.keys()):
        left, right = _recorded(want.get(stream, [])), got.get(stream, [])
        if isinstance(left, list):
            left, right = _beat_second(left), _beat_second(right)
        for field, one, other in differences(left, right, bound):
            yield f"events {stream}{field}", one, other


def _recorded(events: Any) -> Any:
    """Recorded events as values; protobuf records are decoded."""
    if isinstance(events, dict):
        return {UNORDERED: events[UNORDERED]}
    return [
        _timeless(binary.read("scheduler.Event", base64.b64decode(each["record_base64"])))
        if "record_base64" in each
        else each
        for each in events
    ]


def _beat_second(events: list[Any]) -> list[Any]:
    """Events without a fixed place of the first heartbeat after SUBSCRIBED.

    It may be before or after offers.
    """
    if not events or events[0].get("type") != "SUBSCRIBED":
        return events
    beats = [each for each in events[1:] if each.get("type") == "HEARTBEAT"]
    others = [each for each in events[1:] if each.get("type") != "HEARTBEAT"]
    return [events[0], *beats, *others]


def _timeless(message: Any) -> Any:
    """A message in which times and values of the build match any value."""
    free = {
        "timestamp": "${TIME}",
        "nanoseconds": "${TIME}",
        "build_date": "${BUILD}",
        "build_time": "${TIME}",
        "build_user": "${BUILD}",
        "git_sha": "${BUILD}",
        "git_tag": "${BUILD}",
    }
    if isinstance(message, dict):
        return {key: free.get(key, _timeless(value)) for key, value in message.items()}
    return [_timeless(each) for each in message] if isinstance(message, list) else message
