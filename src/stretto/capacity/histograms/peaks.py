"""Peaks of the use of pods, classes of pods and the node, and reclaimable requests.

Source: Koordinator's ``koordlet/prediction`` (``predict_server.go``, ``peak_predictor.go``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from stretto.capacity.histograms.decaying import BucketScale, DecayingHistogram
from stretto.capacity.model.classes import Band

CPU_SCALE: Final = BucketScale(0.025, 1.05, 1024.0)
"""Buckets of CPU, in cores."""
MEMORY_SCALE: Final = BucketScale(5 * 2.0**20, 1.05, 2.0**41)
"""Buckets of memory, in bytes."""
CPU_PERCENTILE: Final = 0.95
"""Percentile that counts as the peak of CPU."""
MEMORY_PERCENTILE: Final = 0.98
"""Percentile that counts as the peak of memory."""

NODE: Final = "__node__"
"""Name of the model of the whole node."""
SYSTEM: Final = "__node-sys__"
"""Name of the model of all processes outside pods."""

Pair = tuple[int, int]
"""Milli-CPU and bytes."""


def class_model(band: Band) -> str:
    """Name of the model of a band of pods."""
    return f"__node-{band.value}__"


class PeakConfig(msgspec.Struct, frozen=True):
    """Parameters of the predictor."""

    #: Seconds in which the weight of a CPU sample halves.
    cpu_half_life_s: float = 43_200.0
    #: Seconds in which the weight of a memory sample halves.
    memory_half_life_s: float = 86_400.0
    #: Age in seconds below which a pod is too young to be predicted.
    cold_start_s: float = 86_400.0
    #: Percent added to peaks.
    safety_margin_percent: int = 10

    def with_margin(self, amounts: Pair) -> Pair:
        """Add the margin to amounts and truncate them; the ratio is computed first."""
        ratio = (100 + self.safety_margin_percent) / 100
        cpu, memory = (int(each * ratio) for each in amounts)
        return cpu, memory


class PeakModel:
    """The use of one subject over time."""

    def __init__(self, config: PeakConfig) -> None:
        """Start without samples."""
        self._cpu = DecayingHistogram(CPU_SCALE, config.cpu_half_life_s)
        self._memory = DecayingHistogram(MEMORY_SCALE, config.memory_half_life_s)

    def add(self, use: tuple[float, float], at_s: float) -> None:
        """Add a sample: cores and bytes."""
        self._cpu.add(use[0], 1.0, at_s)
        self._memory.add(use[1], 1.0, at_s)

    def percentiles(self, cpu: float, memory: float) -> Pair:
        """Milli-CPU and bytes at two percentiles."""
        return int(self._cpu.percentile(cpu) * 1000), int(self._memory.percentile(memory))

    def peak(self) -> Pair:
        """Milli-CPU and bytes that are rarely exceeded."""
        return self.percentiles(CPU_PERCENTILE, MEMORY_PERCENTILE)


@dataclass
class PeakModels:
    """The models of one node."""

    #: Parameters.
    config: PeakConfig
    #: Models by name.
    models: dict[str, PeakModel] = field(default_factory=dict)

    def observe(
        self,
        at_s: float,
        node: tuple[float, float] | None,
        pods: Mapping[str, tuple[float, float]],
        bands: Mapping[str, Band],
    ) -> None:
        """Add one report: cores and bytes of the node and of each pod.

        Every band gets a sample; without pods the sample is 0. Without a measurement of the node,
        the use outside pods is 0.
        """
        sums = dict.fromkeys(Band, (0.0, 0.0))
        used = (0.0, 0.0)
        for name, each in pods.items():
            self._model(name).add(each, at_s)
            band = bands.get(name, Band.NONE)
            sums[band] = _plus(sums[band], each)
            used = _plus(used, each)
        rest = (0.0, 0.0)
        if node is not None:
            self._model(NODE).add(node, at_s)
            rest = max(node[0] - used[0], 0.0), max(node[1] - used[1], 0.0)
        self._model(SYSTEM).add(rest, at_s)
        for band, amount in sums.items():
            self._model(class_model(band)).add(amount, at_s)

    def is_young(self, pod: "PredictedPod") -> bool:
        """Return whether a pod is too young to be predicted."""
        return pod.age_s <= self.config.cold_start_s

    def knows(self, pod: "PredictedPod") -> bool:
        """Return whether the use of a pod was ever reported."""
        return pod.name in self.models

    def _model(self, name: str) -> PeakModel:
        if name not in self.models:
            self.models[name] = PeakModel(self.config)
        return self.models[name]


class PredictedPod(msgspec.Struct, frozen=True):
    """A pod whose requests may be reclaimed."""

    #: Name of its model.
    name: str
    #: Requested milli-CPU and bytes.
    requested: Pair
    #: Seconds since it was created.
    age_s: float
    #: Band of the pod.
    band: Band = Band.PROD
    #: True if the pod is deleted or has ended.
    ended: bool = False

    @property
    def counts(self) -> bool:
        """True if it is an online pod that runs or will run."""
        return not self.ended and self.band is Band.PROD


class PeakEstimate(msgspec.Struct, frozen=True):
    """The peak of online pods, and their requests beyond it."""

    #: Peak in milli-CPU and bytes.
    peak: Pair
    #: Requests beyond the peak in milli-CPU and bytes.
    reclaimable: Pair


def by_pod(models: PeakModels, pods: Iterable[PredictedPod], allocatable: Pair) -> PeakEstimate:
    """Sum the requests of online pods beyond their peaks.

    The whole request of a young pod, or of a pod without a model, counts as used; for a young pod
    even after its end. The sum is at most the capacity of the node minus the peaks of the other
    pods.
    """
    peak, reclaimable, predicted = (0, 0), (0, 0), (0, 0)
    for pod in pods:
        young = models.is_young(pod)
        if pod.band is not Band.PROD or (pod.ended and not young):
            continue
        model = models.models.get(pod.name)
        if model is None or young:
            peak = _add(peak, pod.requested)
            continue
        own = models.config.with_margin(model.peak())
        predicted = _add(predicted, own)
        peak = _add(peak, own)
        reclaimable = _add(reclaimable, _left(pod.requested, own))
    return PeakEstimate(peak, _bounded(reclaimable, allocatable, predicted))


def by_class(
    models: PeakModels, pods: Iterable[PredictedPod], allocatable: Pair
) -> PeakEstimate | None:
    """Requests beyond the common peak of all online pods and the system.

    Peaks of different pods at different times count once. The result is ``None`` before the first
    report.
    """
    wanted = [SYSTEM, class_model(Band.PROD), class_model(Band.NONE)]
    if any(name not in models.models for name in wanted):
        return None
    total = (0, 0)
    for name in wanted:
        total = _add(total, models.models[name].peak())
    peak = models.config.with_margin(total)
    requested = (0, 0)
    for pod in pods:
        if pod.counts and (models.knows(pod) or models.is_young(pod)):
            requested = _add(requested, pod.requested)
    return PeakEstimate(peak, _bounded(_left(requested, peak), allocatable, peak))


def smallest(one: PeakEstimate, other: PeakEstimate) -> PeakEstimate:
    """Return the more conservative of two estimates."""
    peak = max(one.peak[0], other.peak[0]), max(one.peak[1], other.peak[1])
    reclaimable = (
        min(one.reclaimable[0], other.reclaimable[0]),
        min(one.reclaimable[1], other.reclaimable[1]),
    )
    return PeakEstimate(peak, reclaimable)


def _plus(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


def _add(one: Pair, other: Pair) -> Pair:
    return one[0] + other[0], one[1] + other[1]


def _left(whole: Pair, taken: Pair) -> Pair:
    return max(whole[0] - taken[0], 0), max(whole[1] - taken[1], 0)


def _bounded(amounts: Pair, allocatable: Pair, peak: Pair) -> Pair:
    left = _left(allocatable, peak)
    return min(amounts[0], left[0]), min(amounts[1], left[1])
