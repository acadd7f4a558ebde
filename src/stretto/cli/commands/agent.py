"""``stretto agent``: measure this machine, or run the tasks of Mesos frameworks on it."""

import asyncio
import os
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.commands.addressing import (
    MasterAccess,
    address,
    authorization,
    master_options,
    trust,
)
from stretto.cli.commands.measuring import MeasureOptions, measure, measure_options
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.agent.tasks.settings import TaskAgentSettings
    from stretto.offers.messages.schema import Message


@dataclass(frozen=True, kw_only=True)
class AgentOptions(MeasureOptions, MasterAccess):
    """Options of ``agent``."""

    #: Whether tasks are run.
    tasks: bool
    #: Directory of sandboxes and state.
    work_dir: Path
    #: Host name in offers.
    hostname: str | None
    #: Announced port.
    port: int
    #: Offered resources.
    resources: str | None
    #: Attributes.
    attributes: str


@options.command(
    "agent",
    AgentOptions,
    example="""
        stretto agent --once -o json
        stretto agent --node worker-1 --every 10
        stretto agent --tasks --master http://127.0.0.1:5050 --work-dir /var/lib/stretto-agent
        stretto agent --tasks --resources 'cpus:4;mem:8192;ports:[31000-32000]' --attributes rack:k1
    """,
    result=False,
)
@measure_options
@click.option("--tasks", is_flag=True, help="Run tasks of Mesos frameworks, and measure nothing.")
@master_options
@click.option(
    "--work-dir",
    default=Path("stretto-agent"),
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep sandboxes and state here [stretto-agent].",
)
@click.option("--hostname", metavar="NAME", help="Host name in offers [this machine's].")
@click.option(
    "--port",
    default=5051,
    type=options.WholeRange(1, 65535),
    metavar="PORT",
    help="Announced port; agents of one machine need different ones [5051].",
)
@click.option(
    "--resources",
    metavar="LIST",
    help="What is offered, such as 'cpus:4;mem:8192' [all CPUs, memory and disk of the machine].",
)
@click.option("--attributes", default="", metavar="LIST", help="Attributes, such as 'rack:k1'.")
def agent(common: CommandContext, opts: AgentOptions) -> None:
    """Measure this machine, or with --tasks run the tasks that a Mesos master launches on it.

    A measured machine is reported in the CustomNodeResource of its node: topology, GPUs, network
    devices, use of pods. One report is one write, and nothing is written without a change.

    Each task runs in a sandbox of its own with its output in files. Status updates are sent until
    the framework acknowledges them. Tasks continue while the agent is stopped; an agent that
    starts again in the same directory reports what happened. SIGTERM or Ctrl-C stops it.
    """
    from stretto.agent.tasks.agent import TaskAgent
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng

    if not opts.tasks:
        measure(common, opts)
        return
    clock = WallClock()
    rng = Rng(common.seed).child(f"{clock.now():.6f}")
    made = TaskAgent(_settings(opts), clock, rng, common.console.note)
    with suppress(asyncio.CancelledError):
        asyncio.run(made.run())


def _settings(opts: AgentOptions) -> "TaskAgentSettings":
    from stretto.agent.tasks.amounts import attributes, resources
    from stretto.agent.tasks.settings import TaskAgentSettings

    url = address(opts)
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
    )


def _machine(directory: Path) -> "list[Message]":
    """CPUs, memory and disk of this machine; 1 GB of memory and 5 GB of disk are left to it."""
    from stretto.agent.tasks.amounts import scalar

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    existing = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    disk = shutil.disk_usage(existing).free >> 20
    return [
        scalar("cpus", float(os.cpu_count() or 1)),
        scalar("mem", float(max(memory // 2, memory - 1024))),
        scalar("disk", float(max(disk // 2, disk - 5120))),
    ]
