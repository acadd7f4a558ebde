"""A batch job of any trace, and the rule that makes pods from it.

The pods of a job are a gang. A job with a number of nodes has one pod for each, with equal shares
(the first ones get the remainder). Any other job has one pod if it is within the limit of a pod,
else pods of the limit and one with the rest. The limit counts GPUs for a job with GPUs, and cores
for others; CPU and memory of a job with GPUs are split in proportion to the GPUs. The limit is the
largest node of the fleet unless the keys set one. Without nodes, it is one GPU or one core.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import msgspec

from stretto.api.wire.names import LABEL_CHARS
from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import MAX_GPUS, WHOLE_GPU, FleetNode, FleetPod
from stretto.inputs.objects.objects import USER_LABEL, object_name

CORE: Final = 1000
"""Milli of a core."""
MAX_TIME_S: Final = 10**10
"""Three centuries: a larger time is in milliseconds."""
MAX_SIZE: Final = 10_000_000
"""Maximum number of processors or GPUs of a job, more than any computer has."""
MAX_PODS: Final = 100_000
"""Maximum number of pods of a job, more than the largest gang that a cluster can start at once."""
AMPLE_CPU_MILLI: Final = 10_000_000
"""CPU of a node with a known number of GPUs only; it is never the limit."""
AMPLE_MEMORY_MIB: Final = 1 << 24
"""Memory of a node with known processors or GPUs only; it is never the limit."""
GROUP_LABEL: Final = "stretto.dev/user-group"
"""Label of a pod: the user group of its trace."""
TRACE_QUEUE_LABEL: Final = "stretto.dev/trace-queue"
"""Label of a pod: the queue or virtual cluster of its trace."""
PARTITION_LABEL: Final = "stretto.dev/partition"
"""Label of a pod: the partition of its trace."""

QueueSource = Literal["none", "user", "group", "queue", "partition"]
"""The value of a job that determines its Queue."""


class BatchJobs(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of batch jobs."""

    #: The file of jobs, relative to the scenario.
    jobs: str
    #: The value of a job that determines its Queue; ``none`` puts all jobs into one queue.
    queues_by: QueueSource = "none"
    #: Only jobs with these values, such as ``queue=ee9e8c``, by user, group, queue or partition.
    only: str = ""
    #: Maximum number of cores of a pod; 0 means the largest node.
    pod_cpus: int = 0
    #: Maximum number of GPUs of a pod; 0 means the largest node.
    pod_gpus: int = 0


