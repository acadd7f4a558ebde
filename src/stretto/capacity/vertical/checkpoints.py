"""Histories of containers as VerticalPodAutoscalerCheckpoints, and back.

The histograms have the form of the Vertical Pod Autoscaler (version ``v3``), so that its
recommender and this one can read each other's checkpoints. The peaks of the current intervals are
not in the histogram of memory: they are a list of their own, and a restart adds them again.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stretto.api.types.capacity.vertical import (
    CheckpointedHistogram,
    CheckpointedPeak,
    VerticalCheckpointStatus,
)
from stretto.base.clock import parse_timestamp, timestamp, timestamp_or_none
from stretto.base.errors import InputError
from stretto.capacity.histograms.decaying import (
    STORED_WEIGHT,
    BucketScale,
    HistogramSample,
    StoredHistogram,
)
from stretto.capacity.vertical.history import (
    CPU_SCALE,
    MEMORY_SCALE,
    ContainerHistograms,
    CpuHistory,
    MemoryWindow,
    VerticalConfig,
)
from stretto.capacity.vertical.workload import OngoingWindow, RestoredUse

VERSION: Final = "v3"
"""Form of the histograms."""
MOST_PEAKS: Final = 2_000
"""Peaks in one checkpoint, about 400 kB; a restart loses the current peak of further pods."""
MOST_AHEAD_S: Final = 7 * 86_400.0
"""Seconds from now to the latest plausible reference time: two intervals, and wrong clocks."""


def checkpoint_of(
    use: ContainerHistograms, windows: Iterable[tuple[str, OngoingWindow]], now: float
) -> VerticalCheckpointStatus:
    """Return the checkpoint of a history.

    Args:
        use: the history.
        windows: the current interval of each instance, with the uid of its pod.
        now: seconds since the epoch.
    """
    ongoing = sorted(windows)
    peaks = (each.window for _, each in ongoing if each.window.peak)
    memory = use.memory.stored(HistogramSample(each.peak, 1.0, each.end_s) for each in peaks)
    sampled = use.sampled
    return VerticalCheckpointStatus(
        last_update_time=timestamp(int(now)),
        version=VERSION,
        cpu_histogram=_stored(use.cpu.stored()),
        memory_histogram=_stored(memory),
        first_sample_start=timestamp(sampled.first_s) if sampled.count else None,
        last_sample_start=timestamp(sampled.last_s) if sampled.count else None,
        total_samples_count=sampled.count,
        memory_peaks=tuple(_peak(uid, each) for uid, each in ongoing[:MOST_PEAKS]),
    )


def restored_use(
    status: VerticalCheckpointStatus, config: VerticalConfig, where: str, now: float
) -> RestoredUse:
    """Return the history of a checkpoint.

    Args:
        status: the checkpoint.
        config: parameters of histories.
        where: name of the checkpoint, for messages.
        now: seconds since the epoch.

    Raises:
        InputError: the checkpoint has another version, or a value that no history has.
    """
    if status.version != VERSION:
        raise InputError(f"{where}: status.version", status.version, VERSION)
    cpu = _histogram(status.cpu_histogram, CPU_SCALE, f"{where}: status.cpuHistogram", now)
    memory = _histogram(
        status.memory_histogram, MEMORY_SCALE, f"{where}: status.memoryHistogram", now
    )
    use = ContainerHistograms(config)
    use.restore(cpu, memory, _sampled(status, where))
    windows = {each.pod_uid: _window(each, where, now) for each in status.memory_peaks}
    for each in windows.values():
        if each.window.peak:
            use.memory.add(each.window.peak, 1.0, each.window.end_s)
    until = timestamp_or_none(status.last_update_time)
    return RestoredUse(use, windows, -math.inf if until is None else until)


def status_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from one status to another.

    A merge would keep the buckets that are empty now, so they are removed by name.
    """
    change = dict(after)
    for name in ("cpuHistogram", "memoryHistogram"):
        old = (before.get(name) or {}).get("bucketWeights") or {}
        weights = after[name].get("bucketWeights") or {}
        gone = {bucket: None for bucket in old if bucket not in weights}
        change[name] = {**after[name], "bucketWeights": {**gone, **weights}}
    return change


def _stored(histogram: StoredHistogram) -> CheckpointedHistogram:
    if not histogram.weights:
        return CheckpointedHistogram()
    return CheckpointedHistogram(
        timestamp(histogram.reference_s), histogram.weights, histogram.total
    )


def _histogram(
    stored: CheckpointedHistogram, scale: BucketScale, where: str, now: float
) -> StoredHistogram:
    if stored.reference_timestamp is None or not stored.bucket_weights:
        return StoredHistogram({}, 0.0, 0.0)
    for bucket, weight in stored.bucket_weights.items():
        if not 0 <= bucket < scale.count:
            raise InputError(f"{where}.bucketWeights", bucket, f"a bucket below {scale.count}")
        if not 0 <= weight <= STORED_WEIGHT:
            expected = f"0 to {STORED_WEIGHT:,}"
            raise InputError(f"{where}.bucketWeights.{bucket}", weight, expected)
    if not 0 <= stored.total_weight < math.inf or not any(stored.bucket_weights.values()):
        raise InputError(f"{where}.totalWeight", stored.total_weight, "a positive number")
    reference = _past(stored.reference_timestamp, f"{where}.referenceTimestamp", now)
    return StoredHistogram(dict(stored.bucket_weights), stored.total_weight, reference)


def _past(text: str, where: str, now: float) -> float:
    """Parse a time; one far in the future would make all further samples weightless."""
    found = parse_timestamp(text, where)
    if found > now + MOST_AHEAD_S:
        raise InputError(where, text, f"a time before {timestamp(int(now + MOST_AHEAD_S))}")
    return found


def _sampled(status: VerticalCheckpointStatus, where: str) -> CpuHistory:
    first, last = status.first_sample_start, status.last_sample_start
    if status.total_samples_count <= 0 or first is None or last is None:
        return CpuHistory()
    begin = parse_timestamp(first, f"{where}: status.firstSampleStart")
    end = parse_timestamp(last, f"{where}: status.lastSampleStart")
    if begin > end:
        raise InputError(f"{where}: status.firstSampleStart", first, f"at most {last}")
    return CpuHistory(begin, end, status.total_samples_count)


def _peak(uid: str, ongoing: OngoingWindow) -> CheckpointedPeak:
    window = ongoing.window
    killed = None if ongoing.killed_s == -math.inf else timestamp(ongoing.killed_s)
    return CheckpointedPeak(uid, timestamp(window.end_s), window.usage, window.kill, killed)


def _window(peak: CheckpointedPeak, where: str, now: float) -> OngoingWindow:
    end = _past(peak.window_end, f"{where}: status.memoryPeaks", now)
    killed = timestamp_or_none(peak.killed_time)
    window = MemoryWindow(end, max(peak.usage, 0), max(peak.kill, 0))
    return OngoingWindow(window, -math.inf if killed is None else killed)
