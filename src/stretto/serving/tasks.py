"""The end of concurrent tasks, such as a server and its work."""

import asyncio


async def end_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait for their end.

    The error of each task is read, so that the event loop writes no trace of it.

    Raises:
        Exception: the error of the first task that has failed.
    """
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
