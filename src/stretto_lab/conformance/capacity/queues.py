"""Recorded results of Volcano's plugins proportion and capacity, by ``models.volcano``."""

from collections.abc import Mapping
from math import inf
from operator import attrgetter
from typing import Any, Final

import msgspec

from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.volcano import capacities, proportion, states
from stretto_lab.models.volcano.accounts import (
    JobPhase,
    QueueAccount,
    QueuedJob,
    QueuedTasks,
    TaskStatus,
    accounts_by_queue,
    merge,
)
from stretto_lab.models.volcano.amounts import CPU, MEMORY, PODS, Amounts
from stretto_lab.models.volcano.capacities import QueueTreeError
from stretto_lab.models.volcano.states import ShareQueue, ShareState

Fields = dict[str, Any]
"""The members of an input or of a result."""

SCALAR: Final = 1000.0
"""Volcano counts resources other than CPU, memory and pods in thousandths."""
INT64_MAX: Final = float(2**63 - 1)
"""Value of an unlimited scalar resource in recordings."""


class RecordedTasks(msgspec.Struct, frozen=True):
    """Equal tasks."""

    #: Their state.
    status: TaskStatus
    #: Request of one task.
    requests: dict[str, int] = {}
    #: Number of tasks.
    count: int = 1


class RecordedJob(msgspec.Struct, frozen=True):
    """A job in the form of the recordings."""

    #: Its queue.
    queue: str
    #: Its state.
    phase: JobPhase
    #: Tasks.
    tasks: tuple[RecordedTasks, ...]
    #: Its name.
    name: str = ""
    #: Minimum number of its tasks.
    min_member: int = 0
    #: Minimum amounts of the job.
    min_resources: dict[str, int] = {}

    def job(self) -> QueuedJob:
        """The job as input of the models."""
        tasks = tuple(
            QueuedTasks(each.status, _counted(each.requests), each.count) for each in self.tasks
        )
        needs = _counted(self.min_resources)
        return QueuedJob(self.queue, self.phase, self.min_member, needs, tasks)


class RecordedProbe(msgspec.Struct, frozen=True):
    """A task that is tested on a queue."""

    #: The queue.
    queue: str
    #: Its request.
    requests: dict[str, int] = {}


class QueuesInput(msgspec.Struct, frozen=True):
    """The input of ``vo_proportion`` and ``vo_capacity``."""

    #: Amounts of the cluster.
    total: dict[str, int]
    #: Queues.
    queues: tuple[ShareQueue, ...]
    #: Jobs in them.
    jobs: tuple[RecordedJob, ...]
    #: Tasks that are tested on queues.
    probes: tuple[RecordedProbe, ...] = ()
    #: Jobs that are due to start, in order.
    enqueue: tuple[RecordedJob, ...] = ()
    #: True if queues are a tree.
    hierarchy: bool = False

    def specs(self) -> list[ShareQueue]:
        """The queues, with amounts in Volcano's units; the last of equal names counts."""
        return [
            msgspec.structs.replace(
                each,
                capability=_counted(each.capability),
                guarantee=_counted(each.guarantee),
                deserved=_counted(each.deserved),
            )
            for each in {each.name: each for each in self.queues}.values()
        ]

    def known_jobs(self) -> list[RecordedJob]:
        """The jobs of existing queues; the last of equal names counts."""
        names = {each.name for each in self.queues}
        known = [each for each in self.jobs if each.queue in names]
        return list({each.name: each for each in known}.values())

    def accounts(self) -> dict[str, QueueAccount]:
        """The accounts of existing queues with jobs."""
        return accounts_by_queue(each.job() for each in self.known_jobs())

    def starting(self) -> list[tuple[str, Amounts]]:
        """The queue of each job that is due to start, and its amounts."""
        return [(each.queue, _counted(each.min_resources)) for each in self.enqueue]


def proportional(given: Fields) -> Fields:
    """``vo_proportion``: deserved amounts by water filling, and results of probes."""
    wanted = msgspec.convert(given, QueuesInput)
    found = proportion.proportional(
        wanted.specs(), wanted.accounts(), _counted(wanted.total), CapacityProfile.VOLCANO
    )
    by_name = {each.spec.name: each for each in found}
    allowed = [
        states.within_deserved(by_name[each.queue], _counted(each.requests))
        if each.queue in by_name
        else None
        for each in wanted.probes
    ]
    return {
        "overused": {each.spec.name: each.is_overused for each in found},
        **_lists(
            allocatable=allowed,
            preemptive=allowed,
            enqueue=states.admit_jobs(by_name, wanted.starting()),
        ),
        **_described(states.ordered(found)),
    }


