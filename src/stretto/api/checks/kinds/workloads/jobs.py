"""Rules of Jobs and CronJobs."""

from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    immutable,
    invalid,
    repeated,
    required,
    too_many,
    unsupported,
)
from stretto.api.checks.fields.schedules import schedule_problem
from stretto.api.checks.kinds.values import Json, check_selector, not_negative, one_of, selects
from stretto.api.checks.kinds.workloads.templates import NO_MATCH, check_template, template_labels

_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
)
_PER_INDEX: Final = ("backoffLimitPerIndex", "maxFailedIndexes")
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_CONTROLLER: Final = "batch.kubernetes.io/controller-uid"
_MAX_CODES: Final = 255
_MODES: Final = ("NonIndexed", "Indexed")
_FIXED: Final = (
    "completions", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
)  # fmt: skip
_LOCAL: Final = (
    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
)
_TZ: Final = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


def check_job(item: Json, old: Json | None) -> Errors:
    """Check a Job; once started, its template and selector are immutable."""
    spec = item.get("spec") or {}
    if old is None:
        return check_job_spec(spec, "spec")
    found: Errors = []
    if not spec.get("manualSelector"):
        uid = item["metadata"].get("uid")
        expected = {"matchLabels": {_CONTROLLER: uid}}
        if spec.get("selector") != expected:
            detail = "`selector` not auto-generated"
            found.append(invalid("spec.selector", spec.get("selector"), detail))
    if not selects(spec.get("selector") or {}, template_labels(spec)):
        labels = template_labels(spec) or None
        error = invalid("spec.template.metadata.labels", labels, NO_MATCH)
        found += [error, error]
    found += check_job_spec(spec, "spec")
    before = old.get("spec") or {}
    for name in ("selector", "completionMode"):
        if spec.get(name) != before.get(name):
            found.append(immutable(f"spec.{name}", spec.get(name)))
    if not _mutable(before, old) and spec.get("template") != before.get("template"):
        found.append(immutable("spec.template", spec.get("template")))
    for name in _FIXED:
        if spec.get(name) != before.get(name) and not _elastic(name, spec):
            found.append(immutable(f"spec.{name}", spec.get(name)))
    return found


def _mutable(spec: Json, job: Json) -> bool:
    """Return whether a Job has not started, so that its template may change."""
    return bool(spec.get("suspend")) and not (job.get("status") or {}).get("startTime")


def _elastic(name: str, spec: Json) -> bool:
    """Return whether the completions of an indexed Job change together with its parallelism."""
    return (
        name == "completions"
        and spec.get("completionMode") == "Indexed"
        and spec.get("completions") == spec.get("parallelism")
    )


def check_job_spec(spec: Json, path: str) -> Errors:
    """Check the spec of a Job or of a CronJob's template."""
    found: Errors = []
    for name in _NUMBERS:
        if spec.get(name) is not None:
            found += not_negative(spec[name], f"{path}.{name}")
    mode = spec.get("completionMode")
    if mode is not None:
        found += one_of(mode, f"{path}.completionMode", _MODES)
        if mode == "Indexed" and spec.get("completions") is None:
            detail = f"when completion mode is {mode}"
            found.append(required(f"{path}.completions", detail))
    if mode != "Indexed":
        found += [
            invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
            for name in _PER_INDEX
            if spec.get(name) is not None
        ]
    inner = (spec.get("template") or {}).get("spec") or {}
    if spec.get("podFailurePolicy") is not None:
        found += _failure_policy(spec, inner, f"{path}.podFailurePolicy")
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        found += _replacement(spec, replacement, f"{path}.podReplacementPolicy")
    if spec.get("selector") is not None:
        found += check_selector(spec["selector"], f"{path}.selector")
    found += check_template(spec.get("template") or {}, f"{path}.template")
    if inner.get("restartPolicy") not in ("OnFailure", "Never"):
        text = 'valid values: "OnFailure", "Never"'
        found.append(required(f"{path}.template.spec.restartPolicy", text))
    elif spec.get("podFailurePolicy") is not None and inner["restartPolicy"] != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        where = f"{path}.template.spec.restartPolicy"
        found.append(invalid(where, inner["restartPolicy"], detail))
    return found


def _replacement(spec: Json, policy: str, path: str) -> Errors:
    if spec.get("podFailurePolicy") is not None:
        return one_of(policy, path, ("Failed",))
    return one_of(policy, path, ("Failed", "TerminatingOrFailed"))


