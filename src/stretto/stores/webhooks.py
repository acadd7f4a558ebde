"""Calls of webhooks: request, answer, and the protocol of a client."""

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
    #: Timeout in seconds.
    timeout_s: float
    #: TLS of the server; ``None`` for the defaults.
    tls: WebhookTLSConfig | None = None
    #: Maximum bytes of an answer.
    most_bytes: int = MOST_BYTES


class WebhookFault(Enum):
    """Reason of a call without an answer."""

    #: None, or another problem, which ``problem`` describes.
    OTHER = "other"
    #: The server has not answered in time.
    TIMEOUT = "timeout"
    #: No server listens on the address.
    REFUSED = "refused"
    #: The host name cannot be resolved.
    UNKNOWN_HOST = "unknown host"
    #: No trusted authority has signed the certificate of the server.
    UNTRUSTED = "untrusted"


class WebhookAnswer(msgspec.Struct, frozen=True):
    """The answer to one call."""

    #: Body of an answer, also of an error status.
    body: bytes = b""
    #: Reason why there is no usable answer; empty if there is one.
    problem: str = ""
    #: HTTP status of an error; 0 otherwise.
    status: int = 0
    #: True if the body is plain text, which messages may show.
    is_text: bool = True
    #: Reason of a call without an answer.
    fault: WebhookFault = WebhookFault.OTHER


class WebhookClient(Protocol):
    """Client that sends calls."""

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Send calls at the same time; return one answer for each, in the same order.

        The client returns failures as answers and raises no error.
        """
        ...


class NoWebhooks:
    """Client that reaches no server: every call fails."""

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Return a problem for each call."""
        return [WebhookAnswer(problem="this process calls no webhooks") for _ in calls]


NO_WEBHOOKS: Final = NoWebhooks()
"""The client of a process without webhooks."""
