"""Koordinator's estimators: batch and mid capacity of one node, computed over columns.

They are in a module of their own because an agent with another estimator needs no NumPy.
"""

import numpy as np

from stretto.capacity.histograms.peaks import PeakConfig, PeakModels, PredictedPod, by_class, by_pod
from stretto.capacity.histograms.peaks import smallest as more_careful
from stretto.capacity.model.classes import Band
from stretto.capacity.reclaim.batch import BatchStrategy, NodeSupply, batch
from stretto.capacity.reclaim.held import PodTable, held
from stretto.capacity.reclaim.mid import MidStrategy, MidSupply, mid
from stretto.capacity.reclaim.reading import MILLI, HeadroomEstimate, HeadroomReading, Pair
from stretto.framework.profile.capacity.reclaim import ReclaimRules


class BatchEstimator:
    """Koordinator's batch capacity: capacity that online pods do not use now."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Use the percentages of the rules as upper bounds."""
        self._strategy = BatchStrategy((rules.cpu_percent, rules.memory_percent))
        self._reserved = int(rules.reserved_cores * MILLI)

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        found = batch(_supply(reading, self._reserved), held(_table(reading), 1), self._strategy)
        return HeadroomEstimate(int(found[0, 0]), int(found[0, 1]))


class MidEstimator:
    """Koordinator's mid capacity: requests of online pods beyond their predicted peaks."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Start without history."""
        self._models = PeakModels(PeakConfig())
        self._reserved = int(rules.reserved_cores * MILLI)

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        used = {
            pod.uid: (pod.use[0] / MILLI, float(pod.use[1]))
            for pod in reading.pods
            if pod.use is not None
        }
        node = (reading.used[0] / MILLI, float(reading.used[1]))
        self._models.observe(reading.at_s, node, used, dict.fromkeys(used, Band.PROD))
        pods = [PredictedPod(pod.uid, pod.request, pod.age_s) for pod in reading.pods]
        estimate = by_pod(self._models, pods, reading.capacity)
        whole = by_class(self._models, pods, reading.capacity)
        left = (more_careful(estimate, whole) if whole is not None else estimate).reclaimable
        known = MidSupply(_row(left), _row(reading.used), held(_table(reading), 1).requested)
        found = mid(_supply(reading, self._reserved), known, MidStrategy())
        return HeadroomEstimate(int(found[0, 0]), int(found[0, 1]))


def _row(amounts: Pair) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """One node as a row of columns."""
    return np.array([amounts], np.int64)


def _supply(reading: HeadroomReading, reserved_milli: int) -> NodeSupply:
    """Capacity, reserve and use outside pods."""
    used = [
        sum(pod.use[k] for pod in reading.pods if pod.use is not None) + reading.reclaimed[k]
        for k in (0, 1)
    ]
    system = max(reading.used[0] - used[0], 0), max(reading.used[1] - used[1], 0)
    return NodeSupply(_row(reading.capacity), _row((reserved_milli, 0)), _row(system))


def _table(reading: HeadroomReading) -> PodTable:
    """Pods as columns."""
    pods, none = reading.pods, (0, 0)
    return PodTable(
        np.zeros(len(pods), np.int64),
        np.array([pod.request for pod in pods], np.int64).reshape(-1, 2),
        np.array([pod.use or none for pod in pods], np.int64).reshape(-1, 2),
        np.array([pod.use is not None for pod in pods], np.bool_),
        np.array([pod.exclusive for pod in pods], np.bool_),
    )
