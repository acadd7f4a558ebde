"""Writes of the server's own components that wait for webhooks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from stretto.stores.webhooks import NO_WEBHOOKS
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory

T = TypeVar("T")

_MOST_ATTEMPTS: Final = 100
"""Maximum attempts of a write whose webhooks have answered."""
_MOST_MEMORIES: Final = 1024
"""Maximum number of waiting writes; beyond it, the oldest one's webhooks are called again."""

StartReviews = Callable[[ReviewMemory, Sequence[ReviewCall]], None]
"""Starts calls of webhooks; a memory receives their answers."""


def refuse_reviews(memory: ReviewMemory, calls: Sequence[ReviewCall]) -> None:
    """Answer in place of webhooks that are not called."""
    memory.take(calls, NO_WEBHOOKS.send([each.call for each in calls]))


class PendingWrites:
    """Runner of writes that keeps the answers of their webhooks until the writes are repeated."""

    def __init__(self, start: StartReviews) -> None:
        """Use a function that calls webhooks in the background."""
        self._start = start
        self._memories: dict[str, ReviewMemory] = {}

    def run(self, purpose: str, call: Call, write: Callable[[Call], T]) -> T:
        """Run a write that webhooks may have to admit.

        If the webhooks have not answered yet, the write fails. A repetition with the same purpose
        uses their answers.

        Raises:
            ApiError: the write is refused, or waits for webhooks.
        """
        memory = self._memories.get(purpose) or ReviewMemory()
        request = replace(call.request, memory=memory)
        for _ in range(_MOST_ATTEMPTS):
            try:
                found = write(replace(call, request=request))
            except PendingReviewsError as pending:
                self._remember(purpose, memory)
                self._start(memory, pending.calls)
                if any(each.key not in memory.answers for each in pending.calls):
                    text = f"{len(pending.calls)} webhooks have not answered yet"
                    raise ApiError(503, "ServiceUnavailable", text) from pending
                continue
            except ApiError:
                self._memories.pop(purpose, None)
                raise
            self._memories.pop(purpose, None)
            return found
        raise ApiError(503, "ServiceUnavailable", "webhooks keep changing the object")

    def _remember(self, purpose: str, memory: ReviewMemory) -> None:
        self._memories[purpose] = memory
        if len(self._memories) > _MOST_MEMORIES:
            del self._memories[next(iter(self._memories))]
