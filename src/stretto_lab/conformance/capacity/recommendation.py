"""Recorded recommendations of Katalyst, computed by ``models.katalyst.percentiles``."""

from typing import Any, Final

import msgspec

from stretto_lab.models.katalyst.percentiles import (
    DAY_S,
    PERCENTILE,
    OomRecord,
    RecommendedResource,
    RecommendedWorkload,
    UseError,
    UseHistory,
    UseSample,
    memory_after_kills,
    recommended_cpu,
    recommended_memory,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""

START_S: Final = 946_684_800.0
"""Clock time at which recordings start: 2000-01-01."""
NAMESPACE: Final = "ns"
"""Namespace of every recorded workload."""
HOUR_S: Final = 3600.0
PERCENT: Final = 0.01


class QueryRun(msgspec.Struct, frozen=True):
    """One query of metrics."""

    #: Seconds after the previous query.
    dt_s: float
    #: Age in seconds and value of each sample.
    samples: tuple[tuple[float, float], ...]
    #: True if the query failed.
    query_fails: bool = False

    @property
    def error(self) -> str:
        """The recorded text for a query without samples; empty with samples."""
        if self.query_fails:
            return "query failed"
        return "" if self.samples else "the sample found is empty"


class RecommendTask(msgspec.Struct, frozen=True):
    """A container and resource."""

    #: The container.
    container: str
    #: The resource.
    resource: RecommendedResource
    #: Added percentage.
    buffer_percent: float
    #: Queries.
    runs: tuple[QueryRun, ...]
    #: Half-life of samples in hours.
    half_life_h: float = DAY_S / HOUR_S

    @property
    def key(self) -> str:
        """Its key in recordings."""
        return f"{self.container}/{self.resource.value}"

    def history(self) -> tuple[UseHistory, float]:
        """The usage after all queries, and the clock time of the last one."""
        half_life_s = self.half_life_h * HOUR_S
        found, now = UseHistory(self.resource, half_life_s), START_S
        for run in self.runs:
            now += run.dt_s
            if not run.error:
                found.add([UseSample(now - age, value) for age, value in run.samples])
        return found, now


class RecordedKill(msgspec.Struct, frozen=True):
    """A kill for lack of memory."""

    #: Namespace of the pod.
    namespace: str
    #: The pod.
    pod: str
    #: Its container.
    container: str
    #: Bytes.
    memory: int
    #: Seconds before the recommendation.
    ago_s: float

    def record(self, now_s: float) -> OomRecord:
        """The kill as input of the models."""
        return OomRecord(self.namespace, self.pod, self.container, self.memory, now_s - self.ago_s)


class RecommendInput(msgspec.Struct, frozen=True):
    """The input of ``kc_recommend``."""

    #: Name of the workload.
    workload: str
    #: Containers and resources.
    tasks: tuple[RecommendTask, ...]
    #: Additional percentiles.
    extra_percentiles: tuple[float, ...] = ()
    #: Kills.
    oom: tuple[RecordedKill, ...] = ()
    #: Seconds from the last query to the recommendation.
    wait_s: float = 0.0


def recommend(given: Fields) -> Fields:
    """``kc_recommend``: percentiles and requests of each container."""
    wanted = msgspec.convert(given, RecommendInput)
    histories = [task.history() for task in wanted.tasks]
    now = max((end for _, end in histories), default=START_S) + wanted.wait_s
    shown: Fields = {}
    values: dict[str, float] = {}
    for task, (history, _) in zip(wanted.tasks, histories, strict=True):
        try:
            parts = (*wanted.extra_percentiles, PERCENTILE)
            shown[task.key] = {f"{part:g}": history.percentile(part, now) for part in parts}
            values[task.key] = history.percentile(PERCENTILE, now)
        except UseError as error:
            shown[task.key] = {"error": str(error)}
            values.pop(task.key, None)  # of an earlier task of this container and resource
    found: Fields = {"percentiles": shown}
    failed = {
        f"{task.key}/{number}": run.error
        for task in wanted.tasks
        for number, run in enumerate(task.runs)
        if run.error
    }
    if failed:
        found["run_errors"] = failed
    if len(values) < len(shown):
        return found | {"error": "a percentile is missing"}
    return found | {"containers": _containers(wanted, values, now)}


def _containers(wanted: RecommendInput, values: dict[str, float], now_s: float) -> list[Fields]:
    """Requests of each container, by name."""
    workload = RecommendedWorkload(NAMESPACE, wanted.workload)
    kills = [each.record(now_s) for each in wanted.oom]
    found: dict[str, Fields] = {}
    for task in wanted.tasks:
        container = found.setdefault(task.container, {"name": task.container})
        value, buffer = values[task.key], task.buffer_percent * PERCENT
        if task.resource is RecommendedResource.CPU:
            container["cpu_milli"] = recommended_cpu(value, buffer)
            continue
        least = memory_after_kills(workload, task.container, kills, now_s)
        container["memory"] = recommended_memory(value, buffer, least)
    return [found[name] for name in sorted(found)]
