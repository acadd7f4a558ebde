"""Google's cluster trace of 2019 (ClusterData2019, trace version 3), as exported from BigQuery.

Tables are JSON lines or CSV with a header, in one file or in shards. Times are microseconds. A
machine is a node from its ADD to its REMOVE. An instance is a pod for each of its runs: from SUBMIT
(or the end of the run before) by SCHEDULE on a machine to EVICT, FAIL, FINISH, KILL or LOST; its
collection is its owner. The priority of a pod is the lowest of its tier. Alloc sets are not
supported: they are omitted, and instances inside them are plain pods.

CPU and memory are normalised to the largest machine; ``unit`` is the size of 1.0.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.inputs.neutral.bounds import EVERYTHING, TraceBounds, check_kept
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetNodeChange, FleetPod
from stretto.inputs.neutral.layouts import FileLayout, Syntax
from stretto.inputs.neutral.rows import TraceRow, trace_rows
from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.traces.downloads import table_files

UNIT: Final = "64cpu-256gib"
"""Default size of 1.0: an assumption, because Google does not publish the size."""
TIERS: Final = (
    (360, "monitoring"),
    (120, "production"),
    (116, "mid"),
    (100, "batch"),
    (0, "free"),
)
"""Lowest priority and name of each tier (Tirmazi et al., Borg: the Next Generation, 2020)."""
_ID: Final = 2**63 - 1
"""Maximum identity; as a time, it stands for an event after the end of the trace."""
_US: Final = 1e6
_MAX_AMOUNT: Final = 1e4
_CPUS, _MEMORY = "cpus", "memory"


def _tables(what: str, columns: str, inner: str, name: str) -> tuple[FileLayout, FileLayout]:
    """The layouts of a table as JSON lines and as CSV."""
    keys = tuple(columns.split())
    amounts = tuple(f"{inner}.{each}" for each in (_CPUS, _MEMORY)) if inner else ()
    json = FileLayout(
        what=what, required=keys, optional=amounts, syntax=Syntax.JSON, names=(f"{name}*",)
    )
    return json, msgspec.structs.replace(json, syntax=Syntax.CSV)


INSTANCES, INSTANCES_CSV = _tables(
    "instance events", "time type collection_id instance_index", "resource_request",
    "instance_events",
)  # fmt: skip
COLLECTIONS, COLLECTIONS_CSV = _tables(
    "collection events", "time type collection_id", "", "collection_events"
)
MACHINES, MACHINES_CSV = _tables(
    "machine events", "time machine_id type", "capacity", "machine_events"
)
LAYOUTS: Final = (
    INSTANCES, INSTANCES_CSV, MACHINES, MACHINES_CSV, COLLECTIONS, COLLECTIONS_CSV,
)  # fmt: skip
"""All tables that are read, in both syntaxes; the instance events are required."""


class InstanceEventType(IntEnum):
    """Type of an event of an instance, with the numbers of the trace."""

    SUBMIT = 0
    QUEUE = 1
    ENABLE = 2
    SCHEDULE = 3
    EVICT = 4
    FAIL = 5
    FINISH = 6
    KILL = 7
    LOST = 8
    UPDATE_PENDING = 9
    UPDATE_RUNNING = 10


class MachineEventType(IntEnum):
    """Type of an event of a machine, with the numbers of the trace."""

    UNKNOWN = 0
    ADD = 1
    REMOVE = 2
    UPDATE = 3


_ENDS: Final = frozenset(
    {
        InstanceEventType.EVICT,
        InstanceEventType.FAIL,
        InstanceEventType.FINISH,
        InstanceEventType.KILL,
        InstanceEventType.LOST,
    }
)


class GoogleTables(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in google-2019 format."""

    #: The folder of the tables, or the instance events alone, relative to the scenario.
    events: str
    #: Size of the normalised amount 1.0, such as ``64cpu-256gib``.
    unit: str = UNIT


class _Unit(NamedTuple):
    """Size of the normalised amount 1.0."""

    #: Thousandths of a core.
    cpu_milli: int
    #: MiB.
    memory_mib: int


class _Event(NamedTuple):
    """An event of an instance."""

    #: Second of the trace; infinity after its end.
    time_s: float
    #: Its type.
    type: InstanceEventType
    #: Machine; empty for none.
    machine: str
    #: Requested CPU in thousandths of a core; ``None`` if absent.
    cpu_milli: int | None
    #: Requested MiB; ``None`` if absent.
    memory_mib: int | None
    #: Priority; ``None`` if absent.
    priority: int | None