def configured(given: Fields) -> Fields:
    """``vo_capacity``: configured deserved amounts, and results of probes."""
    wanted = msgspec.convert(given, QueuesInput)
    method = capacities.tree if wanted.hierarchy else capacities.flat
    try:
        found = method(wanted.specs(), wanted.accounts(), _counted(wanted.total))
    except QueueTreeError:
        return _refused(wanted)
    by_name = {each.spec.name: each for each in found}
    allowed: list[bool | None] = []
    reclaims: list[bool | None] = []
    for probe in wanted.probes:
        state = by_name.get(probe.queue)
        if state is None:
            allowed.append(None)
            reclaims.append(None)
            continue
        ancestors = [by_name[name] for name in state.path[1:]]
        allowed.append(states.admits(state, ancestors, _counted(probe.requests)))
        reclaims.append(states.may_reclaim(state, _counted(probe.requests)))
    answers = _lists(
        allocatable=allowed,
        preemptive=reclaims,
        enqueue=states.admit_jobs(by_name, wanted.starting()),
    )
    return answers | _described(states.ordered(found, states.by_share_deserving))


def _refused(wanted: QueuesInput) -> Fields:
    """The queues and jobs that Volcano reads, in order of names, before it finds the error."""
    specs = {each.name: each for each in wanted.specs()}
    paths = capacities.paths_to_root(specs)
    accounts = {} if paths.unknown else _accounts_below(wanted, paths.known)
    found = [
        ShareState(specs[name], accounts.get(name, QueueAccount()), {}, specs[name].deserved, 0.0)
        for name in sorted(paths.known)
    ]
    probes = [False if each.queue in paths.known else None for each in wanted.probes]
    starts = [False if each.queue in paths.known else None for each in wanted.enqueue]
    return {
        **_lists(allocatable=probes, preemptive=probes, enqueue=starts),
        **_described(found),
    }


def _accounts_below(
    wanted: QueuesInput, paths: Mapping[str, tuple[str, ...]]
) -> dict[str, QueueAccount]:
    """Accounts of the jobs before the first one whose queue has children, with the ancestors."""
    parents = {parent for path in paths.values() for parent in path[1:2]}
    lines: dict[str, list[QueueAccount]] = {}
    for job in sorted(wanted.known_jobs(), key=attrgetter("name")):
        if job.queue in parents:
            break
        for name in paths.get(job.queue, ()):
            lines.setdefault(name, []).append(job.job().account())
    return {name: merge(accounts) for name, accounts in lines.items()}


def _lists(**answers: list[bool | None]) -> Fields:
    """The results; recordings omit empty lists."""
    return {name: found for name, found in answers.items() if found}


def _described(found: list[ShareState]) -> Fields:
    by_name = {each.spec.name: each for each in found}
    return {
        "queue_order": list(by_name),
        "queues": {name: _queue(each) for name, each in by_name.items()},
    }


def _queue(state: ShareState) -> Fields:
    account = state.account
    return {
        "allocated": _shown(account.allocated),
        "request": _shown(account.request),
        "elastic": _shown(_some(account.elastic)),
        "inqueue": _shown(account.inqueue),
        "deserved": _shown(state.deserved),
        "real_capability": _shown(state.capability),
        "share": state.share,
    }


def _shown(amounts: Amounts) -> Fields:
    """Amounts in the form of recordings, which always contain CPU and memory."""
    found = {CPU: 0.0, MEMORY: 0.0, **amounts}
    return {name: _unlimited(name) if n == inf else n for name, n in found.items()}


def _some(amounts: Amounts) -> Amounts:
    """Amounts without zeros."""
    return {name: amount for name, amount in amounts.items() if amount}


def _unlimited(name: str) -> float | str:
    return "inf" if name in (CPU, MEMORY) else INT64_MAX


def _counted(amounts: Mapping[str, float]) -> Amounts:
    """Amounts in Volcano's units."""
    plain = (CPU, MEMORY, PODS)
    return {name: n if name in plain else n * SCALAR for name, n in amounts.items()}
