"""Client of the webhooks of scheduling profiles, for verbs that write nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from stretto.stores.webhooks import WebhookAnswer, WebhookCall

if TYPE_CHECKING:
    from stretto.stores.kube.webhooks import HttpWebhookClient

MOST_S: Final = 5.0
"""Maximum number of seconds for one call."""


class LimitedWebhooks:
    """A client that opens no connection before the first call, and waits a limited time."""

    def __init__(self) -> None:
        """Create a client without connections."""
        self._client: HttpWebhookClient | None = None

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Send calls in parallel; return one answer for each, in the same order."""
        from stretto.stores.kube.webhooks import HttpWebhookClient

        if self._client is None:
            self._client = HttpWebhookClient()
        replace = msgspec.structs.replace
        return self._client.send(
            [replace(each, timeout_s=min(each.timeout_s, MOST_S)) for each in calls]
        )

    def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            self._client.close()


@contextmanager
def limited_webhooks() -> Iterator[LimitedWebhooks]:
    """Open a client for the duration of the block."""
    client = LimitedWebhooks()
    try:
        yield client
    finally:
        client.close()
