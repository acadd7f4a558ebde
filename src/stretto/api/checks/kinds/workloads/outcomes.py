"""Rules of the status of Jobs: counters, indexes of pods and conditions at the end.

Most rules apply only to what a write changes, so that a status that violates one of them can still
be written.
"""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    invalid,
    repeated,
    required,
)
from stretto.api.checks.kinds.values import Json, not_negative
from stretto.api.checks.kinds.workloads.success import IndexesError, count_indexes, index_overlap

_COMPLETE: Final = "Complete"
_FAILED: Final = "Failed"
_TARGET: Final = "FailureTarget"
_SUSPENDED: Final = "Suspended"
_MET: Final = "SuccessCriteriaMet"
_CONDITIONS: Final = "status.conditions"


class _JobState:
    """The status of a Job, the one before it, and what differs between both."""

    def __init__(self, item: Json, old: Json) -> None:
        self.spec: Json = item.get("spec") or {}
        self.status: Json = item.get("status") or {}
        self.before: Json = old.get("status") or {}
        self.now = _true_conditions(self.status)
        self.was = _true_conditions(self.before)

    @property
    def is_finished(self) -> bool:
        return bool(self.now & {_COMPLETE, _FAILED})

    @property
    def finishes(self) -> bool:
        """Return whether the write starts or ends the finished state."""
        return self.is_finished is not bool(self.was & {_COMPLETE, _FAILED})

    def turns(self, *conditions: str) -> bool:
        """Return whether the write sets or clears one of the conditions."""
        return bool((self.now ^ self.was) & set(conditions))

    def changes(self, *names: str) -> bool:
        """Return whether the write changes one of the members."""
        return any(self.status.get(name) != self.before.get(name) for name in names)

    def count(self, name: str) -> int:
        return self.status.get(name) or 0

    @property
    def is_indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")


def _true_conditions(status: Json) -> set[str]:
    conditions = status.get("conditions") or ()
    return {each.get("type", "") for each in conditions if each.get("status") == "True"}


def check_job_status(item: Json, old: Json) -> Errors:
    """Check the status of a Job; its counters never decrease, and its end is final."""
    job = _JobState(item, old)
    found = _counters(job.status)
    found += _completion(job)
    found += _finished(job)
    found += _indexes(job)
    terminating, ready = job.count("terminating"), job.status.get("ready")
    if terminating > 0 and job.is_finished and (job.finishes or job.changes("terminating")):
        detail = "terminating>0 is invalid for finished job"
        found.append(invalid("status.terminating", terminating, detail))
    if ready is not None and ready > job.count("active") and job.changes("ready", "active"):
        found.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return found + _criteria(job) + _transitions(job)


def _counters(status: Json) -> Errors:
    found: Errors = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        found += not_negative(status.get(name), f"status.{name}")
    pods = status.get("uncountedTerminatedPods") or {}
    listed = [(word, each) for word in ("succeeded", "failed") for each in pods.get(word) or ()]
    again = repeated(each for _, each in listed)
    first = len(pods.get("succeeded") or ())
    for index, (word, each) in enumerate(listed):
        number = index if word == "succeeded" else index - first
        path = f"status.uncountedTerminatedPods.{word}[{number}]"
        if not each:
            found.append(invalid(path, each, "must not be empty"))
        elif index in again:
            found.append(duplicate(path, each))
    return found


def _completion(job: _JobState) -> Errors:
    """Check the conditions of a completed or failed Job and the time of its completion."""
    is_complete, failed = _COMPLETE in job.now, _FAILED in job.now
    started, completed = job.status.get("startTime"), job.status.get("completionTime")
    path = "status.completionTime"
    found: Errors = []
    if is_complete and failed and job.turns(_COMPLETE, _FAILED):
        found.append(_conflict("cannot set Complete=True and Failed=true conditions"))
    if is_complete and _TARGET in job.now and job.turns(_COMPLETE, _TARGET):
        found.append(_conflict("cannot set Complete=True and FailureTarget=true conditions"))
    if job.turns(_COMPLETE) or job.changes("completionTime"):
        if completed and not is_complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            found.append(invalid(path, completed, detail))
        if not completed and is_complete:
            found.append(required(path, "completionTime is required for Complete jobs"))
    if started and completed and completed < started and job.changes("startTime", "completionTime"):
        found.append(invalid(path, completed, "must be equal to or after `startTime`"))
    if failed and _TARGET not in job.now and (job.turns(_FAILED) or job.changes("failedIndexes")):
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        found.append(_conflict(detail))
    if is_complete and _MET not in job.now and job.turns(_COMPLETE, _MET):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        found.append(_conflict(detail))
    return found


