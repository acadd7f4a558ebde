"""Calls of webhooks: what is sent, what comes back, and the protocol of a client."""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol

import msgspec

from stretto.api.types.federation.objects import WebhookTLSConfig

MOST_BYTES: Final = 1 << 20
"""Maximum bytes of an answer."""


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
    #: Maximum bytes of an answer.
    most_bytes: int = MOST_BYTES


class WebhookFault(Enum):
    """What kept a call from its answer."""

    #: Nothing, or what the problem says.
    OTHER = "other"
    #: The server has not answered in time.
    TIMEOUT = "timeout"
    #: No server listens there.
    REFUSED = "refused"
    #: The name of the server has no address.
    UNKNOWN_HOST = "unknown host"
    #: The certificate of the server is not that of a trusted authority.
    UNTRUSTED = "untrusted"


class WebhookAnswer(msgspec.Struct, frozen=True):
    """The answer to one call."""

    #: Body of an answer, also of one whose status is that of a failure.
    body: bytes = b""
    #: Why there is no usable answer; empty if there is one.
    problem: str = ""
    #: HTTP status of a failure; 0 otherwise.
    status: int = 0
    #: True if the body is plain text, which messages may show.
    is_text: bool = True
    #: What kept the call from its answer.
    fault: WebhookFault = WebhookFault.OTHER


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
