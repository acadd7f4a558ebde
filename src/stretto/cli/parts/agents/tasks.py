"""The part of ``stretto agent`` that runs the tasks of Mesos frameworks."""

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from stretto.base.errors import InputError, NotAllowedError
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.parts.masters.address import MasterAccess, address, authorization, trust

if TYPE_CHECKING:
    from stretto.agent.tasks.containers.cgroups import Cgroups
    from stretto.agent.tasks.settings import TaskAgentSettings
    from stretto.offers.messages.schema import Message

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class TaskOptions(MasterAccess):
    """Options of an agent that runs tasks."""

    #: Directory of sandboxes and state.
    work_dir: Path
    #: Host name in offers.
    hostname: str | None
    #: Port of the executor API.
    port: int
    #: Offered resources.
    resources: str | None
    #: Attributes.
    attributes: str
    #: Limits of tasks: ``auto``, ``none``, ``share`` or ``cap``.
    limits: str
    #: Maximum number of processes of a task; ``None`` for no limit.
    max_processes: int | None
    #: True if URIs are downloaded.
    fetch_http: bool
    #: Directory of relative URIs.
    frameworks_home: Path | None
    #: True if executors must send their token.
    authenticate_executors: bool
    #: Maximum number of seconds until an executor subscribes.
    executor_registration_timeout: float
    #: Maximum number of seconds until an executor subscribes after a restart of the agent.
    executor_reregistration_timeout: float
    #: Seconds between SHUTDOWN and SIGKILL.
    executor_shutdown_grace_period: float


_OPTIONS: Final = (
    click.option(
        "--work-dir",
        default=Path("stretto-agent"),
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Directory of sandboxes and state [stretto-agent].",
    ),
    click.option("--hostname", metavar="NAME", help="Host name in offers [this machine's]."),
    click.option(
        "--port",
        default=5051,
        type=options.WholeRange(1, 65535),
        metavar="PORT",
        help="Serve executors on this port of 127.0.0.1; each agent of one machine has its own"
        " [5051].",
    ),
    click.option(
        "--resources",
        metavar="LIST",
        help="Offered resources, such as 'cpus:4;mem:8192' [the whole machine].",
    ),
    click.option("--attributes", default="", metavar="LIST", help="Attributes, such as 'rack:k1'."),
    click.option(
        "--limits",
        type=click.Choice(["auto", "none", "share", "cap"]),
        default="auto",
        show_default=True,
        help="Limit memory of tasks, and CPU by a weight (share) or a limit (cap). auto: share,"
        " if this machine permits it.",
    ),
    click.option(
        "--max-processes",
        type=options.WholeRange(1, 4_194_304),
        metavar="N",
        help="Maximum processes and threads of a task or an executor with its tasks [no limit].",
    ),
    click.option("--fetch-http", is_flag=True, help="Download http and https URIs."),
    click.option(
        "--frameworks-home",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Directory of relative URIs [they are refused].",
    ),
    click.option(
        "--authenticate-executors",
        is_flag=True,
        help="Refuse executors without the token in MESOS_EXECUTOR_AUTHENTICATION_TOKEN.",
    ),
    click.option(
        "--executor-registration-timeout",
        type=options.FiniteRange(min=0.1),
        default=60.0,
        metavar="SECONDS",
        help="Time in which an executor must subscribe [60].",
    ),
    click.option(
        "--executor-reregistration-timeout",
        type=options.FiniteRange(min=0.1),
        default=30.0,
        metavar="SECONDS",
        help="Time in which an executor must subscribe after a restart of the agent [30].",
    ),
    click.option(
        "--executor-shutdown-grace-period",
        type=options.FiniteRange(min=0.0),
        default=5.0,
        metavar="SECONDS",
        help="Time in which an executor must end after SHUTDOWN [5].",
    ),
)


def task_options(command: F) -> F:
    """Add the options of an agent that runs tasks."""
    for each in reversed(_OPTIONS):
        command = each(command)
    return command


def run_tasks(common: CommandContext, opts: TaskOptions) -> None:
    """Run tasks until the process is stopped.

    Raises:
        InputError: an option cannot be used.
        NotAllowedError: this machine does not permit the limits.
    """
    from stretto.agent.tasks.agent import TaskAgent
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng

    clock = WallClock()
    rng = Rng(common.seed).child(f"{clock.now():.6f}")
    made = TaskAgent(_settings(common, opts), clock, rng, common.console.note)
    asyncio.run(made.serve())


def _settings(common: CommandContext, opts: TaskOptions) -> "TaskAgentSettings":
    from stretto.agent.tasks.amounts import attributes, resources
    from stretto.agent.tasks.containers.fetcher import Fetcher
    from stretto.agent.tasks.executors.environment import ExecutorTimes
    from stretto.agent.tasks.settings import TaskAgentSettings

    url = address(opts)
    try:
        opts.work_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected = f"a directory: {error.strerror}"
        raise InputError("--work-dir", str(opts.work_dir), expected) from error
    listed = resources(opts.resources) if opts.resources is not None else _machine(opts.work_dir)
    return TaskAgentSettings(
        master_host=url.hostname or "",
        master_port=url.port or 5050,
        work_dir=opts.work_dir.absolute(),
        hostname=opts.hostname or socket.gethostname(),
        port=opts.port,
        resources=tuple(listed),
        attributes=tuple(attributes(opts.attributes)),
        authorization=authorization(opts),
        trust=trust(opts),
        fetcher=Fetcher(opts.fetch_http, opts.frameworks_home),
        cgroups=_cgroups(common, opts),
        authenticate_executors=opts.authenticate_executors,
        executors=ExecutorTimes(
            opts.executor_registration_timeout,
            opts.executor_reregistration_timeout,
            opts.executor_shutdown_grace_period,
        ),
    )


def _cgroups(common: CommandContext, opts: TaskOptions) -> "Cgroups | None":
    """Return the limits of tasks; ``auto`` without permission is a note, unless a limit is given.

    Raises:
        InputError: a limit is given but limits are off.
        NotAllowedError: this machine does not permit the limits.
    """
    from stretto.agent.tasks.containers.cgroups import Cgroups, LimitMode

    limits, most = opts.limits, opts.max_processes
    if limits == "none":
        if most is not None:
            raise InputError("--max-processes", most, "no value with --limits none")
        return None
    try:
        return Cgroups(Path("/"), LimitMode("share" if limits == "auto" else limits), most)
    except NotAllowedError as error:
        if limits != "auto" or most is not None:
            raise
        common.console.note(f"tasks are not limited: {error.reason}")
        return None


def _machine(directory: Path) -> "list[Message]":
    """Return CPUs, memory and disk of this machine, except 1 GB of memory and 5 GB of disk."""
    from stretto.agent.tasks.amounts import scalar

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    existing = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    disk = shutil.disk_usage(existing).free >> 20
    return [
        scalar("cpus", float(os.cpu_count() or 1)),
        scalar("mem", float(max(memory // 2, memory - 1024))),
        scalar("disk", float(max(disk // 2, disk - 5120))),
    ]