def _finished(job: _JobState) -> Errors:
    """Check that a finished Job has a start and no pods that run or are not counted."""
    if not job.is_finished:
        return []
    found: Errors = []
    active, pods = job.count("active"), job.status.get("uncountedTerminatedPods")
    if active > 0 and (job.finishes or job.changes("active")):
        found.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    is_empty = job.spec.get("suspend") and job.spec.get("completions") == 0
    has_start = job.status.get("startTime") or is_empty
    if not has_start and (job.finishes or job.changes("startTime")):
        found.append(required("status.startTime", "startTime is required for finished job"))
    if pods and any(pods.values()) and (job.finishes or job.changes("uncountedTerminatedPods")):
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        path = "status.uncountedTerminatedPods"
        found.append(invalid(path, shown, "must be empty for finished job"))
    return found


def _indexes(job: _JobState) -> Errors:
    """Check the indexes of completed and failed pods."""
    done, failed = job.status.get("completedIndexes") or "", job.status.get("failedIndexes")
    completions = job.spec.get("completions")
    has_limit = job.spec.get("backoffLimitPerIndex") is not None
    new_done, new_failed = job.changes("completedIndexes"), job.changes("failedIndexes")
    found: Errors = []
    if new_done and completions is not None:
        found += _parsed("completedIndexes", done, completions)
    if new_failed and completions is not None and has_limit and failed is not None:
        found += _parsed("failedIndexes", failed, completions)
    if new_done and done and not job.is_indexed:
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        found.append(invalid("status.completedIndexes", done, detail))
    if new_failed and failed is not None and not has_limit:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        found.append(invalid("status.failedIndexes", failed, detail))
    if (new_done or new_failed) and completions is not None and failed is not None:
        index = index_overlap(done, failed, completions)
        if index is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {index}"
            found.append(invalid("status.failedIndexes", failed, detail))
    return found


def _parsed(name: str, text: str, completions: int) -> Errors:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        return [invalid(f"status.{name}", text, f"error parsing {name}: {error}")]
    return []


def _criteria(job: _JobState) -> Errors:
    """Check the condition that the success criteria are met."""
    found: Errors = []
    if _MET in job.now and _FAILED in job.now:
        found.append(_conflict("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if _MET in job.now and _TARGET in job.now:
        detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
        found.append(_conflict(detail))
    if job.spec.get("successPolicy") is not None and _MET not in job.now and _COMPLETE in job.now:
        detail = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        found.append(_conflict(detail))
    return found


def _transitions(job: _JobState) -> Errors:
    """Check what a write of the status must not undo."""
    found = [
        _conflict(f"cannot disable the terminal {name}=True condition")
        for name in (_FAILED, _COMPLETE, _TARGET)
        if name in job.was - job.now
    ]
    spec, before = job.spec, job.before
    scales = job.is_indexed and spec.get("completions") == spec.get("parallelism")
    for name in ("failed", "succeeded"):
        if job.count(name) < (before.get(name) or 0) and not (scales and name == "succeeded"):
            detail = f"cannot decrease the {name} counter"
            found.append(invalid(f"status.{name}", job.count(name), detail))
    completed, known = job.status.get("completionTime"), before.get("completionTime")
    if completed and known and completed != known:
        found.append(invalid("status.completionTime", completed, "field is immutable"))
    moves = before.get("startTime") and job.changes("startTime")
    if moves and not spec.get("suspend") and not _resumes(job):
        detail = "field is immutable for unsuspended job once set"
        found.append(invalid("status.startTime", job.status.get("startTime"), detail))
    if _MET in job.was - job.now:
        found.append(_conflict("cannot disable the SuccessCriteriaMet=True condition"))
    if _COMPLETE in job.was and _MET in job.now - job.was:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.append(_conflict(detail))
    return found


def _resumes(job: _JobState) -> bool:
    """Return whether the write ends the suspension of the Job."""
    conditions: list[dict[str, Any]] = job.status.get("conditions") or []
    ends = any(
        each.get("type") == _SUSPENDED and each.get("status") == "False" for each in conditions
    )
    return _SUSPENDED in job.was and ends


def _conflict(detail: str) -> FieldError:
    """Return an error of the conditions, which messages do not quote."""
    return FieldError("FieldValueInvalid", f"Invalid value: {detail}", _CONDITIONS)
