"""The one-pool scenario: a day in one pool, compared with the same day in two pools.

There are 2,000 machines, 100 of them with eight GPUs. *Online*: services with a daily load curve
that peaks in the evening, priority 1000. *Training*: the gangs of two tenants, with the real
arrivals of busy days of two Philly clusters; each tenant has half of the GPUs guaranteed, priority
100. *Batch*: three tenants, each with the real arrivals, sizes and lifetimes of a day of Azure VMs,
  shifted by 0, 8 and 16 hours, priority 10.

In *one pool* all workloads share one queue tree: the online queue has its peak guaranteed, and
other queues borrow the capacity that it does not use. In *two pools* with the same total number of
machines, online has machines for 110 % of its peak, and the other queues have the rest. Both use
the same plane.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from math import ceil, cos, inf, pi
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import QueuePolicy
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.one_pool import BIN_S, DAY_S, OnePoolArrivals, load_arrivals
from stretto.plane.config import PlaneConfig
from stretto.state.queues.shape import SiblingPolicy
from stretto_lab.studies.one_pool.day import run_one_pool_day
from stretto_lab.studies.one_pool.ledger import (
    TICK_S,
    DiurnalService,
    OnePoolDayResult,
    OnePoolJob,
    QueueLedger,
)

OnRun = Callable[[int], None]
"""Callback with the number of finished runs."""

DAY: Final = DAY_S // TICK_S
"""Ticks of a day."""
WARM_UP: Final = DAY // 4
"""Ticks of the warm-up, in which the pool fills."""
CURVE_STEP: Final = 20
"""Ticks between two steps of the load curve; they are ten minutes."""
NODE_CORES, GPU_NODE_CORES, NODE_GPUS = 24, 96, 8
"""Cores of a machine, cores of a GPU machine, and its GPUs; a machine has four GiB per core."""
GPU_NODES_PCT: Final = 5
"""Percentage of machines with GPUs."""
WORKER: Final = FleetPod("worker", 8000, 32 * 1024, gpus=1, priority=100)
"""A training pod: one GPU, eight cores and 32 GiB."""
REPLICA: Final = FleetPod("replica", 8000, 24 * 1024, priority=1000)
"""A replica of a service."""
LOW: Final = 0.35
"""Minimum load of services as a share of the peak."""
PEAK_HOUR: Final = 20
"""Hour of the peak."""
SERVICES: Final = 20
ONLINE_PART: Final = 0.5
"""Share of all cores that services use at the peak."""
SPARE: Final = 1.1
"""Size of the online pool as a multiple of its peak."""
BATCH: Final = ("batch-a", "batch-b", "batch-c")
BATCH_SHIFTS_H: Final = (0, 8, 16)
"""Shift of the day of each tenant in hours."""
TRAINING: Final = ("research", "product")
TRAINING_DAYS: Final = 4
"""Days of each Philly cluster that arrive within one day at full scale."""
ONLINE: Final = "online"


class OnePoolStudy(msgspec.Struct, frozen=True):
    """Size of the study."""

    #: Machines; the workload scales with them.
    nodes: int = 2000
    #: Measured hours, after six hours of warm-up.
    hours: float = 24.0
    #: Seed of every draw.
    seed: int = 0

    def __post_init__(self) -> None:
        if not 20 <= self.nodes <= 20_000:
            raise InputError("nodes", self.nodes, "20..20,000 machines")
        if not 0 < self.hours <= 48:
            raise InputError("hours", self.hours, "more than 0 and at most 48 hours")

    @property
    def scale(self) -> float:
        """Scale relative to 2,000 machines."""
        return self.nodes / 2000

    @property
    def until(self) -> int:
        """The last tick."""
        return WARM_UP + round(self.hours * 3600 / TICK_S)


class QueueWaits(msgspec.Struct, frozen=True):
    """Figures of one queue; waits in seconds."""

    #: Queue name.
    queue: str
    #: Pods that were bound.
    started: int
    #: Mean wait of bound pods.
    mean_wait_s: float
    #: 99th percentile of these waits.
    p99_wait_s: float
    #: Longest wait, including pending pods.
    max_wait_s: float
    #: Pending pods at the end.
    waiting: int
    #: Pods that were evicted.
    evicted: int
    #: Core hours of finished jobs.
    done_core_h: float
    #: Core hours lost by evictions.
    lost_core_h: float
    #: GPU hours of finished jobs.
    done_gpu_h: float
    #: GPU hours lost by evictions.
    lost_gpu_h: float


class PoolReport(msgspec.Struct, frozen=True):
    """Figures of one configuration."""

    #: ``one pool`` or ``two pools``.
    name: str
    #: Machines.
    nodes: int
    #: Mean CPU utilisation in percent.
    mean_cpu_pct: float
    #: Highest CPU utilisation of a sample.
    peak_cpu_pct: float
    #: Mean GPU utilisation in percent.
    mean_gpu_pct: float
    #: Highest GPU utilisation of a sample.
    peak_gpu_pct: float
    #: Figures by queue.
    queues: tuple[QueueWaits, ...]


class OnePoolResult(msgspec.Struct, frozen=True):
    """Figures of both configurations, with curves."""

    #: The study.
    study: OnePoolStudy
    #: Sources of the arrivals.
    source: str
    #: Licences of the sources.
    licence: str
    #: Figures by configuration.
    pools: tuple[PoolReport, ...]
    #: Hour of each sample, from the end of the warm-up.
    hours: tuple[float, ...]
    #: By pool and queue: cores in use, in percent.
    cpu_pct: dict[str, dict[str, tuple[float, ...]]]
    #: By pool: GPUs in use, in percent.
    gpu_pct: dict[str, tuple[float, ...]]


def run_one_pool(study: OnePoolStudy, on_run: OnRun = lambda _: None) -> OnePoolResult:
    """Run the day in one pool and in two pools.

    ``on_run`` is called after each run except the last.
    """
    arrivals = load_arrivals()
    nodes = machines(study)
    services, jobs = services_of(study), jobs_of(study, arrivals)
    whole = run_one_pool_day(
        nodes, (services, jobs), pool_config(study, nodes), study.until, WARM_UP
    )
    on_run(1)
    mine, others = split_machines(study, nodes)
    online = run_one_pool_day(mine, (services, ()), pool_config(study, mine), study.until, WARM_UP)
    on_run(2)
    offline = run_one_pool_day(others, ((), jobs), pool_config(study, others), study.until, WARM_UP)
    first = next(i for i, tick in enumerate(whole.ticks) if tick >= WARM_UP)
    runs = {"one pool": (whole,), "two pools": (online, offline)}
    return OnePoolResult(
        study=study,
        source=arrivals.source,
        licence=arrivals.licence,
        pools=tuple(_report(name, study, parts, first) for name, parts in runs.items()),
        hours=tuple((tick - WARM_UP) * TICK_S / 3600 for tick in whole.ticks[first:]),
        cpu_pct={name: _cpu_by_queue(parts, first) for name, parts in runs.items()},
        gpu_pct={name: tuple(_gpu(parts, first).tolist()) for name, parts in runs.items()},
    )


def machines(study: OnePoolStudy) -> list[FleetNode]:
    """Create the machines; every twentieth has GPUs."""
    every = 100 // GPU_NODES_PCT
    return [
        FleetNode(
            f"gpu-{number:05d}" if number % every == 0 else f"cpu-{number:05d}",
            1000 * (GPU_NODE_CORES if number % every == 0 else NODE_CORES),
            4096 * (GPU_NODE_CORES if number % every == 0 else NODE_CORES),
            gpus=NODE_GPUS if number % every == 0 else 0,
            gpu_model="V100" if number % every == 0 else "",
            zone=f"zone-{number % 4}",
            max_pods=110,
        )
        for number in range(study.nodes)
    ]


def split_machines(
    study: OnePoolStudy, nodes: Sequence[FleetNode]
) -> tuple[list[FleetNode], list[FleetNode]]:
    """Split the machines into the online pool and the rest, which has the GPUs."""
    plain = [node for node in nodes if not node.gpus]
    wanted = min(len(plain) - 1, ceil(peak_cores(study) * SPARE / NODE_CORES))
    mine = plain[:wanted]
    names = {node.name for node in mine}
    return mine, [node for node in nodes if node.name not in names]


def services_of(study: OnePoolStudy) -> list[DiurnalService]:
    """Create services with a cosine load curve and slightly different peaks in the evening."""
    replicas = peak_cores(study) * 1000 / REPLICA.cpu_milli / SERVICES
    found = []
    for number in range(SERVICES):
        peak = PEAK_HOUR + (number - SERVICES / 2) / SERVICES
        curve = []
        for tick in range(0, study.until + 1, CURVE_STEP):
            hour = ((tick - WARM_UP) * TICK_S / 3600) % 24
            swing = (1 + cos(2 * pi * (hour - peak) / 24)) / 2
            curve.append((tick, max(1, round(replicas * (LOW + (1 - LOW) * swing)))))
        found.append(DiurnalService(f"service-{number}", REPLICA, ONLINE, tuple(curve)))
    return found


def jobs_of(study: OnePoolStudy, arrivals: OnePoolArrivals) -> list[OnePoolJob]:
    """Create training and batch jobs, in order of arrival."""
    return sorted(
        [*_training(study, arrivals), *_batch(study, arrivals)], key=lambda job: job.arrival
    )


def _training(study: OnePoolStudy, arrivals: OnePoolArrivals) -> list[OnePoolJob]:
    """Merge busy days of each cluster into one day; a smaller pool gets a share of the jobs."""
    draw = Rng(study.seed).child("training").numpy()
    jobs: list[OnePoolJob] = []
    pool = sum(node.gpus for node in machines(study))
    for queue, days in zip(TRAINING, arrivals.jobs.values(), strict=True):
        for second, gpus, lasts in chain.from_iterable(days[:TRAINING_DAYS]):
            ticks = ceil(lasts / TICK_S)
            jobs += [
                OnePoolJob(tick, ticks, WORKER, queue, gpus)
                for tick in _moments(second, study.until)
                if draw.random() < study.scale and gpus <= pool
            ]
    return jobs


def _batch(study: OnePoolStudy, arrivals: OnePoolArrivals) -> list[OnePoolJob]:
    """Create the VMs of one day for each tenant; the seed draws the moments within a bin."""
    draw = Rng(study.seed).child("batch").numpy()
    vms = arrivals.vms
    jobs: list[OnePoolJob] = []
    for queue, shift in zip(BATCH, BATCH_SHIFTS_H, strict=True):
        for number, flat in enumerate(vms.bins):
            for shape, life, count in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                cores, memory = vms.shapes[shape]
                pod = FleetPod("task", 1000 * cores, memory, priority=10)
                lasts = max(1, round(vms.lifetimes_s[life] / TICK_S))
                drawn = count if study.scale == 1 else int(draw.binomial(count, study.scale))
                for offset in draw.integers(0, BIN_S, drawn).tolist():
                    second = (number * BIN_S + offset + shift * 3600) % DAY_S
                    jobs += [
                        OnePoolJob(t, lasts, pod, queue) for t in _moments(second, study.until)
                    ]
    return jobs


def _moments(second: int, until: int) -> list[int]:
    """Return the ticks of an arrival at a second of the day, including the warm-up."""
    first = (second // TICK_S + WARM_UP) % DAY
    return list(range(first, until, DAY))


def pool_config(study: OnePoolStudy, nodes: Sequence[FleetNode]) -> PlaneConfig:
    """Return the configuration of the plane with its queue tree."""
    gpus = sum(node.gpus for node in nodes)
    cores = sum(node.cpu_milli for node in nodes)
    each = gpus // 2
    half = {  # a guarantee reclaims only the resources that it names
        "nvidia.com/gpu": each,
        "cpu": each * WORKER.cpu_milli,
        "memory": each * WORKER.memory_mib << 20,
    }
    online = {"cpu": min(cores, round(1000 * peak_cores(study)))}
    queues = (
        QueueConfig(ONLINE, QueuePolicy.FIFO_SKIP, weight=10, guarantee=online),
        QueueConfig("offline", weight=1),
        QueueConfig("training", parent="offline", weight=3),
        QueueConfig("batch", parent="offline", weight=1),
        *(QueueConfig(q, QueuePolicy.EASY, parent="training", guarantee=half)
          for q in TRAINING),
        *(QueueConfig(q, QueuePolicy.FIFO_SKIP, parent="batch") for q in BATCH),
    )  # fmt: skip
    return PlaneConfig(
        profile=load_profile("packing"),
        dispatcher=DispatcherConfig(
            queues=queues, between=SiblingPolicy.DRF, schedule_timeout=inf, safety_net=inf
        ),
        seed=study.seed,
    )


def peak_cores(study: OnePoolStudy) -> float:
    """Return the cores that services use at the peak."""
    return ONLINE_PART * sum(node.cpu_milli for node in machines(study)) / 1000


def one_pool_plots(result: OnePoolResult) -> list[CurvePlot]:
    """Plots: cores by pool, cores by queue in one pool, and GPUs."""
    cpu, gpu = [], []
    for colour, pool in enumerate(result.pools):
        total = np.sum([np.array(each) for each in result.cpu_pct[pool.name].values()], axis=0)
        cpu.append(PlotLine(pool.name, result.hours, total.tolist(), colour, steps=True))
        gpu.append(PlotLine(pool.name, result.hours, result.gpu_pct[pool.name], colour, steps=True))
    parts = result.cpu_pct["one pool"]
    queues = [
        PlotLine(queue, result.hours, part, colour)
        for colour, (queue, part) in enumerate(parts.items())
    ]
    along, use = "hour of the day", "in use, % of all"
    low, high = min(parts["online"]), max(parts["online"])
    title = f"Batch fills what services leave: services use {low:.0f} to {high:.0f} % of the cores"
    words = {
        "cpu": f"Cores in use on average: {_means(cpu)}",
        "gpu": f"GPUs in use on average: {_means(gpu)}",
    }
    texts = {
        name: PlotTexts(title, along, use, from_0=True, at_end=True)
        for name, title in words.items()
    }
    by_queue = PlotTexts(title, along, use, from_0=True)
    return [
        CurvePlot("one-pool-cpu", cpu, texts["cpu"]),
        CurvePlot("one-pool-gpu", gpu, texts["gpu"]),
        CurvePlot("one-pool-queues", queues, by_queue, stacked=True),
    ]


def _means(lines: Sequence[PlotLine]) -> str:
    return ", ".join(f"{line.label} {float(np.mean(line.y)):.0f} %" for line in lines)


def _report(
    name: str, study: OnePoolStudy, runs: Sequence[OnePoolDayResult], first: int
) -> PoolReport:
    cpu = np.sum([np.array(each) for each in _cpu_by_queue(runs, first).values()], axis=0)
    gpu = _gpu(runs, first)
    return PoolReport(
        name=name,
        nodes=study.nodes,
        mean_cpu_pct=round(float(cpu.mean()), 2),
        peak_cpu_pct=round(float(cpu.max()), 2),
        mean_gpu_pct=round(float(gpu.mean()), 2),
        peak_gpu_pct=round(float(gpu.max()), 2),
        queues=tuple(_line(q, ledger) for run in runs for q, ledger in run.ledgers.items()),
    )


def _cpu_by_queue(runs: Sequence[OnePoolDayResult], first: int) -> dict[str, tuple[float, ...]]:
    """Return the used cores by queue, in percent of all cores of all pools."""
    whole = sum(run.capacity[0] for run in runs)
    return {
        queue: tuple(100 * cores / whole for cores in used[first:])
        for run in runs
        for queue, used in run.cores.items()
    }


def _gpu(runs: Sequence[OnePoolDayResult], first: int) -> npt.NDArray[np.float64]:
    """Return the used GPUs, in percent of all GPUs of all pools."""
    whole = sum(run.capacity[1] for run in runs)
    used = [np.array(each[first:]) for run in runs for each in run.gpus.values()]
    total: npt.NDArray[np.float64] = np.sum(used, axis=0) * (100.0 / max(1, whole))
    return total


def _line(queue: str, ledger: QueueLedger) -> QueueWaits:
    waits = np.repeat(
        np.array(list(ledger.waits.keys()), np.int64),
        np.array(list(ledger.waits.values()), np.int64),
    )
    known = len(waits) > 0
    return QueueWaits(
        queue=queue,
        started=ledger.started,
        mean_wait_s=round(TICK_S * float(waits.mean()), 1) if known else 0.0,
        p99_wait_s=TICK_S * float(np.percentile(waits, 99)) if known else 0.0,
        max_wait_s=float(TICK_S * max(int(waits.max(initial=0)), ledger.waiting_most)),
        waiting=ledger.waiting,
        evicted=ledger.evicted,
        done_core_h=round(ledger.done_core_h, 1),
        lost_core_h=round(ledger.lost_core_h, 1),
        done_gpu_h=round(ledger.done_gpu_h, 1),
        lost_gpu_h=round(ledger.lost_gpu_h, 1),
    )