def _failure_policy(spec: Json, pod: Json, path: str) -> Errors:
    rules = spec["podFailurePolicy"].get("rules") or []
    found: Errors = []
    if len(rules) > 20:
        found.append(too_many(f"{path}.rules", len(rules), 20))
    names = {
        each.get("name", "")
        for word in ("containers", "initContainers")
        for each in pod.get(word) or ()
    }
    for index, rule in enumerate(rules):
        where = f"{path}.rules[{index}]"
        action = rule.get("action", "")
        if not action:
            found.append(required(f"{where}.action", f"valid values: {_listed(_ACTIONS)}"))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            detail = "requires the backoffLimitPerIndex to be set"
            found.append(invalid(f"{where}.action", action, detail))
        elif action not in _ACTIONS:
            found.append(unsupported(f"{where}.action", action, _ACTIONS))
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            found += _exit_codes(codes, f"{where}.onExitCodes", names)
        found += _conditions(patterns, f"{where}.onPodConditions")
        if codes is not None and patterns:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            found.append(invalid(where, "", detail))
        if codes is None and not patterns:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            found.append(invalid(where, "", detail))
    return found


def _exit_codes(codes: Json, path: str, containers: set[str]) -> Errors:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    found: Errors = []
    if not operator:
        found.append(required(f"{path}.operator", f"valid values: {_listed(('In', 'NotIn'))}"))
    else:
        found += one_of(operator, f"{path}.operator", ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{path}.containerName", name, detail))
    where, again = f"{path}.values", repeated(values)
    if not values:
        found.append(invalid(where, values, "at least one value is required"))
    elif len(values) > _MAX_CODES:
        found.append(too_many(where, len(values), _MAX_CODES))
    for index, value in enumerate(values):
        here = f"{where}[{index}]"
        if operator == "In" and value == 0:
            found.append(invalid(here, value, "must not be 0 for the In operator"))
        if index in again:
            found.append(duplicate(here, value))
    if list(values) != sorted(values):
        found.append(invalid(where, values, "must be ordered"))
    return found


def _conditions(patterns: list[Json], path: str) -> Errors:
    found: Errors = []
    for index, pattern in enumerate(patterns):
        where = f"{path}[{index}]"
        if not pattern.get("status"):
            found.append(required(f"{where}.status", 'valid values: "False", "True", "Unknown"'))
        else:
            found += one_of(pattern["status"], f"{where}.status", ("False", "True", "Unknown"))
    return found


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{each}"' for each in words)


def check_job_status(item: Json, old: Json) -> Errors:
    """Check the status of a Job; its counters never decrease."""
    status, before = item.get("status") or {}, old.get("status") or {}
    found: Errors = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        found += not_negative(status.get(name), f"status.{name}")
    succeeded = status.get("succeeded") or 0
    if succeeded < (before.get("succeeded") or 0) or succeeded < 0:
        detail = "cannot decrease the succeeded counter"
        found.append(invalid("status.succeeded", succeeded, detail))
    started = before.get("startTime")
    suspended = (item.get("spec") or {}).get("suspend")
    if started and status.get("startTime") != started and not suspended:
        detail = "field is immutable for unsuspended job once set"
        found.append(invalid("status.startTime", status.get("startTime"), detail))
    return found


def check_cron_job(item: Json, old: Json | None) -> Errors:
    """Check a CronJob."""
    spec = item.get("spec") or {}
    schedule = spec.get("schedule", "")
    found: Errors = []
    if not schedule:
        found.append(required("spec.schedule"))
    else:
        found += _schedule(schedule)
    found += not_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (old is None or old["spec"].get("timeZone") != zone):
        found += _time_zone(zone)
    policy = spec.get("concurrencyPolicy")
    if not policy:
        found.append(required("spec.concurrencyPolicy"))
    else:
        allowed = ("Allow", "Forbid", "Replace")
        found += one_of(policy, "spec.concurrencyPolicy", allowed)
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    if template.get("manualSelector"):
        where = "spec.jobTemplate.spec.manualSelector"
        found.append(unsupported(where, True, ("nil", "false")))
    found += check_job_spec(template, "spec.jobTemplate.spec")
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        if spec.get(name) is not None:
            found += not_negative(spec[name], f"spec.{name}")
    return found


def _schedule(schedule: str) -> Errors:
    path = "spec.schedule"
    if "TZ" in schedule:
        return [invalid(path, schedule, _TZ)]
    problem = schedule_problem(schedule)
    return [invalid(path, schedule, problem)] if problem else []


def _time_zone(zone: str) -> Errors:
    path = "spec.timeZone"
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        return [invalid(path, zone, _LOCAL)]
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return [invalid(path, zone, f"unknown time zone {zone}")]
    return []