class BatchNodes(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet described by a file of a trace of batch jobs."""

    #: The file with the nodes, relative to the scenario.
    nodes: str


class BatchJob(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One job. All amounts are totals of the job."""

    #: Identity in the trace.
    job_id: str
    #: Second of its submission, after the first submission of the trace.
    submit_s: float
    #: Run time in seconds.
    duration_s: float = 0.0
    #: CPU in thousandths of a core.
    cpu_milli: int = 0
    #: Memory in MiB.
    memory_mib: int = 0
    #: Number of GPUs.
    gpus: int = 0
    #: Milli of each GPU; below 1000 (a share) only for one GPU.
    gpu_milli: int = WHOLE_GPU
    #: Number of nodes in the trace; 0 if the trace has none.
    nodes: int = 0
    #: The user's estimate of the run time in seconds; ``None`` for the run time itself.
    estimate_s: float | None = None
    #: Priority; the highest is scheduled first.
    priority: int = 0
    #: The user.
    user: str = ""
    #: The user's group.
    group: str = ""
    #: The queue or virtual cluster.
    queue: str = ""
    #: The partition.
    partition: str = ""
    #: Reason for omitting the job from a simulation, such as ``cancelled before its start``; empty
    #: for a job that runs.
    omitted: str = ""


class PodLimit(NamedTuple):
    """The largest pod of a job; 0 means unknown."""

    #: Milli of cores.
    cpu_milli: int
    #: GPUs.
    gpus: int


class PodShare(NamedTuple):
    """The share of one pod, and the number of pods with this share."""

    #: CPU in thousandths of a core.
    cpu_milli: int
    #: Memory in MiB.
    memory_mib: int
    #: GPUs.
    gpus: int
    #: Number of such pods.
    pods: int = 1


def limit_of(keys: BatchJobs, nodes: Iterable[FleetNode]) -> PodLimit:
    """The limit of a pod: that of the keys, or the largest node."""
    cpu = gpus = 0
    for node in nodes:
        cpu, gpus = max(cpu, node.cpu_milli), max(gpus, node.gpus)
    return PodLimit(keys.pod_cpus * CORE or cpu, keys.pod_gpus or gpus)


def shares_of(job: BatchJob, limit: PodLimit) -> list[PodShare]:
    """The shares of a job's pods, the largest first."""
    if job.nodes:
        return _equal_shares(job)
    if job.gpus:
        most = limit.gpus or 1
        if job.gpus <= most:
            return [PodShare(job.cpu_milli, job.memory_mib, job.gpus)]
        sizes, total = [most, job.gpus % most], job.gpus
    else:
        most = limit.cpu_milli or CORE
        if job.cpu_milli <= most:
            return [PodShare(job.cpu_milli, job.memory_mib, 0)]
        sizes, total = [most, job.cpu_milli % most], job.cpu_milli
    counts = (total // most, 1)
    return [
        PodShare(
            job.cpu_milli * size // total,
            job.memory_mib * size // total,
            size if job.gpus else 0,
            count,
        )
        for size, count in zip(sizes, counts, strict=True)
        if size
    ]


def gang_of(job: BatchJob, shares: Sequence[PodShare], source: QueueSource) -> list[FleetPod]:
    """The pods of a job with these shares; a single pod is not a gang."""
    name = f"job-{job.job_id}"
    count = sum(share.pods for share in shares)
    if count > MAX_PODS:
        hint = "describe larger nodes, or state the largest pod (pod_cpus, pod_gpus)"
        raise InputError(name, f"{count:,} pods", f"at most {MAX_PODS:,} pods", hint)
    alone = count == 1
    model = FleetPod(
        name=name,
        cpu_milli=0,
        memory_mib=0,
        arrival_s=job.submit_s,
        duration_s=job.duration_s,
        estimate_s=job.estimate_s,
        priority=job.priority,
        group="" if alone else name,
        queue=queue_name(job, source),
        labels=_labels(job),
    )
    pods: list[FleetPod] = []
    for share in shares:
        for _ in range(share.pods):
            pod = msgspec.structs.replace(
                model,
                name=name if alone else f"{name}-{len(pods)}",
                cpu_milli=share.cpu_milli,
                memory_mib=share.memory_mib,
                gpus=share.gpus,
                gpu_milli=job.gpu_milli if share.gpus else 0,
            )
            pods.append(pod)
    return pods


def queue_name(job: BatchJob, source: QueueSource) -> str:
    """The name of a job's Queue; empty for the default queue."""
    value = "" if source == "none" else getattr(job, source)
    return object_name(value) if value else ""


def pool_nodes(gpus: int, per_node: int = 0) -> tuple[FleetNode, ...]:
    """A pool of GPUs as nodes with ample CPU and memory; ``per_node`` 0 makes one node."""
    size = per_node or gpus
    sizes = [size] * (gpus // size) + [gpus % size] * (gpus % size > 0)
    return tuple(
        FleetNode(f"pool-{number}", AMPLE_CPU_MILLI, AMPLE_MEMORY_MIB, each, "any")
        for number, each in enumerate(sizes)
    )


def since_first(times: Sequence[float]) -> list[float]:
    """Times in seconds after the earliest of them."""
    first = min(times, default=0.0)
    return [time - first for time in times]


def needs_pool(nodes: Iterable[FleetNode]) -> bool:
    """True if some node has more GPUs than a node with single devices can have."""
    return any(node.gpus > MAX_GPUS for node in nodes)


def _equal_shares(job: BatchJob) -> list[PodShare]:
    """One pod for each node of a job; the first ones get the remainder."""
    count = job.nodes
    amounts = (job.cpu_milli, job.memory_mib, job.gpus)
    rests = [amount % count for amount in amounts]
    cuts = sorted({0, *rests, count})
    shares = []
    for low, high in pairwise(cuts):
        cpu, memory, gpus = (
            amount // count + (low < rest) for amount, rest in zip(amounts, rests, strict=True)
        )
        shares.append(PodShare(cpu, memory, gpus, high - low))
    return shares


def _labels(job: BatchJob) -> dict[str, str]:
    """User, group, queue and partition of a job as labels."""
    values = {
        USER_LABEL: job.user,
        GROUP_LABEL: job.group,
        TRACE_QUEUE_LABEL: job.queue,
        PARTITION_LABEL: job.partition,
    }
    return {key: label for key, value in values.items() if (label := label_text(value))}


def label_text(text: str) -> str:
    """A text as a label value: other characters become ``-``."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:LABEL_CHARS].strip("-_.")
