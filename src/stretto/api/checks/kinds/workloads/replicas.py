"""Rules of Deployments, ReplicaSets, ReplicationControllers and DaemonSets."""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    forbidden,
    immutable,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.kinds.values import (
    Json,
    check_selector,
    count_or_percent,
    exceeds_all,
    is_zero,
    not_negative,
)
from stretto.api.checks.kinds.workloads.templates import (
    NO_MATCH,
    TEMPLATE,
    check_controlled,
    check_match,
    check_restarting,
    check_selected,
    template_labels,
)
from stretto.api.schema.internals import internal_form

_ROLLING: Final = ("Recreate", "RollingUpdate")
_MALFORMED: Final = "invalid label selector"
_ABOVE: Final = "cannot be greater than status.replicas"


def check_deployment(item: Json, old: Json | None) -> Errors:
    """Check a Deployment."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("replicas"), "spec.replicas")
    found += check_selected(spec, "deployment")
    found += check_controlled(spec, _MALFORMED, check_restarting(spec))
    found += _strategy(spec.get("strategy") or {})
    for name in ("minReadySeconds", "revisionHistoryLimit"):
        found += not_negative(spec.get(name), f"spec.{name}")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        path = "spec.progressDeadlineSeconds"
        found += not_negative(deadline, path)
        if deadline <= (spec.get("minReadySeconds") or 0):
            found.append(invalid(path, deadline, "must be greater than minReadySeconds"))
    return found + _fixed_selector(spec, old)


def _fixed_selector(spec: Json, old: Json | None) -> Errors:
    if old is None or spec.get("selector") == old["spec"].get("selector"):
        return []
    return [immutable("spec.selector", spec.get("selector"))]


def _strategy(strategy: Json) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.strategy"
    if kind not in _ROLLING:
        shown = internal_form("apps.DeploymentStrategy", strategy)
        return [unsupported(path, shown, _ROLLING)]
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
    if is_zero(down) and is_zero(up):
        text = "may not be 0 when `maxSurge` is 0"
        found.append(invalid(f"{where}.maxUnavailable", down, text))
    return found + _at_most_all(down, f"{where}.maxUnavailable")


def _at_most_all(share: Any, path: str) -> Errors:
    """Check that a share is at most 100 %."""
    return [invalid(path, share, "must not be greater than 100%")] if exceeds_all(share) else []


def check_replica_set(item: Json, old: Json | None) -> Errors:
    """Check a ReplicaSet."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("replicas"), "spec.replicas")
    found += not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += check_selected(spec, "deployment")  # the word of kube-apiserver
    found += check_controlled(spec, _MALFORMED, check_restarting(spec))
    return found + _fixed_selector(spec, old)


def check_replication_controller(item: Json, _old: Json | None) -> Errors:
    """Check a ReplicationController; its selector is a map of labels."""
    spec = item.get("spec") or {}
    found = not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        found.append(required("spec.selector"))
    found += not_negative(spec.get("replicas"), "spec.replicas")
    if spec.get("template") is None:
        return [*found, required(TEMPLATE)]
    labels = template_labels(spec)
    if selector and any((labels or {}).get(key) != value for key, value in selector.items()):
        found.append(invalid(f"{TEMPLATE}.metadata.labels", labels, NO_MATCH))
    return found + check_restarting(spec, "ReplicationController")


def check_daemon_set(item: Json, old: Json | None) -> Errors:
    """Check a DaemonSet."""
    spec = item.get("spec") or {}
    found = _fixed_selector(spec, old)
    found += _daemon_selector(spec)
    found += check_restarting(spec, "DaemonSet")
    found += not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    strategy = spec.get("updateStrategy") or {}
    path = "spec.updateStrategy"
    if strategy.get("type") == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            found.append(required(f"{path}.rollingUpdate"))
        else:
            found += _daemon_rolling(rolling, f"{path}.rollingUpdate")
    elif strategy.get("type") != "OnDelete":
        shown = internal_form("apps.DaemonSetUpdateStrategy", strategy)
        found.append(unsupported(path, shown, ("RollingUpdate", "OnDelete")))
    found += not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    return found


def _daemon_selector(spec: Json) -> Errors:
    """Check the selector of a DaemonSet; an absent selector matches no template."""
    selector = spec.get("selector")
    found = check_selector(selector, "spec.selector")
    if not found:
        is_empty = selector is not None and not any(selector.values())
        found += [] if is_empty else check_match(spec)
    if selector is not None and not any(selector.values()):
        detail = "empty selector is invalid for daemonset"
        found.append(invalid("spec.selector", selector, detail))
    return found


def _daemon_rolling(rolling: Json, path: str) -> Errors:
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    found = count_or_percent(down, f"{path}.maxUnavailable")
    found += count_or_percent(up, f"{path}.maxSurge")
    found += _at_most_all(down, f"{path}.maxUnavailable")
    found += _at_most_all(up, f"{path}.maxSurge")
    if is_zero(down) and is_zero(up):
        detail = "cannot be 0 when maxSurge is 0"
        found.append(required(f"{path}.maxUnavailable", detail))
    if not is_zero(down) and not is_zero(up):
        detail = "may not be set when maxUnavailable is non-zero"
        found.append(invalid(f"{path}.maxSurge", up, detail))
    return found


def _counts(item: Json, names: tuple[str, ...], others: tuple[str, ...] = ()) -> Errors:
    """Check numbers of a status: none is negative, and some are at most the replicas.

    Args:
        item: the object.
        names: numbers that are at most the replicas.
        others: further numbers.
    """
    status = item.get("status") or {}
    found: Errors = []
    for name in ("replicas", *names, *others):
        found += not_negative(status.get(name), f"status.{name}")
    total = status.get("replicas") or 0
    for name in names:
        count = status.get(name) or 0
        if count > total:
            found.append(invalid(f"status.{name}", count, _ABOVE))
    return found


def _available(item: Json, total: str) -> Errors:
    """Check that the available replicas are at most the ready ones."""
    status = item.get("status") or {}
    ready, available = status.get("readyReplicas") or 0, status.get("availableReplicas") or 0
    if available <= ready:
        return []
    return [invalid("status.availableReplicas", available, f"cannot be greater than {total}")]


def _collisions(item: Json, old: Json) -> Errors:
    """Check that the number of collisions does not decrease."""
    count = (item.get("status") or {}).get("collisionCount")
    before = (old.get("status") or {}).get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]


def check_deployment_status(item: Json, old: Json) -> Errors:
    """Check the status of a Deployment."""
    status = item.get("status") or {}
    found = not_negative(status.get("observedGeneration"), "status.observedGeneration")
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    others = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
    found += _counts(item, names, others)
    return found + _available(item, "readyReplicas") + _collisions(item, old)


def check_replica_status(item: Json, _old: Json) -> Errors:
    """Check the status of a ReplicaSet or a ReplicationController."""
    names = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    found = _counts(item, names, ("observedGeneration", "terminatingReplicas"))
    return found + _available(item, "readyReplicas")


def check_stateful_status(item: Json, old: Json) -> Errors:
    """Check the status of a StatefulSet."""
    names = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    found = _counts(item, names, ("observedGeneration", "collisionCount"))
    return found + _available(item, "status.readyReplicas") + _collisions(item, old)


_DAEMON_COUNTS: Final = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip


def check_daemon_status(item: Json, old: Json) -> Errors:
    """Check the status of a DaemonSet."""
    status = item.get("status") or {}
    found = [
        error
        for name in _DAEMON_COUNTS
        for error in not_negative(status.get(name), f"status.{name}")
    ]
    return found + _collisions(item, old)
