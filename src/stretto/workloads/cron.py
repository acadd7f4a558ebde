"""CronJobs: a Job at each time of a schedule.

``@every D`` counts from the epoch instead of from the start of a process, so that a schedule keeps
its times when the controller restarts. The name of a Job contains minutes, as in Kubernetes;
therefore each minute has at most one Job.
"""

import math
import re
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from stretto.api.wire.kinds import JOB, Kind
from stretto.base.clock import parse_timestamp, timestamp
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import true_condition
from stretto.reconcile.events import EventLevel, EventText
from stretto.workloads.cluster import CRON_JOBS, LocalCluster, owned_metadata

CRON_JOB: Final = Kind("batch", "v1", "CronJob", "cronjobs")
_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_EMPTY: Final = re.compile(r"(?<![^\s,]),+|,+(?!\S)")
"""Commas without an item before or after them, which Kubernetes' parser ignores."""
_PART: Final = re.compile(r"([0-9.]+)(ns|us|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_KEPT: Final = {
    "Complete": ("successfulJobsHistoryLimit", 3),
    "Failed": ("failedJobsHistoryLimit", 1),
}
"""Field and default of the number of finished Jobs to keep, by condition."""


class CronJobController:
    """Controller that creates the Jobs of CronJobs."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the CronJobs of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/cron-jobs"
        self._cluster = cluster
        self._cron_jobs = cluster.objects(CRON_JOB)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed CronJob, or the CronJob of a changed Job."""
        return self._cluster.keys(change, CRON_JOB)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Start the Job that is due; return the seconds until the next time of the schedule."""
        item = self._cron_jobs.active(key)
        if item is None:
            return None
        jobs = self._cluster.owned(JOB, item)
        active = [each for each in jobs if not _ended_as(each)]
        for word, (field, default) in _KEPT.items():
            ended = [each for each in jobs if _ended_as(each) == word]
            kept = int(item.spec.get(field, default))
            self._delete(item, ended[: max(0, len(ended) - kept)])
        self._note_changes(item, jobs)
        moment = parse_timestamp(self._cluster.now_text())
        if not item.spec.get("suspend"):
            active = self._start(item, active, moment)
        self._cluster.set_status(item, {"active": [_reference(each) for each in active] or None})
        following = next_time(item.spec, moment)
        return None if following is None else max(1.0, following - moment)

    def _start(
        self, item: StoredObject, active: list[StoredObject], moment: float
    ) -> list[StoredObject]:
        """Create the Job of the latest due time; return older Jobs that still run."""
        since = parse_timestamp(item.status.get("lastScheduleTime") or item.record.created)
        due = latest_time(item.spec, moment)
        if due is None or due <= since:
            return active
        deadline = item.spec.get("startingDeadlineSeconds")
        policy = item.spec.get("concurrencyPolicy", "Allow")
        too_late = deadline is not None and moment - due > int(deadline)
        if too_late or (policy == "Forbid" and active):
            return active
        if policy == "Replace":
            self._delete(item, active)
            active = []
        made = _job(item, due)
        self._cluster.create(JOB, made)
        name = made["metadata"]["name"]
        self._note(item, EventLevel.NORMAL, "SuccessfulCreate", f"Created job {name}")
        self._cluster.set_status(item, {"lastScheduleTime": timestamp(int(due))})
        return active

    def _delete(self, item: StoredObject, jobs: list[StoredObject]) -> None:
        """Delete Jobs, and write an event about each."""
        self._cluster.delete(jobs)
        for each in jobs:
            text = f"Deleted job {each.record.name}"
            self._note(item, EventLevel.NORMAL, "SuccessfulDelete", text)

    def _note_changes(self, item: StoredObject, jobs: list[StoredObject]) -> None:
        """Write events about Jobs that have ended, and that other clients created or deleted."""
        active = {each["name"] for each in item.status.get("active") or ()}
        for job in jobs:
            name, end = job.record.name, _ended_as(job)
            if name in active and end:
                text = f"Saw completed job: {name}, condition: {end}"
                self._note(item, EventLevel.NORMAL, "SawCompletedJob", text)
            elif name not in active and not end and _SCHEDULED not in job.annotations:
                text = f"Saw a job that the controller did not create or forgot: {name}"
                self._note(item, EventLevel.WARNING, "UnexpectedJob", text)
        for name in sorted(active - {each.record.name for each in jobs}):
            text = f"Active job went missing: {name}"
            self._note(item, EventLevel.WARNING, "MissingJob", text)

    def _note(self, item: StoredObject, level: EventLevel, reason: str, text: str) -> None:
        self._cluster.note(CRON_JOBS, item, EventText(level, reason, text))


def latest_time(spec: Fields, moment: float) -> float | None:
    """The latest time of a schedule up to a moment, in seconds since the epoch."""
    return _tick(spec, moment + 1, reverse=True)


def next_time(spec: Fields, moment: float) -> float | None:
    """The first time of a schedule after a moment; ``None`` if there is none."""
    return _tick(spec, moment, reverse=False)


def _tick(spec: Fields, moment: float, *, reverse: bool) -> float | None:
    schedule = str(spec["schedule"])
    if schedule.startswith(_EVERY):
        return _interval_tick(schedule.removeprefix(_EVERY), moment, reverse=reverse)
    fields = _EMPTY.sub("", _NAMED.get(schedule, schedule).replace("?", "*"))
    try:
        zone = ZoneInfo(spec["timeZone"]) if spec.get("timeZone") else UTC
        start = datetime.fromtimestamp(moment, zone)
        return next(iter(CronSim(fields, start, reverse=reverse))).timestamp()
    except (CronSimError, StopIteration, ZoneInfoNotFoundError, ValueError):
        return None  # the API refuses most of these; a store may contain them


def _interval_tick(duration: str, moment: float, *, reverse: bool) -> float | None:
    """The multiple of a Go duration before or after a moment, in whole seconds, at least 1."""
    parts = _PART.findall(duration)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not parts or not math.isfinite(seconds):
        return None
    step = max(1.0, math.floor(seconds))
    return (math.ceil(moment / step) - 1) * step if reverse else (moment // step + 1) * step


def _ended_as(job: StoredObject) -> str:
    """Return ``Complete`` or ``Failed``; empty while a Job runs."""
    end = true_condition(job.status.get("conditions"), *_KEPT)
    return "" if end is None else str(end["type"])


def _job(item: StoredObject, due: float) -> Fields:
    """The Job for one time of the schedule."""
    template = item.spec["jobTemplate"]
    given = template.get("metadata") or {}
    notes = {**(given.get("annotations") or {}), _SCHEDULED: timestamp(int(due))}
    metadata = owned_metadata(
        item,
        name=f"{item.record.name}-{int(due) // 60}",
        labels=given.get("labels") or {},
        annotations=notes,
    )
    return {"metadata": metadata, "spec": template["spec"]}


def _reference(job: StoredObject) -> Fields:
    record = job.record
    return {
        "kind": JOB.kind,
        "apiVersion": JOB.api_version,
        "namespace": record.namespace,
        "name": record.name,
        "uid": record.uid,
    }
