"""The part of ``stretto agent`` that measures a machine and reports to the scheduler."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.agent.node import NodeAgent
    from stretto.base.clock import Clock
    from stretto.framework.profile.capacity.reclaim import ExtendedNames, ReclaimRules

F = TypeVar("F", bound=Callable[..., Any])

ONCE_S: Final = 0.5
"""Seconds between the two readings of ``--once``, enough to compute rates."""


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Options of an agent that measures."""

    #: Name of the node; ``None`` for the host name.
    node: str | None
    #: True if one report is printed and nothing is written.
    once: bool
    #: Format of the report: ``json`` or ``yaml``.
    output: str
    #: Path of the root of the file system.
    root: Path
    #: Seconds between reports.
    every: float
    #: Profile of the scheduler; ``None`` for the defaults.
    profile: str | None
    #: Enforcement of limits of best-effort pods: ``off``, ``dry-run`` or ``on``.
    enforce: str
    #: CPU limit of best-effort pods: ``quota`` or ``cpuset``.
    cpu_limit: str
    #: Maximum CPU use of the node at which best-effort pods may run, in percent.
    cpu_percent: int
    #: Directory with the record of the limits.
    state_dir: Path
    #: Kubeconfig; ``None`` for the pod's service account or kubectl's default.
    kubeconfig: Path | None
    #: Context of the kubeconfig; empty for its current one.
    context: str


_OPTIONS: Final = (
    click.option("--node", metavar="NAME", help="Name of the node [host name]."),
    click.option("--once", is_flag=True, help="Print one report and write nothing."),
    click.option(
        "-o",
        "--output",
        type=click.Choice(["json", "yaml"]),
        default="yaml",
        show_default=True,
        help="Format of the report.",
    ),
    click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path("/"),
        show_default=True,
        help="Root of the file system, such as /host in a container.",
    ),
    click.option(
        "--every",
        type=options.FiniteRange(min=1.0),
        default=60.0,
        metavar="SECONDS",
        help="Seconds between reports [60].",
    ),
    click.option(
        "--profile",
        default=None,
        metavar="NAME|FILE",
        help="The scheduler's profile, whose section reclaim selects the estimator [canonical].",
    ),
    click.option(
        "--enforce",
        type=click.Choice(["off", "dry-run", "on"]),
        default="off",
        show_default=True,
        help="Limit CPU and memory of best-effort pods, and evict them when memory is short.",
    ),
    click.option(
        "--cpu-limit",
        type=click.Choice(["quota", "cpuset"]),
        default="quota",
        show_default=True,
        help="Limit the CPU of best-effort pods by CPU time (quota) or by assigned CPUs (cpuset).",
    ),
    click.option(
        "--cpu-percent",
        type=options.WholeRange(1, 100),
        default=65,
        show_default=True,
        metavar="PERCENT",
        help="CPU of the node up to which best-effort pods may fill it.",
    ),
    click.option(
        "--state-dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("/run/stretto-agent"),
        show_default=True,
        metavar="DIR",
        help="Directory in which the limits are recorded, so that the next agent can release them.",
    ),
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        default=None,
        help="Kubeconfig [service account or ~/.kube/config].",
    ),
    click.option(
        "--context", default="", metavar="NAME", help="Context of the kubeconfig [current]."
    ),
)


def measure_options(command: F) -> F:
    """Add the options of an agent that measures."""
    for each in reversed(_OPTIONS):
        command = each(command)
    return command


def measure(common: CommandContext, opts: MeasureOptions) -> None:
    """Print one report, or report until the process is stopped.

    Raises:
        InputError: the root is not the root of a Linux machine.
    """
    from stretto.agent.limits.enforcer import EnforceMode, Enforcer
    from stretto.agent.limits.plan import CpuLimit, LimitRules
    from stretto.agent.node import NodeAgent
    from stretto.agent.topology.gpus import gpu_reader
    from stretto.base.clock import WallClock
    from stretto.framework.profile.capacity.reclaim import ExtendedNames

    if not (opts.root / "proc/stat").exists():
        expected = "the root of a Linux file system with /proc and /sys"
        raise InputError("--root", str(opts.root), expected, "mount them, for example at /host")
    clock = WallClock()
    rules = None if opts.profile is None else _reclaim_rules(opts.profile)
    limits = LimitRules(cpu_percent=opts.cpu_percent, cpu_limit=CpuLimit(opts.cpu_limit))
    enforcer = Enforcer(opts.root, EnforceMode(opts.enforce), limits, opts.state_dir)
    machine = NodeAgent(opts.root, gpu_reader(opts.root), clock, rules, enforcer)
    if opts.once:
        _print_once(common, opts, machine, clock)
    else:
        names = rules.extended_resources if rules is not None else ExtendedNames.NONE
        _report(common, opts, (machine, names), clock)


def _reclaim_rules(profile: str) -> "ReclaimRules | None":
    """Read the section of a profile; only this needs the modules of all rules, which take 6 MiB."""
    from stretto.framework.profile.profile import load_profile

    return load_profile(profile).capacity.reclaim


def _print_once(
    common: CommandContext, opts: MeasureOptions, machine: "NodeAgent", clock: "Clock"
) -> None:
    """Print the report of a short interval."""
    import msgspec

    machine.measure()
    clock.sleep(ONCE_S)
    status = machine.measure()
    machine.close()
    document = {"node": opts.node or socket.gethostname(), "status": msgspec.to_builtins(status)}
    if opts.enforce != "off":
        document["enforced"] = msgspec.to_builtins(machine.enforced)
    if opts.output == "json":
        common.console.data(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        common.console.data(msgspec.yaml.encode(document).decode().rstrip())


def _report(
    common: CommandContext,
    opts: MeasureOptions,
    agent: "tuple[NodeAgent, ExtendedNames]",
    clock: "Clock",
) -> None:
    """Report until the process is stopped."""
    from stretto.agent.report.writer import ReportWriter
    from stretto.base.rng import Rng
    from stretto.cli.sources.stores import scheduler_store

    node = opts.node or socket.gethostname()
    store = scheduler_store(opts.kubeconfig, opts.context, Rng(0))
    machine, names = agent
    writer = ReportWriter(store, node, names)
    try:
        while True:
            if machine.step(store, node, writer):
                common.console.note(f"report {writer.writes} of node {node}")
            _note_limits(common, opts, machine)
            clock.sleep(opts.every)
    finally:
        machine.close()
        store.close()


def _note_limits(common: CommandContext, opts: MeasureOptions, machine: "NodeAgent") -> None:
    """Note the limits that the last step set, or would set."""
    head = "would set" if opts.enforce == "dry-run" else "set"
    for change in machine.enforced.changes:
        where = f"{change.cgroup}/{change.kind.value}"
        common.console.note(f"{head} {where} to {change.value!r}: {change.reason}")
    for uid in machine.enforced.evicted:
        common.console.note(f"{'would evict' if head != 'set' else 'evicted'} pod {uid}")
