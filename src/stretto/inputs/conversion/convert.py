"""Conversion of a trace, dump or scenario to a recording for ``simulate`` and ``compare``."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.conversion.dumps import dump_timeline
from stretto.inputs.conversion.fleets import fleet_timeline
from stretto.inputs.conversion.scenarios import scenario_timeline
from stretto.inputs.conversion.source_format import DUMP, SCENARIO, format_of
from stretto.inputs.conversion.timeline import OnWritten, Timeline, write_timeline
from stretto.inputs.neutral.bounds import EVERYTHING, TraceBounds
from stretto.inputs.neutral.fleet import Fleet, FleetNode
from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.traces.downloads import work_list
from stretto.inputs.traces.formats import TRACES, TraceFormat
from stretto.inputs.traces.openb.reader import load_nodes


class ConvertSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a conversion."""

    #: Format of the source; empty to recognise it.
    format: str = ""
    #: A node list of the format, or in openb format if it has none; ``None`` for the nodes of the
    #: source.
    nodes: Path | None = None
    #: Nodes as ``SHAPE:N``; empty for the nodes of the source.
    nodes_like: str = ""
    #: The part of a trace that is read.
    bounds: TraceBounds = EVERYTHING
    #: Values for keys of the format, such as ``lifetime``; keys that it does not have are ignored.
    keys: Mapping[str, Any] = {}


DEFAULTS: Final = ConvertSettings()
"""Read everything, and recognize the format."""


class ConversionReport(msgspec.Struct, frozen=True):
    """Result of a conversion: ``stretto convert``."""

    #: The file or folder that was read.
    source: str
    #: Its format.
    format: str
    #: The recording.
    out: str
    #: Nodes at second 0.
    nodes: int
    #: Pods.
    pods: int
    #: Pods with the node on which they ran.
    placed: int
    #: Number of gangs.
    gangs: int
    #: Changes after second 0.
    changes: int
    #: Seconds that the recording covers.
    seconds: float
    #: Second of the source that is second 0 of the recording.
    origin_s: float
    #: Sentences about omissions and assumptions.
    notes: tuple[str, ...]


def convert(
    source: Path,
    out: Path,
    settings: ConvertSettings = DEFAULTS,
    *,
    force: bool = False,
    on_written: OnWritten = lambda _: None,
) -> ConversionReport:
    """Write a source as a recording.

    Args:
        source: a trace (a file, or a folder with all of its files), a dump of a cluster, or a
            scenario.
        out: the recording; packed if it ends in ``.gz``.
        settings: format, nodes and bounds of the source.
        force: true to replace an existing file.
        on_written: receives the number of pods written so far.

    Raises:
        InputError: the source cannot be used (for an unknown file, the message lists the formats
            and the nearest one), or ``out`` exists.
    """
    check_target(out, force=force)
    timeline = timeline_of(source, settings)
    changes = write_timeline(timeline, out, on_written)
    return report_of(timeline, source, out, changes)


def check_target(out: Path, *, force: bool) -> None:
    """Refuse to replace a file.

    Raises:
        InputError: the file exists.
    """
    if out.is_file() and not force:
        hint = "choose another name, or add --force"
        raise InputError(str(out), "an existing file", "a new file", hint)


def report_of(timeline: Timeline, source: Path, out: Path, changes: int) -> ConversionReport:
    """The report of a written timeline."""
    counts = timeline.counts
    return ConversionReport(
        source=str(source),
        format=timeline.format,
        out=str(out),
        nodes=counts.nodes,
        pods=counts.pods,
        placed=counts.placed,
        gangs=counts.gangs,
        changes=changes,
        seconds=round(timeline.seconds, 3),
        origin_s=timeline.origin_s,
        notes=timeline.notes,
    )


def timeline_of(source: Path, settings: ConvertSettings = DEFAULTS) -> Timeline:
    """A source as a timeline.

    Raises:
        InputError: the source cannot be used.
        UnknownNameError: there is no such format.
    """
    name = settings.format or format_of(source)
    if name == SCENARIO:
        return scenario_timeline(source)
    if name == DUMP:
        return dump_timeline(source, _given_nodes(settings, load_nodes))
    found = TRACES.get(name)
    nodes = _given_nodes(settings, found.nodes or load_nodes)
    fleet = _fleet(source, found, settings, nodes)
    if not fleet.pods:
        expected = "at least one pod in the selected part"
        raise InputError(str(source), None, expected, "widen --window or --sample")
    return fleet_timeline(fleet, name, settings.bounds.start_s)


def _given_nodes(
    settings: ConvertSettings, read: Callable[[Path], tuple[FleetNode, ...]]
) -> tuple[FleetNode, ...]:
    """The nodes that the settings name; ``read`` reads a node list of the format."""
    if settings.nodes is not None and settings.nodes_like:
        expected = "--nodes or --nodes-like, not both"
        raise InputError("--nodes-like", settings.nodes_like, expected)
    if settings.nodes is not None:
        return read(settings.nodes)
    return nodes_like(settings.nodes_like, where="--nodes-like") if settings.nodes_like else ()


def _fleet(
    source: Path, found: TraceFormat, settings: ConvertSettings, nodes: Sequence[FleetNode]
) -> Fleet:
    """The nodes and pods of a trace; the nodes of the settings replace its own.

    A pod keeps its node if that exists.
    """
    if found.fleet is None:
        return _fleet_of_lists(source, found, settings, tuple(nodes))
    fleet = found.fleet(source, settings.bounds, found.keys_for(source, **settings.keys))
    if nodes:
        fleet = msgspec.structs.replace(fleet, nodes=tuple(nodes), changes=())
    known = {node.name for node in fleet.nodes} | {change.name for change in fleet.changes}
    pods = tuple(
        msgspec.structs.replace(pod, node="", start_s=None) if pod.node not in known else pod
        for pod in fleet.pods
    )
    return msgspec.structs.replace(fleet, pods=pods)


def _fleet_of_lists(
    source: Path, found: TraceFormat, settings: ConvertSettings, nodes: tuple[FleetNode, ...]
) -> Fleet:
    """The fleet of a format with one work list.

    Nodes are those of the settings, else those of a node list in the same folder, else those of the
    work list.
    """
    path = source
    if source.is_dir() and found.layouts:
        path, listed = work_list(source, found.layouts)
        if not nodes and listed is not None and found.nodes is not None:
            nodes = found.nodes(listed)
    if not nodes and found.own_nodes is not None:
        with suppress(InputError):  # a log need not describe nodes
            nodes = found.own_nodes(path)
    keys = found.keys_for(path, **settings.keys)
    pods = found.pods_for(found.items(path, None, keys), keys, nodes)
    return Fleet(nodes, settings.bounds.of(pods), path.name)
