"""The webhook server of a recording: it answers as the recorded one did."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from stretto.base.clock import Clock
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto_lab.conformance.wire.scenario import RecordedCall

HANGS: Final = "hang"
"""Status of an answer that came after the client had given up."""


class RecordedWebhooks:
    """Answers each call as the most similar recorded call was answered."""

    def __init__(self, calls: Sequence[RecordedCall], clock: Clock, start: float) -> None:
        """A server.

        Args:
            calls: the recorded calls.
            clock: time of the replay.
            start: wall time at which the scenario begins.
        """
        self._calls = calls
        self._clock = clock
        self._start = start

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """The recorded answers."""
        return [self._answer(each) for each in calls]

    def knows(self, call: WebhookCall) -> bool:
        """True if a call about the same subject was recorded."""
        return bool(self._alike(call))

    def _alike(self, call: WebhookCall) -> list[RecordedCall]:
        """The recorded calls about the subject of a call."""
        path, subject = urlsplit(call.url).path, _subject(msgspec.json.decode(call.body))
        return [x for x in self._calls if x.path == path and _subject(x.request) == subject]

    def _answer(self, call: WebhookCall) -> WebhookAnswer:
        alike, request = self._alike(call), msgspec.json.decode(call.body)
        if not alike:
            path = urlsplit(call.url).path
            return WebhookAnswer(problem=f"HTTP status 404: no recorded call of {path}")
        now = self._clock.now() - self._start
        wanted = _replicas(request)
        found = min(alike, key=lambda x: (_replicas(x.request) != wanted, abs(x.t - now)))
        if found.code == HANGS:
            return WebhookAnswer(problem=f"no answer within {call.timeout_s:g} s")
        if found.code != 200:
            return WebhookAnswer(problem=f"HTTP status {found.code}: {found.answer}")
        return WebhookAnswer(_text(found.answer))


class ScenarioWebhooks:
    """The webhook servers of scenarios that run at the same time."""

    def __init__(self, clock: Clock) -> None:
        """No scenario.

        Args:
            clock: time of the replays.
        """
        self._clock = clock
        self._servers = [RecordedWebhooks((), clock, 0.0)]

    def add(self, calls: Sequence[RecordedCall], start: float) -> None:
        """Answer the calls of a scenario that starts at ``start``, too."""
        self._servers.append(RecordedWebhooks(calls, self._clock, start))

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """The recorded answers; one server says what no server knows."""
        return [self._server(each).send([each])[0] for each in calls]

    def _server(self, call: WebhookCall) -> RecordedWebhooks:
        return next((x for x in self._servers if x.knows(call)), self._servers[0])


def _subject(request: Any) -> tuple[Any, ...]:
    """The object and the cluster that a call is about."""
    unit = request["schedulingUnit"]
    cluster = (request.get("cluster") or {}).get("metadata", {}).get("name")
    return unit["kind"], unit.get("namespace"), unit["name"], cluster


def _replicas(request: Any) -> Any:
    return request["schedulingUnit"].get("desiredReplicas")


def _text(answer: Any) -> bytes:
    """The body of an answer; one that was no JSON was recorded as text."""
    return answer.encode() if isinstance(answer, str) else msgspec.json.encode(answer)
