"""Webhook calls of a local cluster, in the background of its event loop."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from starlette.types import ASGIApp

from stretto.stores.kube.webhooks import HttpWebhookClient
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto.web.api.webhooks.reviews import ReviewCall, ReviewMemory
from stretto.web.application import Attempt, application
from stretto.web.barrier import Barrier


class LocalWebhooks:
    """Caller of webhooks; it connects with the first call."""

    def __init__(self) -> None:
        """Create the caller without a connection."""
        self._client: HttpWebhookClient | None = None
        self._running: set[str] = set()

    def application(self, attempt: Attempt, barrier: Barrier) -> ASGIApp:
        """Return the API of a server that calls webhooks."""
        return application(attempt, barrier, self.review)

    async def review(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Call webhooks at the same time; return one answer for each."""
        return await asyncio.wrap_future(self._called(calls))

    def start(self, memory: ReviewMemory, calls: Sequence[ReviewCall]) -> None:
        """Start calls of webhooks; a memory receives the answers later.

        Calls in flight are not repeated.
        """
        new = [each for each in calls if each.key not in self._running]
        if not new:
            return
        self._running |= {each.key for each in new}
        future = self._called([each.call for each in new])

        def keep(done: "Future[Sequence[WebhookAnswer]]") -> None:
            self._running.difference_update(each.key for each in new)
            if not done.cancelled() and done.exception() is None:
                memory.take(new, done.result())

        future.add_done_callback(keep)

    def close(self) -> None:
        """End all calls."""
        if self._client is not None:
            self._client.close()

    def _called(self, calls: Sequence[WebhookCall]) -> "Future[Sequence[WebhookAnswer]]":
        if self._client is None:
            self._client = HttpWebhookClient(pause=0.0)
        return self._client.start(calls)
