"""Adapter from recorded inputs of peak prediction and vertical recommendation to the models."""

from typing import Any, Final

import msgspec

from stretto.capacity.histograms import peaks
from stretto.capacity.histograms.peaks import (
    Pair,
    PeakConfig,
    PeakEstimate,
    PeakModels,
    PredictedPod,
)
from stretto.capacity.model.classes import Band
from stretto.capacity.vertical import bounds as vertical
from stretto.capacity.vertical.bounds import MOST
from stretto.capacity.vertical.history import ContainerHistory, VerticalConfig
from stretto_lab.models.koordinator import classes
from stretto_lab.models.koordinator.classes import KubeQos

Fields = dict[str, Any]
"""The members of an input or of a result."""

START_S: Final = 730_119 * 86_400.0
"""Clock time at which recordings start: 2000-01-01, in seconds since the year 1.

References of histograms are multiples of half-lives since the year 1.
"""
_NO_MODEL: Final = (
    "failed to add pod (t/{0}) to podReclaimablePredictor. "
    "error: UID {0} not found in predict server"
)
_SHOWN: Final = {"p60": 0.6, "p90": 0.9, "p95": 0.95, "p98": 0.98, "max": 1.0}


class EventInput(msgspec.Struct, frozen=True):
    """A sample or a kill."""

    at_s: float
    kind: str
    value: float


class ContainerInput(msgspec.Struct, frozen=True):
    """A container."""

    name: str
    events: tuple[EventInput, ...] = ()


class VerticalInput(msgspec.Struct, frozen=True):
    """The input of the family ``vpa_recommend``."""

    config: VerticalConfig
    containers: tuple[ContainerInput, ...]
    through_checkpoint: bool = False


class RequestsInput(msgspec.Struct, frozen=True):
    """Milli-CPU and bytes."""

    cpu_milli: int = 0
    memory: int = 0

    def pair(self) -> Pair:
        """Both amounts."""
        return self.cpu_milli, self.memory


class PeakPodInput(msgspec.Struct, frozen=True):
    """A pod on the node."""

    name: str
    requests: RequestsInput = RequestsInput()
    age_at_start_s: float = 0
    phase: str = "Running"
    qos: str = ""
    priority_class: str = ""
    deleted: bool = False

    def band(self) -> Band:
        """The band of the pod."""
        requests_any = any(self.requests.pair())
        qos = classes.qos_of(self.qos, KubeQos.BURSTABLE if requests_any else KubeQos.BEST_EFFORT)
        return classes.band_of(self.priority_class, None, qos)


class RoundInput(msgspec.Struct, frozen=True):
    """One or several equal reports."""

    dt_s: float
    pods: dict[str, tuple[float, float]] = {}
    node: tuple[float, float] | None = None
    repeat: int = 1


class PredictorInput(PeakConfig, frozen=True, kw_only=True):
    """The input of the family ``ko_predictor``."""

    allocatable: RequestsInput = RequestsInput()
    raw_allocatable: RequestsInput | None = None
    pods: tuple[PeakPodInput, ...] = ()
    rounds: tuple[RoundInput, ...] = ()
    wait_s: float = 0


def recommend(given: Fields) -> Fields:
    """``vpa_recommend``: accepted events, percentiles and recommended requests."""
    fields = msgspec.convert(given, VerticalInput)
    found: Fields = {"accepted": {}, "percentiles": {}, "recommendation": {}}
    for container in fields.containers:
        history = ContainerHistory(fields.config)
        add = {"cpu": history.add_cpu, "memory": history.add_memory, "oom": history.add_kill}
        name, events = container.name, container.events
        accepted = [add[each.kind](each.value, START_S + each.at_s) for each in events]
        if accepted:
            found["accepted"][name] = accepted
        if fields.through_checkpoint:
            history.use.reload()
        found["percentiles"][name] = {
            f"{part:g}": [history.use.cpu.percentile(part), history.use.memory.percentile(part)]
            for part in (0, 0.5, 0.9, 0.95, 1)
        }
        bounds = vertical.recommend(history.use, fields.config, len(fields.containers))
        found["recommendation"][name] = {
            each: [_amount(value) for value in getattr(bounds, each)]
            for each in ("lower", "target", "upper")
        }
    return found


def predict(given: Fields) -> Fields:
    """``ko_predictor``: peaks of every model, and the reclaimable part of the requests.

    Samples of pods that are not on the node do not count.
    """
    fields = msgspec.convert(given, PredictorInput)
    models = PeakModels(fields)
    bands = {pod.name: pod.band() for pod in fields.pods}
    elapsed = 0.0
    for each in fields.rounds:
        for _ in range(each.repeat):
            elapsed += each.dt_s
            use = {name: each.pods[name] for name in bands if name in each.pods}
            models.observe(START_S + elapsed, each.node, use, bands)
    elapsed += fields.wait_s
    pods = [_pod(each, elapsed) for each in fields.pods]
    allocatable = (fields.raw_allocatable or fields.allocatable).pair()
    alone, together = (
        peaks.by_pod(models, pods, allocatable),
        peaks.by_class(models, pods, allocatable),
    )
    careful = together and peaks.smallest(alone, together)
    unknown = [
        each.name
        for each in pods
        if each.counts and not models.knows(each) and not models.is_young(each)
    ]
    shown = {name: _shown(model) for name, model in models.models.items()}
    found = {
        "predictions": shown,
        "pod_level": _estimate(alone),
        "priority_level": _estimate(together),
        "min": _estimate(careful),
    }
    errors = {name: _NO_MODEL.format(name) for name in unknown}
    return found | {"add_errors": errors} if errors else found


def _pod(pod: PeakPodInput, elapsed: float) -> PredictedPod:
    ended = pod.deleted or pod.phase in ("Failed", "Succeeded")
    age = pod.age_at_start_s + elapsed
    return PredictedPod(pod.name, pod.requests.pair(), age, pod.band(), ended)


def _shown(model: peaks.PeakModel) -> Fields:
    return {name: list(model.percentiles(part, part)) for name, part in _SHOWN.items()}


def _estimate(found: PeakEstimate | None) -> Fields:
    if found is None:
        missing = {"error": "there are no reports yet"}
        return {"peak": missing, "reclaimable": missing}
    return {"peak": _amounts(found.peak), "reclaimable": _amounts(found.reclaimable)}


def _amounts(pair: Pair) -> dict[str, int]:
    return {"cpu_milli": pair[0], "memory": pair[1]}


def _amount(value: int) -> int | str:
    return "max" if value == MOST else value
