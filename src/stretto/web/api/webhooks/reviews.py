"""Calls of webhooks that a request waits for.

A request is answered by a function that never waits. If the function needs the answer of a webhook,
it raises ``PendingReviewsError``. Once the answers are in the request's memory, the function runs
again from the start, with the objects at that time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stretto.stores.webhooks import WebhookAnswer, WebhookCall


class ReviewCall(msgspec.Struct, frozen=True):
    """One call of a webhook about a request."""

    #: Webhook and subject: equal keys have equal answers within one request.
    key: str
    #: The body.
    call: WebhookCall


class ReviewMemory(msgspec.Struct):
    """Data that a request keeps between its attempts, so that all attempts make the same calls."""

    #: Answers by the key of their call.
    answers: dict[str, WebhookAnswer] = msgspec.field(default_factory=dict)
    #: Sent requests of conversions, by the key of their call.
    requests: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Results of converters, by their input.
    converted: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    #: Identities and generated parts of names by their purpose.
    drawn: dict[str, str] = msgspec.field(default_factory=dict)

    def draw(self, purpose: str, make: Callable[[], str]) -> str:
        """Return the text for a purpose; it is drawn once."""
        if purpose not in self.drawn:
            self.drawn[purpose] = make()
        return self.drawn[purpose]

    def take(self, calls: Sequence[ReviewCall], answers: Sequence[WebhookAnswer]) -> None:
        """Store the answers of calls."""
        self.answers |= {call.key: answer for call, answer in zip(calls, answers, strict=True)}

    def forget(self) -> None:
        """Clear the data, because the next call belongs to another request."""
        for each in (self.answers, self.requests, self.converted, self.drawn):
            each.clear()


class PendingReviewsError(Exception):
    """A request cannot be answered before some webhooks have answered."""

    def __init__(self, calls: Sequence[ReviewCall]) -> None:
        super().__init__(f"{len(calls)} calls of webhooks")
        #: The calls to make, all at the same time.
        self.calls = tuple(calls)


@dataclass(frozen=True)
class PendingReviews:
    """An attempt that waits for webhooks."""

    #: The calls to make, all at the same time.
    calls: tuple[ReviewCall, ...]
