"""A command in its sandbox: fetches files, sets limits, starts the process and follows it."""

import asyncio
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.tasks.containers import processes
from stretto.agent.tasks.containers.cgroups import Cgroups, MemoryKill
from stretto.agent.tasks.containers.fetcher import Fetcher, FetchError
from stretto.agent.tasks.containers.users import UserError, command_user
from stretto.agent.tasks.containers.volumes import VolumeError, Volumes
from stretto.offers.messages.schema import Message

LAUNCH_FAILED: Final = "REASON_CONTAINER_LAUNCH_FAILED"
"""Reason of a task whose container did not start."""


MEMORY: Final = "REASON_CONTAINER_LIMITATION_MEMORY"
"""Reason of a task that exceeded its memory."""
KILLED: Final = 128 + signal.SIGKILL
"""Exit status of a killed container."""
ATTEMPTS: Final = 20
"""Number of checks for remaining processes, because the kernel ends them with a delay."""


class LaunchError(Exception):
    """A container did not start; the text contains the reason."""


class ContainerSpec(msgspec.Struct, frozen=True):
    """The command of a container, its directory and its settings."""

    #: Unique name on this machine.
    name: str
    #: Directory of the sandbox and of the exit status.
    place: Path
    #: CommandInfo.
    command: Message
    #: Variables of the agent.
    variables: Mapping[str, str]
    #: ContainerInfo; empty without one.
    info: Message = {}
    #: Resource messages that the container may use.
    resources: tuple[Message, ...] = ()
    #: Upper limits by resource, which replace the resources; infinite: no limit.
    limits: Mapping[str, float] = {}

    @property
    def sandbox(self) -> Path:
        """The working directory of the container."""
        return self.place / "sandbox"

    @property
    def exit_file(self) -> Path:
        """File of the exit status."""
        return self.place / "exit"

    @property
    def environment(self) -> Mapping[str, str]:
        """All variables of the process."""
        return processes.environment(self.command, self.variables)


class ContainerTools(msgspec.Struct, frozen=True):
    """Dependencies of containers."""

    #: Fetches URIs.
    fetcher: Fetcher
    #: Persistent volumes.
    volumes: Volumes
    #: Limits of containers; None: no limits.
    cgroups: Cgroups | None = None


class ContainerProcess(msgspec.Struct, frozen=True):
    """The first process of a container."""

    #: Process id.
    pid: int
    #: Start time in clock ticks after boot.
    started: int


class ContainerEnd(msgspec.Struct, frozen=True):
    """End of a container."""

    #: Exit status as a shell writes it; above 128: a signal; None if it was not written.
    code: int | None
    #: The exceeded memory limit; None if none was exceeded.
    memory: MemoryKill | None = None

    @property
    def text(self) -> str:
        """Text about the end, for users."""
        if self.memory is not None:
            return self.memory.text
        if self.code is None:
            return "ended without a status"
        return f"exited with status {self.code}"

    @property
    def wait_status(self) -> int:
        """The status in the format of ``wait``; -1 if it is unknown."""
        if self.code is None:
            return -1
        return self.code - 128 if self.code > 128 else self.code << 8