class _Run(NamedTuple):
    """One run of an instance, from its submission to its end."""

    #: Second of its submission; ``None`` if absent.
    submitted_s: float | None = None
    #: Second of its start; ``None`` while it is pending.
    started_s: float | None = None
    #: Its machine; empty for none.
    machine: str = ""
    #: True if it was submitted or started.
    exists: bool = False
    #: True if it was submitted again while it ran, because events of one instant have no order.
    again: bool = False

    def after(self, event: _Event) -> "_Run":
        """The run after an event that does not end it."""
        if event.type is InstanceEventType.SUBMIT:
            if self.started_s is not None:
                return self._replace(again=True)
            return self._replace(submitted_s=event.time_s, exists=True)
        if event.type is InstanceEventType.SCHEDULE and self.started_s is None:
            at = event.time_s if self.submitted_s is None else self.submitted_s
            return _Run(min(at, event.time_s), event.time_s, event.machine, exists=True)
        return self

    def ended(self, pod: FleetPod, time_s: float) -> FleetPod:
        """The pod of the run; a pod that never started is deleted while it is pending."""
        stays = time_s == inf
        if self.started_s is None:
            return msgspec.structs.replace(pod, departure_s=None if stays else time_s)
        return msgspec.structs.replace(
            pod,
            start_s=self.started_s if self.machine else None,
            node=self.machine,
            duration_s=None if stays else time_s - self.started_s,
        )


def load_google(path: Path, bounds: TraceBounds = EVERYTHING, unit: str = UNIT) -> Fleet:
    """The machines and instances of a download.

    Args:
        path: the folder of the tables, or the instance events alone.
        bounds: the part that is kept; a job is a collection.
        unit: size of the normalised amount 1.0.

    Raises:
        InputError: there are no instance events, or a row cannot be used.
    """
    files = table_files(path, LAYOUTS)
    size = _unit(unit)
    nodes, changes = _machines(files[MACHINES.what], size, bounds)
    collections = _priorities(files[COLLECTIONS.what])
    reader = _InstanceReader(size, bounds, collections)
    pods = reader.pods(files[INSTANCES.what], str(path))
    notes = [*reader.notes(), f"the normalised amount 1.0 is {unit} (an assumption)"]
    return Fleet(nodes, bounds.first_jobs(pods), path.name, "CC-BY-4.0", changes, tuple(notes))


class _InstanceReader:
    """Collects the events of the kept instances, in any order, and creates their pods."""

    def __init__(self, unit: _Unit, bounds: TraceBounds, priorities: Mapping[str, int]) -> None:
        self._unit, self._bounds, self._priorities = unit, bounds, priorities
        self._alloc_sets: set[str] = set()
        self._inside = 0

    def pods(self, files: list[Path], where: str) -> list[FleetPod]:
        """The pods of all kept instances."""
        events: dict[tuple[str, int], list[_Event]] = {}
        count = 0
        for row in trace_rows(files, INSTANCES):
            found = self._event(row)
            if found is not None:
                events.setdefault(found[0], []).append(found[1])
                count += 1
                check_kept(count, where)
        return [
            pod
            for (collection, index), found in events.items()
            for pod in self._runs(collection, index, sorted(found, key=_order))
        ]

    def notes(self) -> Iterator[str]:
        """Sentences about unsupported features."""
        if self._alloc_sets:
            yield f"{len(self._alloc_sets):,} alloc sets are not supported and omitted"
        if self._inside:
            yield f"{self._inside:,} events of instances inside alloc sets count as plain pods"

    def _event(self, row: TraceRow) -> tuple[tuple[str, int], _Event] | None:
        collection = str(row.integer("collection_id", 0, _ID))
        if row.text("collection_type") in ("1", "ALLOC_SET"):
            self._alloc_sets.add(collection)
            return None
        time = _time(row)
        if not self._bounds.samples(collection):
            return None
        if row.integer("alloc_collection_id", -1, _ID, default=0) > 0:
            self._inside += 1
        machine = row.integer("machine_id", -1, _ID, default=0)
        priority = row.optional("priority", 0, 1e6)
        event = _Event(
            time,
            _event_type(row),
            f"machine-{machine}" if machine > 0 else "",
            _amount(row, "resource_request", _CPUS, self._unit.cpu_milli),
            _amount(row, "resource_request", _MEMORY, self._unit.memory_mib),
            None if priority is None else int(priority),
        )
        return (collection, row.integer("instance_index", 0, 10**9)), event

    def _runs(self, collection: str, index: int, events: Sequence[_Event]) -> Iterator[FleetPod]:
        """One pod for each run of an instance, from its events in order."""
        base = self._base(collection, events)
        run = _Run()
        number = 0
        for event in (*events, _Event(inf, InstanceEventType.LOST, "", None, None, None)):
            if event.type not in _ENDS:
                run = run.after(event)
            elif run.exists:
                name = f"{collection}-{index}" + f"-run-{number}" * bool(number)
                pod = msgspec.structs.replace(base, name=name, arrival_s=run.submitted_s)
                if self._bounds.overlaps(run.submitted_s or 0.0, event.time_s):
                    yield run.ended(pod, event.time_s)
                run = _Run(event.time_s, exists=run.again)
                number += 1

    def _base(self, collection: str, events: Sequence[_Event]) -> FleetPod:
        """A pod with the first stated amounts and priority of an instance."""
        stated = (event.priority for event in events if event.priority is not None)
        priority = next(stated, self._priorities.get(collection, 0))
        lowest, tier = next(each for each in TIERS if priority >= each[0])
        return FleetPod(
            name="",
            cpu_milli=next((e.cpu_milli for e in events if e.cpu_milli is not None), 0),
            memory_mib=next((e.memory_mib for e in events if e.memory_mib is not None), 0),
            owner=f"collection-{collection}",
            priority=lowest,
            priority_class=f"google-{tier}",
        )


