"""Wake-ups of streams: set together, at intervals and at a deadline, with pauses for requests."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from stretto.base.errors import StrettoError
from stretto.web.wakeups import LONGEST_PAUSE, Direct, Round, Wakeup, WakeupGroup


class ManualLoop:
    """Event loop whose time and turns are those of the test."""

    def __init__(self) -> None:
        self.now = 0.0
        self.soon: list[Callable[[], None]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, call: Any, *arguments: Any) -> None:
        self.soon.append(lambda: call(*arguments))

    call_soon_threadsafe = call_soon

    def call_at(self, time: float, call: Any) -> None:
        self.later.append((time, call))

    def call_later(self, seconds: float, call: Any) -> None:
        self.call_at(self.now + seconds, call)

    def turn(self, seconds: float = 0.0) -> None:
        """Run the calls of one turn; then the time passes."""
        due, self.soon = self.soon, []
        self.now += seconds
        for call in due:
            call()


def flags(loop: Any, count: int) -> list[Wakeup]:
    """Flags of one group that are not set."""
    group = WakeupGroup(loop)
    return [Wakeup(group, 5.0) for _ in range(count)]


def after_a_round(seconds: float) -> tuple[ManualLoop, Wakeup]:
    """A flag whose group has just had a round of some seconds."""
    loop = ManualLoop()
    (flag,) = flags(loop, 1)
    flag.wake()
    loop.turn()
    loop.turn(seconds)
    flag.clear()
    loop.later.clear()
    flag.wake()
    loop.turn()
    return loop, flag


def test_one_call_of_the_loop_sets_all_flags_of_a_round() -> None:
    loop = ManualLoop()
    both = flags(loop, 2)
    for each in both:
        each.wake()
    calls = len(loop.soon)
    loop.turn()
    assert (calls, [each.is_set for each in both]) == (1, [True, True])


def test_a_round_pauses_as_long_as_the_last_one_took() -> None:
    loop, flag = after_a_round(0.004)
    assert (flag.is_set, [time for time, _ in loop.later]) == (False, [0.004 + 0.004])


def test_a_pause_is_limited() -> None:
    loop, _ = after_a_round(1.0)
    assert [time for time, _ in loop.later] == [1.0 + LONGEST_PAUSE]


def test_a_flag_is_set_after_the_pause() -> None:
    loop, flag = after_a_round(0.004)
    loop.later[0][1]()
    assert flag.is_set


def test_a_round_after_the_pause_does_not_wait() -> None:
    loop, flag = after_a_round(0.0)
    assert (flag.is_set, loop.later) == (True, [])


def test_a_flag_is_set_at_its_deadline() -> None:
    loop: Any = ManualLoop()
    flag = Wakeup(WakeupGroup(loop), 5.0, 3.0)
    dict(loop.later)[3.0]()
    assert flag.is_set


def test_another_thread_wakes_a_task() -> None:
    async def wait() -> bool:
        flag = Wakeup(WakeupGroup(asyncio.get_running_loop()), 60.0)
        threading.Thread(target=flag.wake).start()
        await asyncio.wait_for(flag.wait(), 30)
        flag.close()
        return flag.is_set

    assert asyncio.run(wait())


def in_a_round(direct: Direct, enclosing: Round = nullcontext) -> bool:
    """Return whether a task that waits goes on after a round."""

    async def run() -> bool:
        group = WakeupGroup(asyncio.get_running_loop(), enclosing)
        flag = Wakeup(group, 60.0, direct=direct)
        waiting = asyncio.ensure_future(flag.wait())
        await asyncio.sleep(0)
        flag.wake()
        for _ in range(4):
            await asyncio.sleep(0)
        flag.close()
        if waiting.done():
            waiting.result()
        return not waiting.cancel()

    return asyncio.run(run())


@contextmanager
def failing() -> Iterator[None]:
    """Fail at the start of a round."""
    raise StrettoError("lost")
    yield


def test_a_stream_that_is_served_in_a_round_does_not_wake_its_task() -> None:
    assert not in_a_round(lambda _: True)


def test_a_stream_that_a_round_leaves_to_its_task_wakes_it() -> None:
    assert in_a_round(lambda _: False)


def test_a_task_receives_the_error_of_a_round() -> None:
    with pytest.raises(StrettoError, match="lost"):
        in_a_round(lambda _: True, failing)


def test_a_round_does_not_serve_a_stream_whose_task_is_busy() -> None:
    loop: Any = ManualLoop()
    served: list[object] = []
    flag = Wakeup(WakeupGroup(loop), 5.0, direct=lambda it: not served.append(it))
    flag.wake()
    loop.turn()
    assert (flag.is_set, served) == (True, [])
