"""Recording of the requests of a server while it answers them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from stretto.base.clock import Clock, timestamp
from stretto.base.rng import Rng
from stretto.web.api.authn.users import User
from stretto.web.api.message import Answer, ApiRequest, ApiStream
from stretto.web.api.routes import parse_route, verb_of
from stretto.web.api.webhooks.reviews import PendingReviews
from stretto.web.audit.events import AuditEntry, answer_parts, audit_event, panic_parts
from stretto.web.audit.policy import AuditLevel, AuditPolicy, AuditStage, AuditSubject

Json = dict[str, Any]
Attempt = Callable[[ApiRequest], Answer | PendingReviews]
"""Answers a request, or returns the webhooks that must answer first."""

_IDENTITY: Final = "audit"
_RECEIVED: Final = "audit received"


@dataclass(frozen=True)
class AuditSettings:
    """The recorded events, and the file."""

    #: Policy of the recorded levels.
    policy: AuditPolicy
    #: Writes an event, given as JSON.
    write: Callable[[bytes], None]
    #: Source of the times of events.
    clock: Clock
    #: Source of the identities of requests.
    rng: Rng


class AuditLog:
    """Wrapper that answers requests by a server, and writes events about them."""

    def __init__(
        self, attempt: Attempt, user_of: Callable[[ApiRequest], User], settings: AuditSettings
    ) -> None:
        """Record the requests of a server.

        Args:
            attempt: answers requests.
            user_of: returns the user of a request; a nameless user if it is unknown.
            settings: the recorded events, and the file.
        """
        self._answer = attempt
        self._user_of = user_of
        self._settings = settings

    def attempt(self, request: ApiRequest) -> Answer | PendingReviews:
        """Answer a request, and record it."""
        subject = self._subject(request)
        policy = self._settings.policy
        rule = policy.rule_of(subject)
        if rule.level is AuditLevel.NONE:
            return self._answer(request)
        known = _IDENTITY in request.memory.drawn
        omits = rule.omit_managed_fields
        entry = AuditEntry(
            rule.level,
            request.memory.draw(_IDENTITY, self._settings.rng.uid),
            request,
            subject,
            request.memory.draw(_RECEIVED, self._time),
            policy.omit_managed_fields if omits is None else omits,
        )
        omitted = policy.omit_stages | rule.omit_stages

        def note(stage: AuditStage, answer: Json) -> None:
            if stage not in omitted:
                event = audit_event(entry, stage, self._time(), answer)
                self._settings.write(msgspec.json.encode(event))

        if not known:
            note(AuditStage.RECEIVED, {})
        answer = self._answer(request)
        if isinstance(answer, PendingReviews):
            return answer
        if isinstance(answer, ApiStream):
            return _streamed(answer, subject, note)
        if request.notes.failures:
            note(AuditStage.PANIC, panic_parts(request.notes.failures[0]))
            return answer
        note(AuditStage.COMPLETE, answer_parts(entry, answer))
        return answer

    def _time(self) -> str:
        """Current time in RFC 3339 with microseconds."""
        return timestamp(self._settings.clock.now())

    def _subject(self, request: ApiRequest) -> AuditSubject:
        route = parse_route(request.path)
        user = self._user_of(request)
        if route is None or not route.resource:
            return AuditSubject(user, request.method.lower(), request.path)
        verb = verb_of(request.method, route, watches=request.watches)
        return AuditSubject(user, verb, request.path, route)


def _streamed(
    stream: ApiStream, subject: AuditSubject, note: Callable[[AuditStage, Json], None]
) -> ApiStream:
    """Return a stream whose start and end are recorded."""
    status: Json = {"responseStatus": {"metadata": {}, "code": stream.status}}
    if subject.verb == "watch":
        note(AuditStage.STARTED, status)

    def close() -> None:
        stream.close()
        note(AuditStage.COMPLETE, status)

    return replace(stream, close=close)
