"""Signals wait for a place where a command may stop; a second one does not wait."""

import os
import signal

import pytest

from stretto.cli.failures import Terminated
from stretto.cli.interrupts import DeferredInterrupt


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_waits_until_it_is_asked_for(
    number: signal.Signals, error: type[BaseException]
) -> None:
    with DeferredInterrupt() as held:
        held.check()
        os.kill(os.getpid(), number)
        assert held.waiting == number
        with pytest.raises(error):
            held.check()


def test_a_second_signal_raises_at_once() -> None:
    with DeferredInterrupt():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with DeferredInterrupt():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
