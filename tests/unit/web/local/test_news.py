"""Waiting for news of a local cluster."""

import asyncio

import pytest

from stretto.web.local.serving import news_within


async def cancelled_with_news() -> None:
    """Cancel a task that waits for news at the time of the news."""
    news = asyncio.Event()
    task = asyncio.create_task(news_within(news, 60.0))
    for _ in range(3):  # the task and what it starts wait
        await asyncio.sleep(0)
    news.set()
    task.cancel()
    await task


def test_a_cancellation_together_with_news_is_not_lost() -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled_with_news())


def test_waiting_ends_without_news() -> None:
    asyncio.run(news_within(asyncio.Event(), 0.0))
