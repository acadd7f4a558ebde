"""The webhook server of a recording, which gives recorded answers."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from stretto.base.clock import Clock
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto_lab.conformance.wire.scenario import RecordedCall

HANGS: Final = "hang"
"""Status of an answer that arrived after the client's time limit."""


class RecordedWebhooks:
    """Answers each call with the answer of the most similar recorded call."""

    def __init__(self, calls: Sequence[RecordedCall], clock: Clock, start: float) -> None:
        """Initialize with recorded calls.

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
        """Start without scenarios.

        Args:
            clock: time of the replays.
        """
        self._clock = clock
        self._servers = [RecordedWebhooks((), clock, 0.0)]

    def add(self, calls: Sequence[RecordedCall], start: float) -> None:
        """Add the calls of a scenario that starts at ``start``."""
        self._servers.append(RecordedWebhooks(calls, self._clock, start))

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """The recorded answers; a call that is not recorded gets an error."""
        return [self._server(each).send([each])[0] for each in calls]

    def _server(self, call: WebhookCall) -> RecordedWebhooks:
        return next((x for x in self._servers if x.knows(call)), self._servers[0])


def _subject(request: Any) -> tuple[Any, ...]:
    """The object and the cluster of a call."""
    unit = request["schedulingUnit"]
    cluster = (request.get("cluster") or {}).get("metadata", {}).get("name")
    return unit["kind"], unit.get("namespace"), unit["name"], cluster


def _replicas(request: Any) -> Any:
    return request["schedulingUnit"].get("desiredReplicas")


def _text(answer: Any) -> bytes:
    """The body of an answer; an answer that was not JSON was recorded as text."""
    return answer.encode() if isinstance(answer, str) else msgspec.json.encode(answer)
