"""Rules of Jobs and CronJobs."""

from collections.abc import Iterable
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    immutable,
    invalid,
    quoted,
    repeated,
    required,
    too_long,
    too_many,
    unsupported,
)
from stretto.api.checks.fields.schedules import schedule_problem
from stretto.api.checks.fields.texts import dns_label, domain_path, qualified_name
from stretto.api.checks.kinds.values import Json, check_selector, not_negative, one_of, selects
from stretto.api.checks.kinds.workloads.started import check_template_change
from stretto.api.checks.kinds.workloads.success import check_success
from stretto.api.checks.kinds.workloads.templates import (
    check_match,
    check_template,
    template_labels,
)
from stretto.api.schema.internals import internal_form

_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_PER_INDEX: Final = ("backoffLimitPerIndex", "maxFailedIndexes")
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_CONTROLLER: Final = "batch.kubernetes.io/controller-uid"
_MAX_CODES: Final = 255
_MODES: Final = ("NonIndexed", "Indexed")
_FIXED: Final = (
    "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
)  # fmt: skip
_MANAGER_LIMIT: Final = 63
_INDEXES: Final = 100_000
"""Maximum of ``parallelism`` and of ``maxFailedIndexes`` of an indexed Job."""
_LABELS: Final = "spec.template.metadata.labels"
_LOCAL: Final = (
    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
)
_TZ: Final = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


def check_job(item: Json, old: Json | None) -> Errors:
    """Check a Job; once started, its template and selector are immutable."""
    spec = item.get("spec") or {}
    found = [*_generated(item), *_job_spec(spec), *_hostnames(item)]
    return found if old is None else [*found, *_job_spec(spec), *_changes(spec, old)]


def _changes(spec: Json, old: Json) -> Errors:
    """Check that the immutable fields of a Job do not change."""
    before = old.get("spec") or {}
    found: Errors = []
    completions = spec.get("completions")
    if completions != before.get("completions"):
        if spec.get("completionMode") != "Indexed":
            found.append(immutable("spec.completions", completions))
        elif completions is not None and completions != spec.get("parallelism"):
            detail = "can only be modified in tandem with spec.parallelism"
            found.append(invalid("spec.completions", completions, detail))
    found += _fixed(spec, before, ("selector",)) + check_template_change(spec, old)
    return found + _fixed(spec, before, _FIXED)


def _fixed(spec: Json, before: Json, names: Iterable[str]) -> Errors:
    """Check that members of the spec do not change; messages quote internal structs."""
    changed = [name for name in names if spec.get(name) != before.get(name)]
    shown = internal_form("batch.JobSpec", spec) if changed else {}
    return [immutable(f"spec.{name}", shown[name[0].upper() + name[1:]]) for name in changed]


