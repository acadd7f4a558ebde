"""The openb trace with its own times: pods are created and deleted as recorded, on a small cluster.

The trace is a one-percent sample, so a replay with its times needs only a few nodes. At each
instant, deletions precede creations, and creations follow the order of the file. Pods that are
deleted in the instant of their creation are dropped. Ties go to the smallest node name. A pod is
deleted at its deletion time even if it was placed late or not at all. A pod that does not fit is
rejected, or stays pending.
"""

from collections import Counter
from collections.abc import Sequence
from math import floor
from typing import Final

import msgspec
import numpy as np

from stretto.base.errors import InputError
from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import Fleet, FleetPod
from stretto.inputs.traces.openb.protocol import typical_pods
from stretto.sim.engine import NEVER, OnArrivals, PodWork, UnfitPolicy, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.traces.drivers import PreparedTrace, TraceRun
from stretto.sim.usage import SimulationResult, usage
from stretto.sim.world import WorldConfig, build_world

DEFAULT_POLICY: Final = "best-fit"
"""The simplest packing policy of the study."""
NO_CLASS: Final = "none"
"""Quality of service of pods without one."""


class ReplayStudy(msgspec.Struct, frozen=True):
    """Settings of a replay."""

    #: Policy that places pods.
    policy: str = DEFAULT_POLICY
    #: Treatment of pods that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


class ReplayReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a replay."""

    #: Pods that were bound.
    placed: int
    #: Pods that were rejected, or deleted before they fitted.
    rejected: int
    #: Rejected pods by quality of service.
    rejected_by_qos: dict[str, int]
    #: Peak of the allocated GPU milli.
    peak_gpu_milli: int
    #: Integral of the allocated GPU milli over time.
    gpu_milli_seconds: int
    #: True if the run was interrupted.
    partial: bool = False


def prepare(run: TraceRun) -> PreparedTrace:
    """The driver of the openb format."""
    fleet = Fleet(run.hosts, run.format.read(run.path, run.models), run.path.name)
    study = ReplayStudy(run.options.get("policy", DEFAULT_POLICY), run.unfit, run.seed)
    return PreparedTrace(len(fleet.pods), lambda report: replay_openb(fleet, study, report))


def replay_openb(
    fleet: Fleet, study: ReplayStudy, on_arrivals: OnArrivals | None = None
) -> SimulationResult[ReplayReport]:
    """Replay the pods of a fleet on its nodes.

    Raises:
        InputError: the pod list has no times.
    """
    typical = typical_pods(fleet.pods)
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME, typical),
        retry=study.unfit is UnfitPolicy.WAIT,
        seed=study.seed,
    )
    work = work_of(fleet.pods)
    record = WorkRunner(build_world(config, fleet.nodes), work, on_arrivals=on_arrivals).run()
    return _report(work, record, fleet.gpu_milli)


def work_of(pods: Sequence[FleetPod]) -> list[PodWork]:
    """Pods as work in the order of the list, without pods that have no lifetime."""
    work = []
    for pod in pods:
        if pod.arrival_s is None or pod.departure_s is None:
            hint = "use the long form of the list, or compare (which ignores times)"
            raise InputError(f"pod {pod.name}", None, "a creation and a deletion time", hint)
        arrival, departure = floor(pod.arrival_s + 0.5), floor(pod.departure_s + 0.5)
        if departure > arrival:
            work.append(PodWork(pod, arrival, departure=departure))
    return work


def _report(
    work: Sequence[PodWork], record: WorkRecord, gpu_milli: int
) -> SimulationResult[ReplayReport]:
    """The report of a record."""
    gpu = usage(record, np.array([each.pod.gpu_milli_total for each in work], np.int64))
    classes = Counter(
        each.pod.qos or NO_CLASS
        for each, rejected in zip(work, record.rejected.tolist(), strict=True)
        if rejected
    )
    report = ReplayReport(
        placed=int((record.started != NEVER).sum()),
        rejected=int(record.rejected.sum()),
        rejected_by_qos=dict(sorted(classes.items())),
        peak_gpu_milli=gpu.peak,
        gpu_milli_seconds=gpu.amount_ticks,
        partial=record.partial,
    )
    return SimulationResult(report, (gpu.line("GPU", gpu_milli, 1.0),))