def _order(event: _Event) -> tuple[float, int]:
    """Events by time; those of one instant by type."""
    return event.time_s, event.type


def _machines(
    files: list[Path], unit: _Unit, bounds: TraceBounds
) -> tuple[tuple[FleetNode, ...], tuple[FleetNodeChange, ...]]:
    """The nodes at the start of the window, and later changes by time."""
    events = sorted(
        (_machine_event(row, unit) for row in trace_rows(files, MACHINES)),
        key=lambda change: change.time_s,
    )
    sizes: dict[str, FleetNode] = {}
    present: dict[str, FleetNode] = {}
    changes: list[FleetNodeChange] = []
    for change in events:
        node = change.node
        if node is not None and not (node.cpu_milli and node.memory_mib):
            node = sizes.get(change.name)  # an event without capacity keeps the known one
            if node is None:
                continue
        if node is not None:
            sizes[change.name] = node
        if change.time_s > max(0.0, bounds.start_s):
            if change.time_s < bounds.end_s:
                changes.append(FleetNodeChange(change.time_s, change.name, node))
        elif node is None:
            present.pop(change.name, None)
        else:
            present[change.name] = node
    return tuple(present.values()), tuple(changes)


def _machine_event(row: TraceRow, unit: _Unit) -> FleetNodeChange:
    """A machine event; absent capacities are 0."""
    name = f"machine-{row.integer('machine_id', 1, _ID)}"
    cell = row.text("type")
    known = MachineEventType.__members__
    if cell not in known and cell not in {str(each.value) for each in known.values()}:
        row.refuse("type", "0..3: UNKNOWN, ADD, REMOVE or UPDATE")
    kind = known[cell] if cell in known else MachineEventType(int(cell))
    node = FleetNode(
        name,
        _amount(row, "capacity", _CPUS, unit.cpu_milli) or 0,
        _amount(row, "capacity", _MEMORY, unit.memory_mib) or 0,
    )
    return FleetNodeChange(_time(row), name, None if kind is MachineEventType.REMOVE else node)


def _priorities(files: list[Path]) -> dict[str, int]:
    """The priority of each collection, for instance events without a priority."""
    found: dict[str, int] = {}
    for row in trace_rows(files, COLLECTIONS):
        priority = row.optional("priority", 0, 1e6)
        if priority is not None:
            found[str(row.integer("collection_id", 0, _ID))] = int(priority)
    return found


def _event_type(row: TraceRow) -> InstanceEventType:
    """The type of an instance event, as a number or a word."""
    cell = row.text("type")
    if cell in InstanceEventType.__members__:
        return InstanceEventType[cell]
    return InstanceEventType(row.integer("type", 0, max(InstanceEventType)))


def _time(row: TraceRow) -> float:
    """The time of an event in seconds; infinity after the end of the trace."""
    time = row.integer("time", 0, _ID)
    return inf if time == _ID else time / _US


def _amount(row: TraceRow, outer: str, inner: str, unit: int) -> int | None:
    """A normalised amount in units; ``None`` if absent. CSV may use ``outer_inner``."""
    for column in (f"{outer}.{inner}", f"{outer}_{inner}"):
        found = row.optional(column, 0, _MAX_AMOUNT)
        if found is not None:
            return round(found * unit)
    return None


def _unit(text: str) -> _Unit:
    """The size of 1.0 from a shape such as ``64cpu-256gib``."""
    node = nodes_like(text, where="unit")[0]
    return _Unit(node.cpu_milli, node.memory_mib)
