"""The record of one run in one SQLite file: final objects, state of each pod, and its history.

Objects that differ only in their name share one body. Writing replaces the name in the JSON by a
placeholder, and reading restores it byte for byte: ten thousand pods from a hundred templates need
a hundred bodies. A file gets its final name only when it is complete.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from stretto.api.kinds.table import all_kinds, word_of
from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.control.dispatcher.views import UnitViews
from stretto.explain.records.recorder import Recorder, StepBatch, StepKind
from stretto.explain.records.steps import NO_WAKE_EVENTS, WakeEvents
from stretto.explain.words.standing import CLOCK_SECONDS, UnitFacts, facts_of, positions
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit, UnitKind, Units
from stretto.stores.store import Record, Store

APPLICATION: Final = 0x5374_7275
"""Application id of a run record (``Stru``)."""
SCHEMA: Final = 3
"""Version of the tables below."""
READABLE: Final = (1, 2, 3)
"""Readable versions; version 1 has no wake events and no names of deleted pods, and version 2 has
no causes of evictions except preemption."""
_NAME: Final = b"\x00"
"""Placeholder for the object's name in a body; JSON text never contains this byte."""
_NAMED: Final = b'"name":"\x00"'
_NOWHERE: Final = (None, None, None, None)

_TABLES: Final = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE objects (
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL,
    version INTEGER NOT NULL, node TEXT NOT NULL, notes TEXT, body INTEGER NOT NULL,
    serial INTEGER, state INTEGER, since REAL, unit INTEGER);
