"""Processes of tasks: started in a separate session, and followed across restarts of the agent.

A shell waits for the task and writes its exit status to a file. Therefore an agent that restarts in
between can read the status. The space of the file is reserved at the start, because the disk may be
full at the end.
"""

import asyncio
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from stretto.offers.messages.schema import Message

POLL: Final = 0.05
"""Seconds between two checks of a process."""
MARK: Final = "STRETTO_EXIT"
"""Variable with the exit file; it identifies all processes of a task, also in other sessions."""
ENDED: Final = -1
"""Placeholder for the id of a process that ended before it was followed."""
_SCRIPT: Final = """
[ -z "$STRETTO_CGROUP" ] || echo $$ > "$STRETTO_CGROUP/cgroup.procs" || exit 1
unset STRETTO_CGROUP
cd "$STRETTO_SANDBOX" || exit 1
unset STRETTO_SANDBOX
"$@"
code=$?
echo "$code" 1<> "$STRETTO_EXIT"
"""
_NO_STATUS: Final = b"none\n"
_START_FIELD: Final = 21
"""Position of the start time in /proc/PID/stat."""


class ProcessPaths(NamedTuple):
    """Paths of a process."""

    #: Working directory, with the output.
    sandbox: Path
    #: File of the exit status.
    exit_file: Path
    #: Cgroup; None for the cgroup of the agent.
    cgroup: Path | None = None


def command_line(command: Message) -> list[str]:
    """The program and arguments of a CommandInfo."""
    if command.get("shell", True):
        return ["/bin/sh", "-c", command.get("value", "")]
    program = command.get("value", "")
    arguments = list(command.get("arguments", ())) or [program]
    return [program, *arguments[1:]] if program else arguments


def environment(command: Message, extra: Mapping[str, str]) -> dict[str, str]:
    """Environment of a task: PATH, the agent's variables, then those of the command."""
    given = {
        each["name"]: each.get("value", "")
        for each in command.get("environment", {}).get("variables", ())
    }
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return {"PATH": path, **extra, **given}


def start(arguments: list[str], env: Mapping[str, str], paths: ProcessPaths) -> int:
    """Start a task; return the id of its first process.

    Raises:
        OSError: the process cannot be started.
    """
    sandbox = paths.sandbox
    _reserve(paths.exit_file)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(sandbox / "stdout"), flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(sandbox / "stderr"), flags, 0o644),
    ]
    variables = {
        **env,
        MARK: str(paths.exit_file),
        "STRETTO_SANDBOX": str(sandbox),
        "STRETTO_CGROUP": "" if paths.cgroup is None else str(paths.cgroup),
    }
    line = ["/bin/sh", "-c", _SCRIPT, "task", *arguments]
    return os.posix_spawn("/bin/sh", line, variables, file_actions=actions, setsid=True)


def start_time(pid: int) -> int:
    """Start time of a process in clock ticks after boot; 0 if it does not exist or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[_START_FIELD - 2])


def reap(pid: int) -> None:
    """Collect a process that has ended, if it is a child of this process."""
    if pid > 0:
        with suppress(OSError):
            os.waitpid(pid, os.WNOHANG)


async def ended(pid: int, started: int) -> None:
    """Wait until a process has ended; a later process with the same id does not count."""
    while started and start_time(pid) == started:  # noqa: ASYNC110  (maybe no child)
        await asyncio.sleep(POLL)
    reap(pid)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to all processes of a task."""
    if pid > 0:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)


def kill_marked(exit_file: Path) -> int:
    """Kill the processes of a task in any session; return their number."""
    found = list(_marked(exit_file))
    for each in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)
    return len(found)


def find(exit_file: Path) -> int:
    """Find the first process of an earlier start; ENDED if it has ended, 0 if there was none."""
    if not exit_file.exists():
        return 0
    leaders = [each for each in _marked(exit_file) if _is_leader(each)]
    if leaders:
        return min(leaders, key=start_time)
    return ENDED if exit_status(exit_file) is not None else 0


def exit_status(exit_file: Path) -> int | None:
    """The exit status of a task; None if it was not written."""
    try:
        return int(exit_file.read_bytes().partition(b"\n")[0])
    except (OSError, ValueError):
        return None


def _marked(exit_file: Path) -> Iterator[int]:
    """Processes of a task, by the variable in their environment."""
    wanted = f"{MARK}={exit_file}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and wanted in _variables(entry):
            yield int(entry.name)


def _is_leader(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def _variables(process: Path) -> list[bytes]:
    """The environment of a process; empty if it has ended or belongs to another user."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _reserve(exit_file: Path) -> None:
    """Create the exit file with as many bytes as a status needs."""
    with exit_file.open("wb") as file:
        file.write(_NO_STATUS)
        file.flush()
        os.fsync(file.fileno())
