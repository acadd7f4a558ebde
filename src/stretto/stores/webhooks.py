"""Calls of webhooks: what is sent, what comes back, and the protocol of a client."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from stretto.api.types.federation.objects import WebhookTLSConfig


class WebhookCall(msgspec.Struct, frozen=True):
    """One call: a POST of JSON."""

    #: Address.
    url: str
    #: JSON of the request.
    body: bytes
    #: Seconds after which the call has failed.
    timeout_s: float
    #: TLS of the server; ``None`` for the defaults.
    tls: WebhookTLSConfig | None = None


class WebhookAnswer(msgspec.Struct, frozen=True):
    """The answer to one call."""

    #: JSON of an answer with the status 200; empty otherwise.
    body: bytes = b""
    #: Why there is no usable answer; empty if there is one.
    problem: str = ""


class WebhookClient(Protocol):
    """Sends calls."""

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Send calls at the same time; one answer for each, in the same order. Never raises."""
        ...


class NoWebhooks:
    """A client that reaches no server: every call fails."""

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """A problem for each call."""
        return [WebhookAnswer(problem="this process calls no webhooks") for _ in calls]


NO_WEBHOOKS: Final = NoWebhooks()
"""The client of a process without webhooks."""
