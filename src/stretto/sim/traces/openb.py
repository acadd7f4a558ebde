"""The openb trace in its own time: pods come and go as they did, on a few nodes of the fleet.

The trace is a one-percent sample, so a replay in true time needs a small cluster. At one instant
deletions come before creations, and creations in the order of the file; a pod that is deleted at
its own creation instant is left out; equal scores go to the smallest node name. A pod leaves at its
deletion time whether it was placed late, or never. What does not fit is rejected for good, or
waits.
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
from stretto.sim.engine import NEVER, Arrivals, PodWork, UnfitPolicy, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.result import SimulationResult
from stretto.sim.traces.drivers import PreparedRun, TraceRun
from stretto.sim.usage import usage
from stretto.sim.world import WorldConfig, build_world

DEFAULT_POLICY: Final = "best-fit"
"""The plainest of the study's policies that packs."""
NO_CLASS: Final = "none"
"""Quality of service of pods that name none."""


class ReplayStudy(msgspec.Struct, frozen=True):
    """How the trace is replayed."""

    #: Where pods go.
    policy: str = DEFAULT_POLICY
    #: What happens to pods that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


class ReplayReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the pods."""

    #: Pods that got a node.
    placed: int
    #: Pods that got none: turned away, or deleted before they fitted.
    rejected: int
    #: These by quality of service.
    rejected_by_qos: dict[str, int]
    #: Most GPU milli allocated at any one time.
    peak_gpu_milli: int
    #: GPU milli allocated, over time.
    gpu_milli_seconds: int
    #: Whether the run was interrupted.
    partial: bool = False


def prepare(run: TraceRun) -> PreparedRun:
    """The driver of the openb format."""
    fleet = Fleet(run.hosts, run.format.read(run.path, run.models), run.path.name)
    study = ReplayStudy(run.options.get("policy", DEFAULT_POLICY), run.unfit, run.seed)
    return PreparedRun(len(fleet.pods), lambda told: replay_openb(fleet, study, told))


def replay_openb(
    fleet: Fleet, study: ReplayStudy, told: Arrivals | None = None
) -> SimulationResult[ReplayReport]:
    """Replay the pods of a fleet on its nodes.

    Raises:
        InputError: the list has no times.
    """
    typical = typical_pods(fleet.pods)
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME, typical),
        retry=study.unfit is UnfitPolicy.WAIT,
        seed=study.seed,
    )
    work = work_of(fleet.pods)
    record = WorkRunner(build_world(config, fleet.nodes), work, told=told).run()
    return _report(work, record, fleet.gpu_milli)


def work_of(pods: Sequence[FleetPod]) -> list[PodWork]:
    """Pods as work in the order of the list, without those that never lived."""
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
    """A record in figures."""
    gpu = usage(record, np.array([each.pod.gpu_milli_total for each in work], np.int64))
    classes = Counter(
        each.pod.qos or NO_CLASS
        for each, away in zip(work, record.rejected.tolist(), strict=True)
        if away
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