CREATE TABLE units (id INTEGER PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE slots (slot INTEGER PRIMARY KEY, node TEXT NOT NULL);
CREATE TABLE steps (
    time REAL NOT NULL, kind INTEGER NOT NULL, shard INTEGER NOT NULL, detail TEXT NOT NULL,
    serials BLOB NOT NULL, slots BLOB NOT NULL);
CREATE TABLE news (times BLOB NOT NULL, bits BLOB NOT NULL);
CREATE TABLE gone (serial INTEGER PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
"""


class RunFacts(msgspec.Struct, frozen=True):
    """Facts about a run."""

    #: Name of the record.
    name: str
    #: Source of the run: a scenario file or a command line.
    source: str
    #: Wall-clock time of the start, RFC 3339.
    started: str
    #: Duration in seconds.
    seconds: float
    #: Seed of the random number generator.
    seed: int
    #: Number of scheduler shards.
    shards: int
    #: Profile: its name, or the mapping from which it was loaded.
    profile: str | dict[str, Any]
    #: Values of ``schedulerName`` that were handled.
    scheduler_names: tuple[str, ...]
    #: True if the run was interrupted.
    interrupted: bool = False
    #: Number of pod steps that were dropped because of the recorder's limit.
    steps_dropped: int = 0
    #: Plugin files of the profile; reading a record never loads them automatically.
    plugins: tuple[str, ...] = ()
    #: Usage of the queues.
    queues: tuple[QueueFacts, ...] = ()
    #: Time of the end in seconds of the scenario; ``None`` in older records, which use clock
    #: seconds.
    ended_at: float | None = None
    #: The report of the run.
    summary: dict[str, Any] = {}

    @property
    def end(self) -> float:
        """Time of the end, in seconds of the run."""
        return self.seconds if self.ended_at is None else self.ended_at


class RecordSources(msgspec.Struct, frozen=True):
    """Sources of a record's content, read at the end of a run."""

    #: The objects.
    store: Store
    #: Pods and nodes in the plane's state.
    cluster: Cluster
    #: Units.
    units: Units
    #: Steps of pods; ``None`` if nothing was recorded.
    recorder: Recorder | None = None
    #: Maps clock times to seconds of the run.
    seconds_of: Callable[[float], float] = CLOCK_SECONDS
    #: Failure messages by unit.
    failures: dict[Unit, str] = {}
    #: Queue limits; ``None`` if unknown.
    views: UnitViews | None = None


class PodStanding(msgspec.Struct, frozen=True):
    """State of one pod at the end of a run."""

    #: Serial of the pod in the steps.
    serial: int
    #: Value of ``PodState``.
    state: int
    #: Time at which the pod was first seen, in seconds of the run.
    since: float
    #: Number of the pod's unit; ``None`` for none.
    unit: int | None


# ---------------------------------------------------------------- writing


def write_record(path: Path, facts: RunFacts, parts: RecordSources) -> None:
    """Write a run's record atomically; an existing file is replaced.

    Raises:
        InputError: the folder is not writable, or the disk is full.
    """
    draft = path.with_name(f".{path.name}.tmp")
    draft.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(_TABLES)
            connection.execute("BEGIN")
            _write(connection, facts, parts)
            connection.execute("COMMIT")
        draft.replace(path)
    except (sqlite3.Error, OSError) as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        expected = f"a writable folder with enough space for the record ({error})"
        raise InputError(
            str(path), None, expected, "set STRETTO_STATE to another folder"
        ) from error


def _write(connection: sqlite3.Connection, facts: RunFacts, parts: RecordSources) -> None:
    many = connection.executemany
    meta = msgspec.to_builtins(facts)
    many("INSERT INTO meta VALUES (?, ?)", ((k, _text(v)) for k, v in meta.items()))
    bodies: dict[bytes, int] = {}
    units: dict[Unit, int] = {}
    rows = _objects(parts, bodies, units, _arrivals(parts.recorder))
    many("INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    many("INSERT INTO bodies VALUES (?, ?)", ((number, body) for body, number in bodies.items()))
    place = positions(parts.units)
    many(
        "INSERT INTO units VALUES (?, ?)",
        (
            (number, _text(_facts(unit, place.get(unit, (0, 0)), parts)))
            for unit, number in units.items()
        ),
    )
    names = parts.cluster.nodes.by_name
    many("INSERT INTO slots VALUES (?, ?)", ((slot, name) for name, slot in names.items()))
    batches = parts.recorder.batches if parts.recorder is not None else ()
    if parts.recorder is not None:
        many("INSERT INTO news VALUES (?, ?)", [_wake_events(parts.recorder)])
        many(
            "INSERT OR IGNORE INTO gone VALUES (?, ?, ?)",
            _deleted_pods(parts.recorder, parts.cluster),
        )
    many(
        "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)",
        (
            (b.time, int(b.kind), b.shard, b.detail, b.serials.tobytes(), b.slots.tobytes())
            for b in batches
        ),
    )


def _wake_events(recorder: Recorder) -> tuple[bytes, bytes]:
    times = np.array(recorder.wake_events_at, np.float64)
    bits = np.array(recorder.wake_event_bits, np.int64)
    return times.tobytes(), bits.tobytes()


def _deleted_pods(recorder: Recorder, cluster: Cluster) -> Iterator[tuple[int, str, str]]:
    """Serial, namespace and name of each recorded pod that no longer exists."""
    pods = cluster.pods
    existing = pods.serial[pods.rows()]
    for serials, spaces, names in recorder.names:
        for place in np.flatnonzero(~np.isin(serials, existing)).tolist():
            yield int(serials[place]), spaces[place], names[place]


def _arrivals(recorder: Recorder | None) -> dict[int, float]:
    """Map the serial of each recorded pod to the time at which it was first seen."""
    found: dict[int, float] = {}
    for batch in recorder.batches if recorder is not None else ():
        if batch.kind is StepKind.ARRIVED:
            found |= dict.fromkeys(batch.serials.tolist(), batch.time)
    return found


def _objects(
    parts: RecordSources,
    bodies: dict[bytes, int],
    units: dict[Unit, int],
    arrivals: Mapping[int, float],
) -> Iterator[tuple[Any, ...]]:
    """Rows for all objects of the store; new bodies and units get the next number."""
    for kind in all_kinds():
        for record in parts.store.list(kind).records:
            body = record.body.replace(record.name.encode(), _NAME) if record.name else record.body
            number = bodies.setdefault(body, len(bodies))
            notes = _text(dict(record.annotations)) if record.annotations else None
            known = (record.uid, parts, units, arrivals)
            standing = _standing(*known) if kind is POD else _NOWHERE
            yield (
                word_of(kind), record.namespace, record.name, record.uid, record.version,
                record.node, notes, number, *standing,
            )  # fmt: skip


def _standing(
    uid: str, parts: RecordSources, units: dict[Unit, int], arrivals: Mapping[int, float]
) -> tuple[Any, ...]:
    """State of a pod as a row; only a unit other than a single placed pod gets a number."""
    pods = parts.cluster.pods
    row = pods.row(uid)
    if row is None:
        return _NOWHERE
    unit = parts.units.of_row(row)
    number = None
    if unit is not None and not _is_plain(unit):
        number = units.setdefault(unit, len(units))
    serial = int(pods.serial[row])
    since = arrivals.get(serial)
    if since is None:
        since = parts.seconds_of(float(pods.since[row]))
    return serial, int(pods.state[row]), since, number


def _is_plain(unit: Unit) -> bool:
    """Return whether a unit is a single placed pod: then there is nothing to report about it."""
    return unit.kind is UnitKind.POD and unit.state is UnitState.PLACED


def _facts(unit: Unit, place: tuple[int, int], parts: RecordSources) -> UnitFacts:
    return facts_of(unit, place, parts.seconds_of, parts.failures.get(unit, ""), parts.views)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


# ---------------------------------------------------------------- reading


class RecordFile:
    """A record, open for reading."""

    def __init__(self, path: Path) -> None:
        """Open a record; several threads may read it, one at a time.

        Raises:
            InputError: the file is not a run record, or its version is not supported.
        """
        self._path = path
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise InputError(str(path), str(error), "a run record") from error
        try:
            self._version = self._checked()
        except BaseException:
            self._connection.close()
            raise

    def _checked(self) -> int:
        """Return the version of the record if it is supported."""
        path = self._path
        try:
            (application,) = self._connection.execute("PRAGMA application_id").fetchone()
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            raise InputError(str(path), str(error), "a run record") from error
        if application != APPLICATION or version not in READABLE:
            found = f"version {version}" if application == APPLICATION else "a different file type"
            raise InputError(str(path), found, f"a run record of version {SCHEMA}")
        return int(version)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def facts(self) -> RunFacts:
        """Facts about the run."""
        rows = self._rows("SELECT key, value FROM meta")
        return msgspec.convert({k: msgspec.json.decode(v) for k, v in rows}, RunFacts)

    def objects(self, kind: Kind) -> Iterator[Record]:
        """Objects of a kind; pods of one template share one body if their text is equal."""
        bodies = dict(self._rows("SELECT id, body FROM bodies"))
        shared: dict[int, bytes] = {}
        rows = self._rows(
            "SELECT namespace, name, uid, version, node, notes, body FROM objects WHERE kind = ?",
            word_of(kind),
        )
        for namespace, name, uid, version, node, notes, number in rows:
            body = shared.get(number)
            if body is None:
                template = bodies[number]
                body = template.replace(_NAME, name.encode())
                if kind is POD and template.count(_NAME) == 1 and _NAMED in template:
                    shared[number] = body
            annotations = msgspec.json.decode(notes) if notes else None
            yield Record(kind, namespace, name, uid, version, body, node, annotations)

    def names(self, word: str, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Namespace and name of each object of a kind whose name begins with a prefix.

        Args:
            word: the kind as the records name it, such as ``Pod``.
            prefix: the prefix; empty for all names.
        """
        query = "SELECT namespace, name FROM objects WHERE kind = ? AND substr(name, 1, ?) = ?"
        yield from self._rows(f"{query} ORDER BY name", word, len(prefix), prefix)

    def pod_standings(self) -> dict[str, PodStanding]:
        """State of each pod by uid."""
        rows = self._rows(
            "SELECT uid, serial, state, since, unit FROM objects WHERE serial IS NOT NULL"
        )
        return {uid: PodStanding(*rest) for uid, *rest in rows}

    def unit(self, number: int) -> UnitFacts:
        """A unit by its number."""
        (text,) = next(iter(self._rows("SELECT facts FROM units WHERE id = ?", number)))
        return msgspec.json.decode(text, type=UnitFacts)

    def steps(self, serial: int) -> Iterator[tuple[StepBatch, str]]:
        """Steps of one pod in order, each with the name of its node or an empty string."""
        names = dict(self._rows("SELECT slot, node FROM slots"))
        for batch in self.all_steps():
            for place in np.flatnonzero(batch.serials == serial).tolist():
                node = names.get(int(batch.slots[place]), "") if len(batch.slots) else ""
                yield batch._replace(serials=_ONE, slots=_NONE), node

    def all_steps(self) -> Iterator[StepBatch]:
        """The steps of all pods in order."""
        for time, kind, shard, detail, serials, slots in self._rows(
            "SELECT time, kind, shard, detail, serials, slots FROM steps ORDER BY rowid"
        ):
            yield StepBatch(
                time,
                StepKind(kind),
                shard,
                detail,
                np.frombuffer(serials, np.int64),
                np.frombuffer(slots, np.int32),
            )

    def wake_events(self) -> WakeEvents:
        """Events that may have triggered retries."""
        for times, bits in self._rows("SELECT times, bits FROM news") if self._has_events else ():
            at, what = np.frombuffer(times, np.float64), np.frombuffer(bits, np.int64)
            return WakeEvents(at.tolist(), what.tolist())
        return NO_WAKE_EVENTS

    def deleted(self, pod: str) -> list[int]:
        """Serials of the deleted pods with a name, the latest last."""
        if not self._has_events:
            return []
        space, _, name = pod.rpartition("/")
        rows = self._rows("SELECT serial, namespace FROM gone WHERE name = ?", name)
        return sorted(serial for serial, found in rows if not space or found == space)

    def deleted_names(self) -> list[str]:
        """Names of the deleted pods."""
        rows = self._rows("SELECT name FROM gone") if self._has_events else ()
        return [name for (name,) in rows]

    @property
    def _has_events(self) -> bool:
        return self._version > 1

    def _rows(self, query: str, *values: object) -> Iterable[Any]:
        try:
            return self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise InputError(str(self._path), str(error), "an undamaged record") from error


_ONE: Final = np.zeros(1, np.int64)
_NONE: Final = np.zeros(0, np.int32)
