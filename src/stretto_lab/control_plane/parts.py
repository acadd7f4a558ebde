"""One program of a control plane as a process: started, killed, paused and stopped.

Each runs in a session of its own, so that Ctrl-C reaches whoever started it and the programs are
stopped in order. Should that one be killed outright, the kernel kills them (``setpriv`` asks it
to): no way out leaves a process behind.
"""

import contextlib
import fcntl
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from stretto.base.errors import StrettoError

STOP_WITHIN: Final = 5.0
"""Seconds that a program has to end by itself."""
_BLOCK: Final = 200
"""Ports of a block: more than a process uses at once, so that none comes again soon."""
_BLOCKS: Final = range(12_000, 32_000, _BLOCK)
"""Where blocks begin, all below the ephemeral ports (32768 and on, where nobody has moved them)."""
_SAID: Final = 12
"""Lines of a program's log that are shown when it ended too early."""


class ServerProcess:
    """A program with its arguments and its log."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """A program that is not running yet."""
        #: What it is called in messages.
        self.name = name
        #: Where everything that it says goes.
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running program."""
        if self._process is None:
            raise StrettoError(f"{self.name} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there (paused counts as running)."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.is_running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_bound(), *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Ask it to end; one that does not in so many seconds is killed."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        if self._process is not None:
            try:
                self._process.wait(within)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill it with its children, as ``kill -9`` does."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def pause(self) -> None:
        """Stop its time: connections stay open and nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def check(self) -> None:
        """Say what it said, where it has ended although nobody asked.

        Raises:
            StrettoError: it is not running.
        """
        if not self.is_running:
            raise StrettoError(f"{self.name} has ended; it said:\n{self.said()}")

    def said(self) -> str:
        """The last lines of its log."""
        if not self.log.exists():
            return ""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-_SAID:])

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on now, all different, and that nobody is given soon.

    Programs start long after their ports were chosen. So the ports are no ephemeral ones, which
    any connection may take meanwhile, and each process that asks has a block of its own.
    """
    found: list[int] = []
    for port in _PORTS:
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("ports go round and round")


def _claimed_ports() -> Iterator[int]:
    """The ports of a block that is this process's for as long as it lives, again and again."""
    with contextlib.ExitStack() as held:
        block = next(each for each in _BLOCKS if _is_locked(each, held))
        yield from itertools.cycle(range(block, block + _BLOCK))


def _is_locked(block: int, held: contextlib.ExitStack) -> bool:
    """Whether a block could be had; a file is locked while it is."""
    folder = Path(tempfile.gettempdir()) / f"stretto-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = held.enter_context((folder / str(block)).open("w"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    return True


_PORTS: Final = _claimed_ports()
"""Ports to be had, from the block that is looked for when the first one is asked for."""


def _bound() -> list[str]:
    """What makes the kernel kill a program when its starter is gone, where that is to be had."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--"] if found else []