def _generated(item: Json) -> Errors:
    """Check the generated selector of a Job and the labels of its template."""
    spec, metadata = item.get("spec") or {}, item["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    labels = template_labels(spec) or {}
    expected = {
        "controller-uid": uid,
        "job-name": name,
        _CONTROLLER: uid,
        "batch.kubernetes.io/job-name": name,
    }
    found = [] if uid else [required("metadata.uid")]
    for key, value in expected.items():
        if key not in labels:
            found.append(required(f"{_LABELS}[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            found.append(invalid(f"{_LABELS}[{key}]", labels, f"must be '{value}'"))
    is_valid = not check_selector(spec["selector"], "")
    if is_valid and not selects(spec["selector"], expected):
        detail = "`selector` not auto-generated"
        found.append(invalid("spec.selector", spec["selector"], detail))
    return found


def _job_spec(spec: Json) -> Errors:
    """Check the spec of a Job, with its selector."""
    found = check_job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        found.append(required("spec.selector"))
    malformed = check_selector(selector, "spec.selector")
    return found + (malformed or check_match(spec))


def _hostnames(item: Json) -> Errors:
    """Check the name of an indexed Job: the hostnames of its pods contain it."""
    spec, name = item.get("spec") or {}, item["metadata"].get("name") or ""
    count = spec.get("completions") or 0
    hostname = f"{name}-{count - 1}"
    if spec.get("completionMode") != "Indexed" or count <= 0 or not dns_label(hostname):
        return []
    detail = f"will not able to create pod with invalid DNS label: {hostname}"
    return [invalid("metadata.name", name, detail)]


def check_job_spec(spec: Json, path: str) -> Errors:
    """Check the spec of a Job or of a CronJob's template, without its selector."""
    found: Errors = []
    for name in _NUMBERS:
        if spec.get(name) is not None:
            found += not_negative(spec[name], f"{path}.{name}")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "when maxFailedIndexes is specified"
        found.append(required(f"{path}.backoffLimitPerIndex", detail))
    manager = spec.get("managedBy")
    if manager is not None:
        found += domain_path(manager, f"{path}.managedBy")
        if len(manager) > _MANAGER_LIMIT:
            found.append(too_long(f"{path}.managedBy", _MANAGER_LIMIT))
    mode = spec.get("completionMode")
    if mode is not None:
        found += one_of(mode, f"{path}.completionMode", _MODES)
    if mode == "Indexed":
        found += _indexed(spec, path)
    if mode in (None, "NonIndexed"):
        found += [
            invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
            for name in _PER_INDEX
            if spec.get(name) is not None
        ]
    inner = (spec.get("template") or {}).get("spec") or {}
    if spec.get("podFailurePolicy") is not None:
        found += _failure_policy(spec, inner, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        found += check_success(spec, f"{path}.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        found += _replacement(spec, replacement, f"{path}.podReplacementPolicy")
    found += check_template(spec.get("template") or {}, f"{path}.template")
    return found + _restarts(
        spec, inner.get("restartPolicy"), f"{path}.template.spec.restartPolicy"
    )


def _indexed(spec: Json, path: str) -> Errors:
    """Check the counts of an indexed Job."""
    completions, most = spec.get("completions"), spec.get("maxFailedIndexes")
    found: Errors = []
    if completions is None:
        found.append(required(f"{path}.completions", "when completion mode is Indexed"))
    parallel = spec.get("parallelism")
    if parallel is not None and parallel > _INDEXES:
        text = f"must be less than or equal to {_INDEXES} when completion mode is Indexed"
        found.append(invalid(f"{path}.parallelism", parallel, text))
    if most is not None and completions is not None and most > completions:
        text = "must be less than or equal to completions"
        found.append(invalid(f"{path}.maxFailedIndexes", most, text))
    if most is not None and most > _INDEXES:
        text = f"must be less than or equal to {_INDEXES}"
        found.append(invalid(f"{path}.maxFailedIndexes", most, text))
    return found


def _restarts(spec: Json, policy: str | None, path: str) -> Errors:
    """Check the restart policy of the pods of a Job."""
    if policy in (None, "", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [unsupported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [
            invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
        ]
    return []


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
            found.append(_unfit(where, detail))
        if codes is None and not patterns:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            found.append(_unfit(where, detail))
    return found


def _unfit(path: str, detail: str) -> FieldError:
    """Return an error that does not show the value."""
    return FieldError("FieldValueInvalid", f"Invalid value: {detail}", path)


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
        found.append(invalid(where, None, "at least one value is required"))
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
        where, kind = f"{path}[{index}]", pattern.get("type", "")
        found += [invalid(f"{where}.type", kind, each) for each in qualified_name(kind)]
        if not pattern.get("status"):
            found.append(required(f"{where}.status", f"valid values: {_listed(_STATUSES)}"))
        else:
            found += one_of(pattern["status"], f"{where}.status", _STATUSES)
    return found


_STATUSES: Final = ("False", "True", "Unknown")


def _listed(words: tuple[str, ...]) -> str:
    return f"[{' '.join(quoted(each) for each in words)}]"


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
    template, path = (spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec"
    found += check_job_spec(template, path)
    if template.get("selector") is not None:
        detail = "`selector` will be auto-generated"
        found.append(invalid(f"{path}.selector", template["selector"], detail))
    if template.get("manualSelector"):
        found.append(unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        if spec.get(name) is not None:
            found += not_negative(spec[name], f"spec.{name}")
    return found


def _schedule(schedule: str) -> Errors:
    path, zoned = "spec.schedule", schedule.startswith(("TZ=", "CRON_TZ="))
    problem = schedule_problem(schedule.partition(" ")[2].strip() if zoned else schedule)
    found = [invalid(path, schedule, problem)] if problem else []
    return [*found, invalid(path, schedule, _TZ)] if "TZ" in schedule else found


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
