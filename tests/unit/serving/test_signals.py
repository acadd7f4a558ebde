"""A server ends with a signal, whenever the signal arrives."""

import os
import signal
from typing import Any

import pytest

from stretto.cli.failures import Terminated
from stretto.cli.interrupts import DeferredInterrupt
from stretto.serving.sockets import LOOPBACK, listening, serve


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer nothing."""


def terminate() -> None:
    """Send SIGTERM to this process."""
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_arrives_before_the_server_handles_signals_ends_it() -> None:
    with listening(LOOPBACK, 0) as listener, DeferredInterrupt() as held:
        terminate()
        with pytest.raises(Terminated):
            serve(app, listener, held.check)


def test_a_signal_that_arrives_as_the_server_begins_ends_it() -> None:
    with listening(LOOPBACK, 0) as listener, DeferredInterrupt() as held:
        serve(app, listener, terminate)
        assert held.pending == signal.SIGTERM
