"""Options of ``stretto simulate`` and ``stretto compare`` for traces, and the resulting format."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import InputError
from stretto.cli.parts.traces.replay import WhatIfOptions

if TYPE_CHECKING:
    from stretto.inputs.traces.formats import TraceFormat

OF_FORMATS: Final = (
    "nodes", "nodes_like", "node_filter", "node_limit",
    "policy", "on_unschedulable", "gpus", "gpus_per_node", "queue", "lifetime", "gangs",
    "queues_by", "columns", "only", "limit",
)  # fmt: skip
"""Options that apply only to some formats (``TraceFormat.options``)."""


LIFETIME: Final = click.option(
    "--lifetime",
    type=click.Choice(["min", "mid", "max"]),
    help="azure-vm: value of a lifetime bin to use [min].",
)
"""Lifetime of a VM of which only a bin is known."""
VM_GANGS: Final = click.option(
    "--gangs", is_flag=True, help="azure-vm: schedule the VMs of a batch as a gang."
)
"""Batches of VMs as gangs."""


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(WhatIfOptions):
    """Options of ``simulate``; ``None`` for options that are not given."""

    #: Format of the trace; ``None`` for a recording, or for detection by content.
    format: str | None = None
    #: The list of pods, jobs or VMs.
    pods: Path | None = None
    #: A node list in openb format.
    nodes: Path | None = None
    #: Nodes as ``SHAPE:N``.
    nodes_like: str | None = None
    #: Required values of nodes, as ``K=V,...``.
    node_filter: str | None = None
    #: Maximum number of nodes.
    node_limit: int | None = None
    #: The policy.
    policy: str | None = None
    #: Handling of pods that do not fit: ``wait`` or ``reject``.
    on_unschedulable: str | None = None
    #: GPUs of the pool.
    gpus: int | None = None
    #: GPUs of each node of the pool; ``None`` for a pool of one node.
    gpus_per_node: int | None = None
    #: Order of the queue.
    queue: str | None = None
    #: Value of a lifetime bin: ``min``, ``mid`` or ``max``.
    lifetime: str | None = None
    #: True if the VMs of a batch are a gang.
    gangs: bool = False
    #: Field of a job that contains the name of its Queue.
    queues_by: str | None = None
    #: The column map of a CSV file.
    columns: Path | None = None
    #: Required values of jobs.
    only: str | None = None
    #: Maximum number of jobs.
    limit: int | None = None
    #: True if unplaced pods are an error.
    require_all: bool = False

    @property
    def trace(self) -> Path:
        """List of pods, jobs or VMs; the option checks guarantee that there is one."""
        assert self.pods is not None
        return self.pods

    @property
    def trace_format(self) -> str:
        """Format of the trace."""
        assert self.format is not None
        return self.format


def opened_trace(opts: SimulateOptions) -> SimulateOptions:
    """Return the options with the path and the format of the trace in place.

    FILE is a trace unless its content is a recording. If no option gives the format, the content of
    the trace determines it. In a folder, the function finds the list of work and the list of nodes.

    Raises:
        InputError: the file cannot be read, its content has no known format, or a folder has no
            list of work, or several.
        UnknownNameError: the format does not exist.
    """
    from stretto.inputs.traces.recognition import recognised
    from stretto.sim.history.file_kinds import FileKind, kind_of_file

    besides = ""
    if opts.recording is not None:
        kind = kind_of_file(opts.recording)
        if kind not in (None, FileKind.TRACE, FileKind.TABLE):
            given = "--format" if opts.format is not None else "--columns"
            if opts.format is not None or opts.columns is not None:
                expected = f"no such option: {opts.recording} is a {kind.value}"
                raise InputError(given, opts.format or opts.columns, expected, "leave it out")
            return opts
        besides = "a recording (make one with: stretto record) or "
        if opts.pods is not None:
            raise InputError("--pods", opts.pods, "FILE or --pods, not both")
        opts = replace(opts, recording=None, pods=opts.recording)
    if opts.format is None and opts.pods is not None:
        mapped = opts.columns is not None
        opts = replace(opts, format="csv" if mapped else recognised(opts.pods, besides).format)
    return _in_folder(opts) if opts.pods is not None and opts.pods.is_dir() else opts


def _in_folder(opts: SimulateOptions) -> SimulateOptions:
    """Return the options with the files of a folder.

    Formats of several tables read the whole folder.

    Raises:
        InputError: the folder has no list of work, or several, or the format has no file names.
        UnknownNameError: the format does not exist.
    """
    from stretto.inputs.traces.downloads import work_list
    from stretto.inputs.traces.formats import TRACES

    found = TRACES.get(opts.trace_format)
    path, nodes = opts.trace, opts.trace if found.nodes is not None else None
    if found.fleet is None:
        if not found.layouts:
            raise InputError(str(path), None, f"a file of the format {opts.format}")
        path, nodes = work_list(path, found.layouts)
    given = (opts.nodes, opts.nodes_like, opts.gpus)
    if given != (None, None, None) or "nodes" not in found.options:
        nodes = opts.nodes
    return replace(opts, pods=path, nodes=nodes)


def checked_format(opts: SimulateOptions) -> "TraceFormat":
    """Return the format of the trace.

    Raises:
        InputError: a required option is missing, or an option does not apply.
        UnknownNameError: the format does not exist.
    """
    from stretto.inputs.traces.formats import TRACES

    for name, value in (("--format", opts.format), ("--pods", opts.pods)):
        if value is None:
            hint = "or simulate a recording: stretto simulate FILE"
            expected = f"one of {', '.join(TRACES.names())}" if name == "--format" else "a file"
            raise InputError(name, None, expected, hint)
    found = TRACES.get(opts.trace_format)
    for name in sorted(set(OF_FORMATS) - found.options):
        if getattr(opts, name) not in (None, False):
            formats = ", ".join(n for n in TRACES.names() if name in TRACES.get(n).options)
            option = f"--{name.replace('_', '-')}"
            expected = f"no such option with --format {opts.format}"
            raise InputError(option, getattr(opts, name), expected, f"it applies to {formats}")
    return found
