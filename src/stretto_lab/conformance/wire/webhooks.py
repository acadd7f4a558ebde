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

    def _answer(self, call: WebhookCall) -> WebhookAnswer:
        path, request = urlsplit(call.url).path, msgspec.json.decode(call.body)
        alike = [
            x for x in self._calls if x.path == path and _subject(x.request) == _subject(request)
        ]
        if not alike:
            return WebhookAnswer(problem=f"HTTP status 404: no recorded call of {path}")
        now = self._clock.now() - self._start
        wanted = _replicas(request)
        found = min(alike, key=lambda x: (_replicas(x.request) != wanted, abs(x.t - now)))
        if found.code == HANGS:
            return WebhookAnswer(problem=f"no answer within {call.timeout_s:g} s")
        if found.code != 200:
            return WebhookAnswer(problem=f"HTTP status {found.code}: {found.answer}")
        return WebhookAnswer(_text(found.answer))


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
