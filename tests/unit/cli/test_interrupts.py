"""Signals wait for a place where a command may stop; a second one does not wait."""

import os
import signal
import subprocess
import sys
import weakref

import pytest

from stretto.cli.failures import Terminated
from stretto.cli.interrupts import DeferredInterrupt, terminate


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_waits_until_it_is_read(
    number: signal.Signals, error: type[BaseException]
) -> None:
    with DeferredInterrupt() as held:
        held.check()
        os.kill(os.getpid(), number)
        assert held.pending == number
        with pytest.raises(error):
            held.check()


def test_a_second_signal_raises_at_once() -> None:
    with DeferredInterrupt():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_the_interpreter_discards_is_pending_in_the_next_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    discarded: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: discarded.append(found.exc_value))
    watched = Watched()
    reference = weakref.ref(watched, lambda _: terminate(signal.SIGTERM, None))
    del watched
    with DeferredInterrupt() as held, pytest.raises(Terminated):
        held.check()
    assert reference() is None
    assert [type(each) for each in discarded] == [Terminated]


class Watched:
    """An object that a weak reference can name."""


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with DeferredInterrupt():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
)
def test_a_signal_during_the_imports_ends_without_a_traceback(number: int, word: str) -> None:
    code = (
        "import importlib.abc, os, sys\n"
        "class Signalling(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'stretto.cli.main':\n"
        f"            os.kill(os.getpid(), {number})\n"
        "from stretto.cli.start import main\n"
        "sys.meta_path.insert(0, Signalling())\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, f"stretto: {word}\n")
