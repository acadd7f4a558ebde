"""Processes of tasks: started in a session of their own, and followed across restarts.

A shell waits for the task and writes its exit status to a file, so that an agent that was restarted
in between reads it.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from stretto.offers.messages.schema import Message

_WAIT: Final = (
    '"$@"; code=$?; echo "$code" > "$STRETTO_EXIT.new"; mv "$STRETTO_EXIT.new" "$STRETTO_EXIT"'
)
_START_FIELD: Final = 21
"""Position of the start time in /proc/PID/stat."""


def command_line(command: Message) -> list[str]:
    """The program and arguments of a CommandInfo."""
    if command.get("shell", True):
        return ["/bin/sh", "-c", command.get("value", "")]
    program = command.get("value", "")
    arguments = list(command.get("arguments", ())) or [program]
    return [program, *arguments[1:]] if program else arguments


def environment(command: Message, extra: dict[str, str]) -> dict[str, str]:
    """Environment of a task: a path, the agent's variables, then those of the command."""
    given = {
        each["name"]: each.get("value", "")
        for each in command.get("environment", {}).get("variables", ())
    }
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return {"PATH": path} | extra | given


def start(arguments: list[str], env: dict[str, str], sandbox: Path, exit_file: Path) -> int:
    """Start a task in its sandbox; return the id of its first process.

    Raises:
        OSError: the process cannot be started.
    """
    exit_file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(sandbox / "stdout"), flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(sandbox / "stderr"), flags, 0o644),
    ]
    script = f'cd "$STRETTO_SANDBOX" && unset STRETTO_SANDBOX; {_WAIT}'
    variables = env | {"STRETTO_EXIT": str(exit_file), "STRETTO_SANDBOX": str(sandbox)}
    line = ["/bin/sh", "-c", script, "task", *arguments]
    return os.posix_spawn("/bin/sh", line, variables, file_actions=actions, setsid=True)


def start_time(pid: int) -> int:
    """When a process started, in clock ticks after boot; 0 if it does not exist or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[_START_FIELD - 2])


def reap(pid: int) -> None:
    """Collect a process that has ended, if it is a child of this one."""
    with suppress(ChildProcessError, OSError):
        os.waitpid(pid, os.WNOHANG)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to all processes of a task."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def exit_status(exit_file: Path) -> int | None:
    """The exit status of a task; None if it was not written."""
    try:
        return int(exit_file.read_text())
    except (OSError, ValueError):
        return None
