"""One program of a control plane as a process: start, kill, pause and stop.

Each program runs in its own session, so that Ctrl-C reaches only the parent, which stops the
programs in order. If the parent is killed, the kernel kills them (through ``setpriv``), so no
process is left behind.
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
"""Seconds for a graceful exit."""
_BLOCK: Final = 200
"""Ports per block; more than a process uses at once, so that no port is reused soon."""
_BLOCKS: Final = range(12_000, 32_000, _BLOCK)
"""First port of each block; all are below the ephemeral ports (32768 by default)."""
_TAIL: Final = 12
"""Log lines shown in errors."""


class ServerProcess:
    """A program with its arguments and its log."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Prepare a program without starting it."""
        #: Name in messages.
        self.name = name
        #: File of its output.
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
        """True if the process exists; this includes a paused process."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process if it is not running."""
        if self.is_running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_killed_with_parent(), *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Send SIGTERM, and kill the process after ``within`` seconds."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        if self._process is not None:
            try:
                self._process.wait(within)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill the process and its children with SIGKILL."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def pause(self) -> None:
        """Suspend the process; its connections stay open without replies."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume the process."""
        self._signal(signal.SIGCONT)

    def check(self) -> None:
        """Check that the process is running.

        Raises:
            StrettoError: it has exited; the message contains the end of its log.
        """
        if not self.is_running:
            raise StrettoError(f"{self.name} has exited; last lines of its log:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The last lines of its log."""
        if not self.log.exists():
            return ""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-_TAIL:])

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that are not in use and are not reused soon.

    Programs start long after their ports are chosen. The ports are therefore not ephemeral ones,
    which any connection may use, and each process reserves its own block.
    """
    found: list[int] = []
    for port in _PORTS:
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("the port iterator ended")


def _claimed_ports() -> Iterator[int]:
    """The ports of a block that this process has locked, in an endless cycle."""
    with contextlib.ExitStack() as locks:
        block = next(each for each in _BLOCKS if _is_locked(each, locks))
        yield from itertools.cycle(range(block, block + _BLOCK))


def _is_locked(block: int, locks: contextlib.ExitStack) -> bool:
    """Try to lock the file of a block; true if it succeeded."""
    folder = Path(tempfile.gettempdir()) / f"stretto-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = locks.enter_context((folder / str(block)).open("w"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    return True


_PORTS: Final = _claimed_ports()
"""Ports of the block, which is locked at the first use."""


def _killed_with_parent() -> list[str]:
    """Command prefix that makes the kernel kill a program with its parent, if supported."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--"] if found else []
