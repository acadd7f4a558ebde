"""The check-up behind ``stretto doctor``: every law looked at on what is, and each breach named.

    said = examine(subject_of(records, names))      # objects of a store, as they are
    said = examine(subject_of_record(path))         # the end of a run, with its history
    said = examine(Subject(cluster, records, ...))  # a living plane's own books

Everything is counted anew from the objects, so it finds what an engine's own books would hide. It
looks at the cluster as it is: a node that shrank under its pods is over-committed whoever did it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.wire.kinds import KINDS, POD, POD_GROUP, QUEUE, Kind
from stretto.explain.doctor.findings import LAWS, NO_LAW, DoctorCheck, Finding
from stretto.explain.doctor.group_checks import PodsByGroup, over_limit, part_bound
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
from stretto.explain.records.rereading import read_into
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.store import Record

SCHEMA: Final = "stretto.doctor/v1"
"""Version of the form below as JSON."""


class CheckedObjects(msgspec.Struct, frozen=True):
    """What is examined."""

    #: The cluster by its books; for a store, books made anew from its objects.
    cluster: Cluster
    #: Every object.
    records: Sequence[Record]
    #: What happened to pods, where that is known.
    history: Sequence[StepBatch] = ()
    #: ``namespace/name`` of pods by the serial that the history knows them by.
    serials: dict[int, str] = {}
    #: Gangs (``namespace/name``) that have been whole once, where that is known.
    stood: frozenset[str] = frozenset()
    #: Checks the units of a living dispatcher; ``None`` where there is none.
    audit: Callable[[], list[str]] | None = None


class CheckResult(msgspec.Struct, frozen=True):
    """How one check came out."""

    #: What was checked.
    check: DoctorCheck
    #: Number of its law; 0 for none.
    law: int
    #: What must hold.
    holds_when: str
    #: How many findings there are.
    findings: int


class Checkup(msgspec.Struct, frozen=True):
    """What an examination found."""

    #: Nodes looked at.
    nodes: int
    #: Pods looked at.
    pods: int
    #: Every check that was made.
    checks: tuple[CheckResult, ...]
    #: Everything that does not hold, broken laws first.
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings that break a law."""
        return tuple(each for each in self.findings if each.breaks_invariant)


def examine(subject: CheckedObjects) -> Checkup:
    """Make every check."""
    found = sorted(_findings(subject), key=lambda each: _RANK[each.check])
    counts = dict.fromkeys(LAWS, 0)
    for each in found:
        counts[each.check] += 1
    return Checkup(
        nodes=len(subject.cluster.nodes.by_name),
        pods=sum(record.kind == POD for record in subject.records),
        checks=tuple(
            CheckResult(check, law, words, counts[check]) for check, (law, words) in LAWS.items()
        ),
        findings=tuple(found),
    )


_RANK: Final = {
    check: (law == NO_LAW, law, place) for place, (check, (law, _)) in enumerate(LAWS.items())
}


def _findings(subject: CheckedObjects) -> Iterator[Finding]:
    cluster = subject.cluster
    pods = _of(subject.records, POD)
    tenancy = PodsByGroup(pods, _of(subject.records, POD_GROUP), _of(subject.records, QUEUE))
    yield from over_committed(cluster)
    yield from device_clashes(cluster)
    yield from port_clashes(cluster)
    yield from ledger_differences(cluster)
    yield from part_bound(tenancy, subject.stood)
    yield from bound_twice(pods)
    yield from placed_twice(subject.history, subject.serials)
    yield from unknown_nodes(cluster)
    yield from claims_without_pods(cluster, pods)
    yield from in_doubt(cluster, pods)
    yield from stale_statuses(pods, frozenset(cluster.nodes.by_name))
    yield from over_limit(tenancy)
    yield from unreadable(cluster)
    for complaint in subject.audit() if subject.audit is not None else ():
        yield Finding(DoctorCheck.LOST_UNIT, complaint)


def _of(records: Iterable[Record], kind: Kind) -> list[Record]:
    return [record for record in records if record.kind == kind]


# ---------------------------------------------------------------- what is examined


def subject_of(records: Sequence[Record], scheduler_names: frozenset[str]) -> CheckedObjects:
    """The objects of a store, with books made anew from them."""
    cluster = Cluster(ClusterConfig(scheduler_names=scheduler_names))
    read_into(cluster, lambda kind: _of(records, kind))
    return CheckedObjects(cluster, records)


def subject_of_record(path: Path) -> CheckedObjects:
    """The end of a run, with what happened until then.

    Raises:
        InputError: it is no record.
    """
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in KINDS for record in file.objects(kind)]
        subject = subject_of(records, frozenset(facts.scheduler_names))
        pod_standings = file.pod_standings()
        return msgspec.structs.replace(
            subject,
            history=list(file.all_steps()),
            serials=_serials(records, pod_standings),
            stood=frozenset(_whole_gangs(file, pod_standings)),
        )


def _serials(records: Iterable[Record], pod_standings: dict[str, PodStanding]) -> dict[int, str]:
    """Names of pods by serial."""
    return {
        pod_standings[record.uid].serial: f"{record.namespace}/{record.name}"
        for record in records
        if record.kind == POD and record.uid in pod_standings
    }


def _whole_gangs(file: RecordFile, pod_standings: dict[str, PodStanding]) -> Iterator[str]:
    """Gangs that the dispatcher knew to have been whole."""
    for number in {each.unit for each in pod_standings.values() if each.unit is not None}:
        unit = file.unit(number)
        if unit.scheduled:
            yield unit.key.partition("/")[2]
