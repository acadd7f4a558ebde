"""The typical pods: the workload that measures fragmentation (FGD, ATC 2023).

As in the study, they are the most common kinds of pod, in decreasing count, until they cover 95 %
of the pods. A live scheduler derives them from running and pending pods; a profile can set them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from stretto.framework.compiled.tables import TypicalPodTable, no_typical_pods
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import DeviceColumns
from stretto.state.rows.resources import CPU

COVERED: Final = 0.95
"""Fraction of the pods that the typical kinds cover."""


class TypicalPod(NamedTuple):
    """One kind of pod for the measurement of fragmentation."""

    #: Milli-CPU.
    cpu: int
    #: Requested GPUs; 0 for none.
    gpus: int
    #: Milli of each GPU.
    milli: int
    #: Allowed models, sorted; empty for any.
    models: tuple[str, ...] = ()


def kind_of(pod: PodClass) -> TypicalPod:
    """Return the kind of a class: its CPU and its first device request."""
    cpu = sum(amount for column, amount in pod.requests if column == CPU)
    if not pod.devices:
        return TypicalPod(cpu, 0, 0)
    first = pod.devices[0]
    return TypicalPod(cpu, first.count, first.milli, tuple(sorted(set(first.models))))


def typical_pods(
    rows: Iterable[tuple[TypicalPod, int]], devices: DeviceColumns, share: float = COVERED
) -> TypicalPodTable:
    """Return the most common kinds for ``share`` of the pods, with frequencies that sum to 1.

    Args:
        rows: kinds and their numbers of pods; a kind may appear more than once.
        devices: numbers of the models.
        share: fraction of the pods to cover; ties are ordered by kind.
    """
    counts: Counter[TypicalPod] = Counter()
    for kind, count in rows:
        counts[kind] += count
    ordered = sorted(((kind, n) for kind, n in counts.items() if n > 0), key=_commonest_first)
    wanted = share * sum(n for _, n in ordered) - 1e-9
    chosen: list[tuple[TypicalPod, float]] = []
    covered = 0
    for kind, n in ordered:
        if covered >= wanted:
            break
        chosen.append((kind, n))
        covered += n
    return weighted_pods(chosen, devices)


def observed_typical_pods(cluster: Cluster) -> TypicalPodTable:
    """Return the typical pods of the running and pending pods of a cluster."""
    users = enumerate(cluster.classes.users)
    kinds = ((kind_of(cluster.classes[number]), count) for number, count in users if count > 0)
    return typical_pods(kinds, cluster.ledger.devices)


def weighted_pods(
    rows: Iterable[tuple[TypicalPod, float]], devices: DeviceColumns
) -> TypicalPodTable:
    """Return kinds with given weights; the frequencies are scaled to sum to 1."""
    kinds = [(kind, weight) for kind, weight in rows if weight > 0]
    if not kinds:
        return no_typical_pods()
    weights = np.array([weight for _, weight in kinds], np.float64)
    return TypicalPodTable(
        frequency=weights / weights.sum(),
        cpu=np.array([kind.cpu for kind, _ in kinds], np.int32),
        gpus=np.array([kind.gpus for kind, _ in kinds], np.int32),
        milli=np.array([kind.milli for kind, _ in kinds], np.int32),
        models=np.array([devices.model_mask(kind.models) for kind, _ in kinds], np.int64),
    )


def _commonest_first(row: tuple[TypicalPod, int]) -> tuple[int, TypicalPod]:
    kind, count = row
    return -count, kind
