"""Conditions and events of pods: the reasons why pods are pending.

Pending pods get the condition ``PodScheduled=False`` and an event ``FailedScheduling`` with
kube-scheduler's texts; both are updated when the reason changes. Reports are derived from the
states of pods. Therefore reports coalesce by pod, a burst costs nothing, and unwritten reports
follow later. Each call writes a bounded batch, after the decisions of a step.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.reporting.complaints import ObjectWarnings
from stretto.control.reporting.events import ConditionWriter, EventWriter
from stretto.control.reporting.held_back import LimitedPods
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.control.reporting.wording import (
    GATED,
    GATED_MESSAGE,
    HAS_NODE,
    QUEUE_LIMIT,
    QUEUED,
    UNSCHEDULABLE,
    PodReport,
    condition_patch,
    incomplete_reason,
    pod_event,
    scheduled_event,
    short_gang_reason,
)
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.units import Setback, Units
from stretto.stores.store import Record, Store, WriteOutcome

OWN_WRITES: Final = 100_000
"""Maximum number of own versions kept until their events arrive; beyond it all are dropped."""
_TELLING: Final = np.zeros(len(PodState), np.bool_)
_TELLING[[PodState.UNSCHEDULABLE, PodState.GATED, PodState.BACKOFF, PodState.ABNORMAL]] = True


class ReportConfig(msgspec.Struct, frozen=True):
    """Content and frequency of reports."""

    #: True if pods get conditions.
    conditions: bool = True
    #: True if pending pods get events.
    events: bool = True
    #: True if bound pods get a ``Scheduled`` event: one further write for each pod.
    scheduled: bool = True
    #: Seconds between two batches.
    every: float = 0.25
    #: Maximum number of pods of one batch.
    at_once: int = 256
    #: Maximum number of ``Scheduled`` events of one batch while no bind is unanswered; otherwise
    #: ``at_once``.
    scheduled_at_once: int = 256
    #: Seconds before a reported pod is checked again.
    again_after: float = 10.0
    #: Seconds between two events about one pod.
    event_every: float = 60.0
    #: Seconds after which events are deleted; infinity if the store deletes them.
    keep_events: float = 3600.0


def scheduled_only(config: ReportConfig | None) -> ReportConfig | None:
    """Configuration for a process that only binds pods; another process reports pending pods."""
    if config is None or not config.scheduled:
        return None
    return msgspec.structs.replace(config, conditions=False, events=False)


class ReportSources(NamedTuple):
    """Sources of the reasons that the reporter writes."""

    #: Verdicts of all nodes on a class.
    verdicts: ClassVerdicts
    #: Preemption's addition to the nodes' reasons, by row and clock time.
    preemption: Callable[[int, float], str] = lambda _row, _now: ""
    #: Finds pods that a queue limit blocks; ``None`` without queues.
    held_back: LimitedPods | None = None


class Reporter:
    """Writes conditions and events."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        sources: ReportSources,
        store: Store,
        config: ReportConfig,
    ) -> None:
        """Start without reports."""
        #: Successes and failures by type: ``condition``, ``event``, ``condition conflict``, ...
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._verdicts = sources.verdicts
        self._store = store
        self._config = config
        self._component = min(cluster.config.scheduler_names)
        #: int64[row]: serial of the pod that was reported last.
        self._reported: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: float64[row]: clock time before which a reported row is not checked again.
        self._due: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        #: bool[row]: true if the condition reports that the pod waits.
        self._waits: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        #: bool[row]: true if the condition reports a limit of the queue.
        self._limited_so_far: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        #: int64[row]: checksum of the last report; 0 if unknown.
        self._last_reports: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: float64[row]: clock time at which the pod is read again although the report is unchanged.
        self._read_due: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        #: int32[row]: number of times that the event was written.
        self._events: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: float64[row]: clock time before which the event is not written again.
        self._event_due: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        self._preemption = sources.preemption
        self._held_back = sources.held_back
        self._complaints = ObjectWarnings(cluster, store)
        self._given_up: dict[int, tuple[int, str]] = {}
        self._own_messages: dict[int, tuple[int, str]] = {}
        self._conditions = ConditionWriter(store)
        self._writer = EventWriter(store, self._component, config.keep_events, self.counts)
        self._next = float("-inf")
        self._more = False
        self._forming_at = float("-inf")

    # ------------------------------------------------------------ notifications

    def given_up(self, failures: Iterable[UnitFailure]) -> None:
        """Report the reasons of failed units on their pods."""
        for failure in failures:
            for row in failure.rows:
                serial = int(self._cluster.pods.serial[row])
                self._given_up[row] = serial, failure.message

    def set_back(self, setbacks: Iterable[Setback]) -> None:
        """Record pods that found no node; a setback may contain a message for each of them."""
        serials, late = self._cluster.pods.serial, self._cluster.objects.wait_timeouts
        for setback in setbacks:
            for row in setback.rows if late else ():
                late.pop(row, None)
            for row, message in zip(setback.rows, setback.messages, strict=False):
                self._own_messages[row] = int(serials[row]), message

    def bound(self, rows: Sequence[int], clock: Clock) -> None:
        """Record bound pods; if there are too many events, the oldest are dropped."""
        if not self._config.scheduled or not rows:
            return
        pods, node_of = self._cluster.pods, self._cluster.node_of
        spaces, names, uids = pods.namespace, pods.name, pods.uid
        wall = clock.now()
        self._writer.queue_bound(
            scheduled_event(Record(POD, spaces[row], names[row], uids[row], 0, b"", node), wall)
            for row in rows
            if (node := node_of(row))
        )

    def evicted(self, about: Sequence[tuple[Record, PodReport]], clock: Clock) -> None:
        """Write an event about each pod that is evicted."""
        if about and (self._config.events or self._config.scheduled):
            wall = clock.now()
            self._writer.write([pod_event(record, word, wall) for record, word in about])

    # ------------------------------------------------------------ what is written

    def next_due(self) -> float:
        """Clock time of the next batch; infinity if there is nothing to report."""
        return self._next if self._more else float("inf")

    def report(self, now: float, clock: Clock, *, is_binding: bool = False) -> int:
        """Write the next batch if it is due; returns the number of pods reported.

        While binds are unanswered (``is_binding``), fewer ``Scheduled`` events are written, because
        binds and events share the connections.
        """
        self._more = now < self._next
        if self._more:
            return 0
        self._next = now + self._config.every
        self._fit()
        self._writer.collect()
        self._writer.expire(clock.now(), self._config.at_once)
        batch = self._wanting(now, self._config.at_once)
        written = (
            self._write_reports(batch, now, clock.now(), at_any_cost=False) if len(batch) else 0
        )
        if self._config.events:
            written += self._complaints.report(clock.now())
        config = self._config
        most = config.at_once if is_binding else config.scheduled_at_once
        written += self._writer.create_bound(most)
        if len(batch) == config.at_once or self._writer.has_bound:
            self._more = True
        return written

    def finish(self, now: float, clock: Clock, limit: int = 10_000) -> int:
        """Report all remaining pods, up to a limit, at the end of a run."""
        self._fit()
        written, self._forming_at = 0, float("-inf")
        rows = self._wanting(now, limit)
        for low in range(0, len(rows), self._config.at_once):
            batch = rows[low : low + self._config.at_once]
            written += self._write_reports(batch, now, clock.now(), at_any_cost=True)
        while self._writer.has_bound:
            written += self._writer.create_bound(limit)
            self._writer.collect(wait=True)
        self._writer.collect(wait=True)
        return written

    def _wanting(self, now: float, limit: int) -> npt.NDArray[np.int64]:
        """Rows to report, up to a limit: those never reported first, then those due again."""
        if not (self._config.conditions or self._config.events):
            return np.zeros(0, np.int64)
        pods = self._cluster.pods
        count = pods.length
        states = pods.state[:count]
        known = self._reported[:count] == pods.serial[:count]
        waits = _TELLING[states]
        rows = np.flatnonzero(waits & ~known)[:limit]
        if len(rows) < limit:
            more = (self._forming(now), self._limited(known, now), self._late(known, now))
            rows = np.concatenate([rows, *more])[:limit]
        if len(rows) < limit:
            stale = (states == PodState.BOUND) & self._waits[:count]
            again = known & (stale | (waits & (self._due[:count] <= now)))
            rows = np.concatenate([rows, np.flatnonzero(again)])[:limit]
        return rows

    def _limited(self, known: npt.NDArray[np.bool_], now: float) -> npt.NDArray[np.int64]:
        """Rows that limits of their queues block, or no longer block."""
        if self._held_back is None:
            return np.zeros(0, np.int64)
        count = len(known)
        wanted = ~known | (self._due[:count] <= now)
        return self._held_back.rows(wanted, known & self._limited_so_far[:count])

    def _late(self, known: npt.NDArray[np.bool_], now: float) -> npt.NDArray[np.int64]:
        """Rows that have waited too long for their volumes, and are in back-off."""
        pods, rows = self._cluster.pods, list[int]()
        for row, (serial, _) in self._cluster.objects.wait_timeouts.items():
            unit = self._units.of_row(row) if pods.serial[row] == serial else None
            delayed = unit is not None and unit.state is UnitState.BACKOFF
            if delayed and (not known[row] or self._due[row] <= now):
                rows.append(row)
        return np.array(rows, np.int64)

    def _forming(self, now: float) -> npt.NDArray[np.int64]:
        """Rows of gangs that lack pods or their PodGroup; their state is pending.

        All gangs are visited, therefore this happens only once per second.
        """
        if now < self._forming_at:
            return np.zeros(0, np.int64)
        self._forming_at = now + 1.0
        rows = [
            row
            for unit in self._units.by_identity.values()
            if unit.state is UnitState.FORMING
            for row in unit.pending
        ]
        found = np.array(rows, np.int64)
        serials = self._cluster.pods.serial[found]
        wanting = (self._reported[found] != serials) | (self._due[found] <= now)
        return np.asarray(found[wanting], np.int64)

    def _fit(self) -> None:
        """Grow the columns with the number of rows."""
        missing = len(self._cluster.pods.state) - len(self._reported)
        if missing <= 0:
            return
        for name, column in list(vars(self).items()):
            if isinstance(column, np.ndarray):
                setattr(self, name, np.concatenate([column, np.zeros(missing, column.dtype)]))

    def _write_reports(
        self, rows: npt.NDArray[np.int64], now: float, wall: float, *, at_any_cost: bool
    ) -> int:
        """Report some pods; returns their number."""
        pods, words = self._cluster.pods, {}
        fresh = rows[self._reported[rows] != pods.serial[rows]]
        self._events[fresh], self._event_due[fresh] = 0, 0.0
        self._waits[fresh], self._last_reports[fresh] = False, 0
        for row in rows.tolist():
            word = self._word(row, now, at_any_cost=at_any_cost)
            if word is not None:
                words[row] = word
        self._limited_so_far[rows] = False
        self._limited_so_far[[row for row in words if words[row].reason == QUEUE_LIMIT]] = True
        self._reported[rows] = pods.serial[rows]
        self._due[rows] = now + self._config.again_after
        unasked = [row for row in rows.tolist() if row not in words]
        self._due[unasked] = now + 1.0
        self._more = bool(unasked)
        news = [row for row, word in words.items() if self._needs_report(row, word, now)]
        found = [(row, record) for row in news if (record := self._record(row)) is not None]
        if self._config.conditions:
            self._condition([(row, record, words[row]) for row, record in found], now, wall)
        if self._config.events:
            self._write_events([(row, record, words[row]) for row, record in found], now, wall)
        return len(found)

    def _word(self, row: int, now: float, *, at_any_cost: bool) -> PodReport | None:
        """Report of a pod; ``None`` if nothing must be reported now."""
        pods = self._cluster.pods
        state = PodState(int(pods.state[row]))
        if state is PodState.BOUND:
            return HAS_NODE
        if state is PodState.GATED:
            return PodReport(False, GATED, GATED_MESSAGE)
        serial, message = self._given_up.get(row, (0, ""))
        unit = self._units.of_row(row)
        if message and serial == pods.serial[row] and unit is not None:
            if unit.state is UnitState.FAILED:
                return PodReport(False, UNSCHEDULABLE, message)
            del self._given_up[row]
        if unit is not None and unit.state is UnitState.FORMING:
            return PodReport(False, UNSCHEDULABLE, incomplete_reason(unit))
        if state is PodState.PENDING and unit is not None and unit.state is UnitState.QUEUED:
            held = self._held_back.words(row) if self._held_back is not None else ""
            turn = f"waits for its turn in queue {unit.queue}"
            return PodReport(False, QUEUE_LIMIT if held else QUEUED, held or turn)
        serial, message = self._cluster.objects.wait_timeouts.get(
            row, self._own_messages.get(row, (0, ""))
        )
        if message and serial == pods.serial[row]:
            return PodReport(False, UNSCHEDULABLE, message)
        said = self._verdicts.of(int(pods.class_id[row]), now, at_any_cost=at_any_cost)
        if said is None:
            return None
        if not said.available:
            return PodReport(False, UNSCHEDULABLE, said.message + self._preemption(row, now))
        if unit is not None and unit.still_needed > 1:
            return PodReport(
                False, UNSCHEDULABLE, short_gang_reason(unit, said.available, said.total)
            )
        return None

    def _needs_report(self, row: int, word: PodReport, now: float) -> bool:
        """Return whether the report has changed, or is so old that the pod is read again."""
        said = 1 + crc32(f"{word.reason} {word.message}".encode())
        if self._last_reports[row] == said and now < self._read_due[row]:
            return False
        self._last_reports[row], self._read_due[row] = said, now + self._config.event_every
        return True

    def _record(self, row: int) -> Record | None:
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        return record if record is not None and record.uid == pods.uid[row] else None

    def _condition(
        self, about: Sequence[tuple[int, Record, PodReport]], now: float, wall: float
    ) -> None:
        """Write conditions that differ from the report."""
        rows, patches = [], []
        for row, record, word in about:
            if bool(record.node) != word.scheduled:
                continue
            self._waits[row] = not word.scheduled
            patch = condition_patch(record, word, wall)
            if patch is not None:
                rows.append(row)
                patches.append(patch)
        if not patches:
            return
        for row, reply in self._conditions.write(rows, patches):
            if reply.outcome is WriteOutcome.OK and reply.record is not None:
                self.counts["condition"] += 1
                self._own(reply.record.version)
                continue
            self.counts[f"condition {reply.outcome.value}"] += 1
            self._last_reports[row] = 0
            self._due[row] = now + (0.0 if reply.outcome is WriteOutcome.CONFLICT else 1.0)

    def _own(self, version: int) -> None:
        own = self._cluster.own_writes
        if len(own) >= OWN_WRITES:
            own.clear()
        own.add(version)

    # ------------------------------------------------------------ events

    def _write_events(
        self, about: Sequence[tuple[int, Record, PodReport]], now: float, wall: float
    ) -> None:
        """Write one event for each pod, repeated at intervals."""
        due: list[tuple[Record, PodReport, float, int]] = []
        for row, record, word in about:
            silent = word.scheduled or word.reason in (GATED, QUEUED)
            if silent or self._event_due[row] > now:
                continue
            self._event_due[row] = now + self._config.event_every
            self._events[row] += 1
            due.append((record, word, wall, int(self._events[row])))
        self._writer.write([pod_event(*each) for each in due])
