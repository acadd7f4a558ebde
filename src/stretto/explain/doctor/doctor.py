"""The checks behind ``stretto doctor``: every invariant on a state, each violation by name.

    checkup = examine(subject_of(records, names))      # the objects of a store
    checkup = examine(subject_of_record(path))         # the end of a run, with its history
    checkup = examine(CheckedObjects(cluster, records, ...))  # a running plane

Everything is recomputed from the objects, so errors in a plane's own accounting are found. The
cause does not matter: a node that shrank below its pods is over-committed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.kinds.table import all_kinds
from stretto.api.wire.kinds import POD, POD_GROUP, QUEUE, Kind
from stretto.explain.doctor.findings import INVARIANTS, NO_INVARIANT, DoctorCheck, Finding
from stretto.explain.doctor.group_checks import over_limit, part_bound
from stretto.explain.doctor.grouping import PodsByGroup
from stretto.explain.doctor.node_checks import (
    device_clashes,
    ledger_differences,
    over_committed,
    port_clashes,
)
from stretto.explain.doctor.pod_checks import (
    bound_twice,
    claims_without_pods,
    in_doubt,
    placed_twice,
    stale_statuses,
    unknown_nodes,
    unreadable,
)
from stretto.explain.records.record_file import PodStanding, RecordFile
from stretto.explain.records.recorder import StepBatch
from stretto.explain.records.rereading import rebuilt_cluster
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record

SCHEMA: Final = "stretto.doctor/v1"
"""Version of the JSON form of ``Checkup``."""


class CheckedObjects(msgspec.Struct, frozen=True):
    """The state to check."""

    #: The cluster state; for a store, rebuilt from its objects.
    cluster: Cluster
    #: Every object.
    records: Sequence[Record]
    #: Steps of pods, if recorded.
    history: Sequence[StepBatch] = ()
    #: ``namespace/name`` of pods by their serial in the history.
    serials: dict[int, str] = {}
    #: Gangs (``namespace/name``) that were complete once, if known.
    once_complete: frozenset[str] = frozenset()
    #: Checks the units of a running dispatcher; ``None`` without a dispatcher.
    audit: Callable[[], list[str]] | None = None


class CheckResult(msgspec.Struct, frozen=True):
    """Result of one check."""

    #: Name of the check.
    check: DoctorCheck
    #: Number of the invariant that it checks; 0 for none.
    law: int
    #: Condition that must hold.
    holds_when: str
    #: Number of findings.
    findings: int


class Checkup(msgspec.Struct, frozen=True):
    """Result of all checks."""

    #: Nodes checked.
    nodes: int
    #: Pods checked.
    pods: int
    #: Every check.
    checks: tuple[CheckResult, ...]
    #: Every finding, violated invariants first.
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings that violate an invariant."""
        return tuple(each for each in self.findings if each.breaks_invariant)


def examine(subject: CheckedObjects) -> Checkup:
    """Run every check."""
    found = sorted(_findings(subject), key=lambda each: _RANK[each.check])
    counts = dict.fromkeys(INVARIANTS, 0)
    for each in found:
        counts[each.check] += 1
    return Checkup(
        nodes=len(subject.cluster.nodes.by_name),
        pods=sum(record.kind == POD for record in subject.records),
        checks=tuple(
            CheckResult(check, law, words, counts[check])
            for check, (law, words) in INVARIANTS.items()
        ),
        findings=tuple(found),
    )


_RANK: Final = {
    check: (law == NO_INVARIANT, law, place)
    for place, (check, (law, _)) in enumerate(INVARIANTS.items())
}


def _findings(subject: CheckedObjects) -> Iterator[Finding]:
    cluster = subject.cluster
    pods = _of(subject.records, POD)
    by_group = PodsByGroup(pods, _of(subject.records, POD_GROUP), _of(subject.records, QUEUE))
    yield from over_committed(cluster)
    yield from device_clashes(cluster)
    yield from port_clashes(cluster)
    yield from ledger_differences(cluster)
    yield from part_bound(by_group, subject.once_complete)
    yield from bound_twice(pods)
    yield from placed_twice(subject.history, subject.serials)
    yield from unknown_nodes(cluster)
    yield from claims_without_pods(cluster, pods)
    yield from in_doubt(cluster, pods)
    yield from stale_statuses(pods, frozenset(cluster.nodes.by_name))
    yield from over_limit(by_group)
    yield from unreadable(cluster)
    for complaint in subject.audit() if subject.audit is not None else ():
        yield Finding(DoctorCheck.LOST_UNIT, complaint)


def _of(records: Iterable[Record], kind: Kind) -> list[Record]:
    return [record for record in records if record.kind == kind]


# ---------------------------------------------------------------- subjects


def subject_of(records: Sequence[Record], scheduler_names: frozenset[str]) -> CheckedObjects:
    """Build the input of ``examine`` from the objects of a store, with a cluster state of them."""
    cluster = rebuilt_cluster(scheduler_names, lambda kind: _of(records, kind))
    return CheckedObjects(cluster, records)


def subject_of_record(path: Path) -> CheckedObjects:
    """Build the input of ``examine`` from a recorded run: its final state and its history.

    Raises:
        InputError: the file is no record.
    """
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in all_kinds() for record in file.objects(kind)]
        subject = subject_of(records, frozenset(facts.scheduler_names))
        pod_standings = file.pod_standings()
        return msgspec.structs.replace(
            subject,
            history=list(file.all_steps()),
            serials=_serials(records, pod_standings),
            once_complete=frozenset(_complete_gangs(file, pod_standings)),
        )


def _serials(records: Iterable[Record], pod_standings: dict[str, PodStanding]) -> dict[int, str]:
    """Map the serial of each pod to its ``namespace/name``."""
    return {
        pod_standings[record.uid].serial: f"{record.namespace}/{record.name}"
        for record in records
        if record.kind == POD and record.uid in pod_standings
    }


def _complete_gangs(file: RecordFile, pod_standings: dict[str, PodStanding]) -> Iterator[str]:
    """Gangs that were complete according to the dispatcher."""
    for number in {each.unit for each in pod_standings.values() if each.unit is not None}:
        unit = file.unit(number)
        if unit.scheduled:
            yield unit.key.partition("/")[2]