class TaskContainer:
    """Container of one command."""

    def __init__(
        self, spec: ContainerSpec, tools: ContainerTools, process: ContainerProcess | None = None
    ) -> None:
        """Prepare a container, or follow the process of an earlier run of the agent."""
        self._spec = spec
        self._tools = tools
        self._process = process
        self._stopped = threading.Event()
        self._escalation: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        """Return whether the process was started."""
        return self._process is not None

    async def launch(self) -> ContainerProcess:
        """Fetch the files and start the process; a process that was started before is followed.

        Raises:
            LaunchError: the container cannot be started, or was stopped meanwhile.
        """
        spec = self._spec
        refused = unsupported(spec.info)
        if refused:
            raise LaunchError(refused)
        try:
            pid = processes.find(spec.exit_file)
            if not pid:
                spec.sandbox.mkdir(parents=True, exist_ok=True)
                self._tools.volumes.attach(spec.resources, spec.sandbox)
                await self._fetched()
                if self._stopped.is_set():
                    raise LaunchError("stopped before its start")
                pid = self._start()
        except (OSError, FetchError, VolumeError, UserError) as error:
            raise LaunchError(str(error)) from error
        self._process = ContainerProcess(pid, processes.start_time(pid))
        if self._stopped.is_set():
            self.kill_after(0.0)
        return self._process

    def _start(self) -> int:
        """Start the process as the user of the command, which owns the sandbox."""
        spec, line = self._spec, processes.command_line(self._spec.command)
        user = command_user(spec.command.get("user"))
        if user is not None:
            user.own(spec.sandbox)
            line = [*user.prefix, *line]
        paths = processes.ProcessPaths(spec.sandbox, spec.exit_file, self._cgroup())
        return processes.start(line, spec.environment, paths)

    async def ended(self) -> ContainerEnd:
        """Wait for the end, including that of all remaining processes."""
        process = self._process
        if process is not None:
            await processes.ended(process.pid, process.started)
            if self._escalation is not None:
                self._escalation.cancel()
            await self._kill_rest(process.pid)
        memory = await self._leave_cgroup()
        code = processes.exit_status(self._spec.exit_file)
        if code is None and self._stopped.is_set():
            code = KILLED
        return ContainerEnd(code, memory)

    def resize(self, resources: tuple[Message, ...]) -> None:
        """Change the limits of the container, and attach its volumes.

        Raises:
            OSError: the limits cannot be written, or a directory cannot be created.
            VolumeError: a volume cannot be attached.
        """
        if self._process is not None:
            self._tools.volumes.attach(resources, self._spec.sandbox)
        if self._tools.cgroups is not None and self._process is not None:
            self._tools.cgroups.create(self._spec.name, resources, self._spec.limits)

    def stop(self, grace: float) -> None:
        """Send SIGTERM, and SIGKILL after ``grace`` seconds.

        A container before its start never starts.
        """
        self._stopped.set()
        if self._process is None:
            return
        if grace > 0:
            processes.send(self._process.pid, signal.SIGTERM)
        self.kill_after(grace)

    def kill_after(self, grace: float) -> None:
        """Send SIGKILL after ``grace`` seconds, without SIGTERM."""
        self._stopped.set()
        if self._process is not None:
            loop = asyncio.get_running_loop()
            send = processes.send
            self._escalation = loop.call_later(grace, send, self._process.pid, signal.SIGKILL)

    async def _fetched(self) -> None:
        """Fetch the files of the command in a thread; a stop ends the fetch."""
        uris = self._spec.command.get("uris", ())
        fetch = self._tools.fetcher.fetch
        try:
            await asyncio.to_thread(fetch, uris, self._spec.sandbox, self._stopped)
        except asyncio.CancelledError:
            self._stopped.set()
            raise

    async def _kill_rest(self, pid: int) -> None:
        """Kill the remaining processes, and processes that they start meanwhile."""
        processes.send(pid, signal.SIGKILL)
        for _ in range(ATTEMPTS):
            if not processes.kill_marked(self._spec.exit_file):
                break
            await asyncio.sleep(processes.POLL)

    async def _leave_cgroup(self) -> MemoryKill | None:
        """Remove the cgroup once its processes are gone; return its memory use over the limit."""
        cgroups, name = self._tools.cgroups, self._spec.name
        if cgroups is None:
            return None
        killed = cgroups.memory_kill(name)
        for _ in range(ATTEMPTS):
            if cgroups.remove(name):
                break
            await asyncio.sleep(processes.POLL)
        return killed

    def _cgroup(self) -> Path | None:
        """Create the cgroup with the limits of the container."""
        if self._tools.cgroups is None:
            return None
        spec = self._spec
        return self._tools.cgroups.create(spec.name, spec.resources, spec.limits)


def unsupported(info: Message) -> str | None:
    """Return unsupported settings of a ContainerInfo; containers are plain processes."""
    if info.get("type") == "DOCKER":
        return "containers of the type DOCKER are not supported: use MESOS without an image"
    if "image" in info.get("mesos", {}):
        return "images are not supported: container.mesos.image must not be set"
    if info.get("volumes"):
        return "volumes are not supported: container.volumes must be empty"
    return None
