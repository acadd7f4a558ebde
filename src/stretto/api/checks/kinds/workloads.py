"""Rules of workloads: selectors, templates, strategies, counts."""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    forbidden,
    immutable,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.metadata import check_plain_metadata
from stretto.api.checks.kinds.pods import check_pod_spec
from stretto.api.checks.kinds.values import (
    check_selector,
    count_or_percent,
    not_negative,
    selects,
)

Json = dict[str, Any]

_TEMPLATE: Final = "spec.template"
_STATEFUL: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_STATEFUL_FREE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)


def _selector(spec: Json, word: str) -> Errors:
    """The selector of a workload and the labels of its template."""
    selector = spec.get("selector")
    found: Errors = []
    if selector is None:
        found.append(required("spec.selector"))
    else:
        found += check_selector(selector, "spec.selector")
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            found.append(invalid("spec.selector", {}, f"empty selector is invalid for {word}"))
            return found
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if selector is None or not selects(selector, labels):
        text = "`selector` does not match template `labels`"
        found.append(invalid(f"{_TEMPLATE}.metadata.labels", labels or None, text))
    return found


def _template(spec: Json) -> Errors:
    """A template whose pods always restart."""
    template = spec.get("template") or {}
    inner = template.get("spec") or {}
    found = [
        *(_in_template(each) for each in check_plain_metadata(template.get("metadata") or {})),
        *check_pod_spec(inner, f"{_TEMPLATE}.spec"),
    ]
    policy = inner.get("restartPolicy")
    if policy in ("Never", "OnFailure"):
        found.append(unsupported(f"{_TEMPLATE}.spec.restartPolicy", policy, ("Always",)))
    return found


def _in_template(error: Any) -> Any:
    return type(error)(error.reason, error.message, f"{_TEMPLATE}.{error.field}")


def check_deployment(item: Json, old: Json | None) -> Errors:
    """A Deployment."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("replicas"), "spec.replicas")
    found += _selector(spec, "deployment") + _template(spec)
    found += _strategy(spec.get("strategy") or {})
    for name in ("minReadySeconds", "revisionHistoryLimit"):
        found += not_negative(spec.get(name), f"spec.{name}")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        found.append(invalid("spec.progressDeadlineSeconds", deadline, text))
    if old is not None and spec.get("selector") != old["spec"].get("selector"):
        found.append(immutable("spec.selector", spec.get("selector")))
    return found


def _strategy(strategy: Json) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.strategy"
    if kind not in ("Recreate", "RollingUpdate"):
        shown = {"Type": kind or "", "RollingUpdate": None}
        return [unsupported(path, shown, ("Recreate", "RollingUpdate"))]
    if kind == "Recreate":
        if rolling is None:
            return []
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{path}.rollingUpdate", text)]
    rolling = rolling or {}
    where = f"{path}.rollingUpdate"
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    found = count_or_percent(down, f"{where}.maxUnavailable")
    found += count_or_percent(up, f"{where}.maxSurge")
    if down in (0, "0%") and up in (0, "0%"):
        text = "may not be 0 when `maxSurge` is 0"
        found.append(invalid(f"{where}.maxUnavailable", down, text))
    return found


def check_replica_set(item: Json, old: Json | None) -> Errors:
    """A ReplicaSet."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("replicas"), "spec.replicas")
    found += not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += _selector(spec, "replicaset") + _template(spec)
    if old is not None and spec.get("selector") != old["spec"].get("selector"):
        found.append(immutable("spec.selector", spec.get("selector")))
    return found


def check_daemon_set(item: Json, old: Json | None) -> Errors:
    """A DaemonSet."""
    spec = item.get("spec") or {}
    found = _selector(spec, "daemonset") + _template(spec)
    found += not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    if old is not None and spec.get("selector") != old["spec"].get("selector"):
        found.append(immutable("spec.selector", spec.get("selector")))
    return found


def check_stateful_set(item: Json, old: Json | None) -> Errors:
    """A StatefulSet."""
    spec = item.get("spec") or {}
    found: Errors = []
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid("spec.podManagementPolicy", policy, text))
    found += not_negative(spec.get("replicas"), "spec.replicas")
    found += _selector(spec, "statefulset") + _template(spec)
    if old is not None:
        before = {key: each for key, each in old["spec"].items() if key not in _STATEFUL_FREE}
        after = {key: each for key, each in spec.items() if key not in _STATEFUL_FREE}
        if before != after:
            found.append(forbidden("spec", _STATEFUL))
    return found


def check_job(item: Json, old: Json | None) -> Errors:
    """A Job."""
    return check_job_spec(item.get("spec") or {}, "spec") if old is None else []


def check_job_spec(spec: Json, path: str) -> Errors:
    """The spec of a Job or of a CronJob's template."""
    found: Errors = []
    for name in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ):
        found += not_negative(spec.get(name), f"{path}.{name}")
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        found.append(unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    limit = spec.get("backoffLimitPerIndex")
    if limit is not None and mode != "Indexed":
        text = "requires indexed completion mode"
        found.append(invalid(f"{path}.backoffLimitPerIndex", limit, text))
    inner = (spec.get("template") or {}).get("spec") or {}
    found += check_pod_spec(inner, f"{path}.template.spec")
    if inner.get("restartPolicy") not in ("OnFailure", "Never"):
        text = 'valid values: "OnFailure", "Never"'
        found.append(required(f"{path}.template.spec.restartPolicy", text))
    return found


def check_cron_job(item: Json, _old: Json | None) -> Errors:
    """A CronJob."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    schedule = spec.get("schedule", "")
    fields = schedule.split()
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.append(invalid("spec.schedule", schedule, text))
    elif not schedule.startswith("@") and len(fields) != 5:
        text = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        found.append(invalid("spec.schedule", schedule, text))
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    return found + check_job_spec(template, "spec.jobTemplate.spec")
