"""The table of trace formats: what ``--format`` and a scenario may name."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.base.registry import Registry
from stretto.inputs.neutral.fleet import Fleet
from stretto.inputs.traces.azure_vm import Lifetime, load_azure_vm
from stretto.inputs.traces.openb.reader import load_openb, load_pods
from stretto.inputs.traces.philly import load_philly


class TraceFiles(msgspec.Struct, frozen=True):
    """The files of a trace, and how to read what they leave open."""

    #: The list of work.
    pods: Path
    #: The list of machines, for formats that have one; ``None`` reads the work alone.
    nodes: Path | None = None
    #: Which end of a lifetime bin is meant.
    lifetime: Lifetime = Lifetime.MIN
    #: Whether work that came as one batch is admitted as one.
    gangs: bool = False


def _openb(files: TraceFiles) -> Fleet:
    """openb: both lists, or the pods alone."""
    if files.nodes is None:
        return Fleet((), load_pods(files.pods), f"{files.pods.name} (openb format)")
    return load_openb(files.nodes, files.pods)


def _philly(files: TraceFiles) -> Fleet:
    """philly: jobs, no machines."""
    _no_nodes(files, "philly")
    return load_philly(files.pods)


def _azure_vm(files: TraceFiles) -> Fleet:
    """azure-vm: virtual machines, no hosts."""
    _no_nodes(files, "azure-vm")
    return load_azure_vm(files.pods, files.lifetime, gangs=files.gangs)


def _no_nodes(files: TraceFiles, name: str) -> None:
    """Refuse a node list for a format that has none."""
    if files.nodes is not None:
        hint = "describe the machines in another way"
        raise InputError("nodes", str(files.nodes), f"no node list: {name} has none", hint)


TRACES: Final[Registry[Callable[[TraceFiles], Fleet]]] = Registry(
    "trace format", {"openb": _openb, "philly": _philly, "azure-vm": _azure_vm}
)
"""Format name to its loader."""


def load_trace(name: str, files: TraceFiles) -> Fleet:
    """The fleet in the files of a named format; an unknown name is answered with the nearest."""
    return TRACES.get(name)(files)
