"""Reports of the other shards, and their age."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import LEASE
from stretto.base.amounts import add_amounts
from stretto.base.clock import Clock
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.exchange import ShardReport, read_report, report_name
from stretto.federation.planner.supply.capacity import Amounts
from stretto.federation.shares import ControllerShare
from stretto.reconcile.cache import Change, StoredObject
from stretto.stores.store import ListOptions

_NEVER: Final = float("-inf")
_PAUSE: Final = 0.1
"""Seconds between the repeated decisions of two shards."""


class LeaveWait(NamedTuple):
    """Reason why a cluster cannot leave yet."""

    #: The shard and what it lacks.
    reason: str
    #: True if the member does not answer the shard.
    is_silent: bool = False


class _KnownReport(NamedTuple):
    """A report that was read."""

    #: Version of its Lease.
    version: int
    #: The report.
    report: ShardReport


class ShardPeers:
    """The other shards that run the same controllers."""

    def __init__(self, fleet: ClusterFleet, share: ControllerShare, clock: Clock) -> None:
        """Initialize without reports.

        Args:
            fleet: the fleet; its host has the reports.
            share: the share of this process; without shards there are no peers.
            clock: its monotonic time measures the age of reports.
        """
        self._fleet = fleet
        self._clock = clock
        self._began = clock.monotonic()
        others = (each for each in range(share.shards) if each != share.shard)
        self._names = {report_name(share.group, each, share.shards): each for each in others}
        self._shards = share.shards
        self._heard: dict[str, float] = {}
        self._reports: dict[str, _KnownReport] = {}
        self._seen = 0
        self._write: Callable[[], None] = lambda: None
        #: True if there are other shards.
        self.exist = share.shards > 1
        #: Seconds until a decision is repeated whose capacity another shard has taken.
        self.pause = _PAUSE * (1 + share.shard)
        #: Maximum seconds for which a decision waits for what another shard reports.
        self.wait = fleet.settings.report_wait
        self._counted: dict[str, ShardReport] = {}

    # ---------------------------------------------------------------- writes

    def publish_by(self, write: Callable[[], None]) -> None:
        """Write the own report by this function from now on."""
        self._write = write

    def publish(self) -> None:
        """Write the own report, then read the present reports of the others.

        Raises:
            RetryError, StrettoError: the host refuses the report or does not answer.
        """
        self._write()
        space = self._fleet.settings.namespace
        for record in self._fleet.host.store.list(LEASE, ListOptions(space)).records:
            if record.name in self._names:
                self._take(StoredObject(record))

    def note(self, change: Change) -> None:
        """Read a changed report.

        The first report that a process reads may be old, so it does not count as heard.
        """
        name = change.object.record.name
        if name not in self._names:
            return
        if change.new is None:
            self._reports.pop(name, None)
            self._heard.pop(name, None)
        else:
            self._take(change.new)

    def _take(self, lease: StoredObject) -> None:
        """Read a report unless it is the known one."""
        name, version = lease.record.name, lease.record.version
        before, found = self._reports.get(name), read_report(lease)
        if found is None or (before is not None and before.version >= version):
            return
        self._reports[name] = _KnownReport(version, found)
        if before is not None:
            self._heard[name] = self._clock.monotonic()

    def count(self) -> bool:
        """Count the reports; true if a counted one has changed.

        A promise ends once the status of its cluster includes the pods. A process that has not read
        this status yet also counts the promises of the previous report. A missing report stays
        counted.
        """
        present = (each.record.version for each in self._fleet.clusters)
        seen = self._seen = max(self._seen, *present, 0)
        changed = False
        for name, known in self._reports.items():
            before, report = self._counted.get(name), known.report
            if report.clusters_at > seen and before is not None:
                larger = _larger(before.promised, report.promised)
                report = msgspec.structs.replace(report, promised=larger)
            if before != report:
                self._counted[name] = report
                changed = True
        return changed

    # ---------------------------------------------------------------- reads

    @property
    def is_ahead(self) -> bool:
        """True if another running shard has read a later status of a cluster than this process.

        Its promises may have ended with this status.
        """
        oldest = self._clock.monotonic() - self._fleet.settings.report_stale
        return any(
            known.report.clusters_at > self._seen and self._heard.get(name, _NEVER) >= oldest
            for name, known in self._reports.items()
        )

    @property
    def promised(self) -> dict[str, dict[str, int]]:
        """Amounts that the other shards have promised, by cluster."""
        return _sum(each.promised for each in self._counted.values())

    @property
    def used(self) -> dict[str, dict[str, int]]:
        """Amounts that the placed replicas of the other shards request, by queue."""
        return _sum(each.used for each in self._counted.values())

    def holds(self) -> bool:
        """True while a decision must wait for the first report of another shard."""
        waits = self._clock.monotonic() < self._began + self.wait
        return waits and len(self._reports) < len(self._names)

    def leave_wait(self, uid: str) -> LeaveWait | None:
        """The first reason why a cluster cannot leave yet; ``None`` if all shards have cleared it.

        Args:
            uid: uid of the cluster. An entry for it is newer than its deletion.
        """
        return next(self._waits(uid), None)

    def _waits(self, uid: str) -> Iterator[LeaveWait]:
        oldest = self._clock.monotonic() - self._fleet.settings.report_stale
        for name, shard in self._names.items():
            where, known = f"shard {shard} of {self._shards}", self._reports.get(name)
            if known is None or self._heard.get(name, _NEVER) < oldest:
                yield LeaveWait(f"{where} does not report: start it")
            elif (part := known.report.leaving.get(uid)) is None:
                yield LeaveWait(f"{where} has not removed its objects yet")
            elif part.problem:
                yield LeaveWait(f"{where}: {part.problem}", is_silent=True)
            elif part.left:
                yield LeaveWait(f"{where} is removing its objects")


def _larger(
    one: Mapping[str, Mapping[str, int]], other: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """The larger amount of two tables, by name and resource."""
    nothing: Mapping[str, int] = {}
    found: dict[str, dict[str, int]] = {}
    for name in {**one, **other}:
        first, second = one.get(name, nothing), other.get(name, nothing)
        keys = {**first, **second}
        found[name] = {key: max(first.get(key, 0), second.get(key, 0)) for key in keys}
    return found


def _sum(parts: Iterable[Mapping[str, Amounts]]) -> dict[str, dict[str, int]]:
    """Sums of amounts by name."""
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        for name, amounts in part.items():
            add_amounts(found.setdefault(name, {}), amounts.items(), 1)
    return found
