"""Defaults of workloads and autoscalers."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.pod import default, fill

Json = dict[str, Any]

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
"""Annotation of a DaemonSet that counts changes of its template."""
_QUARTER: Final = "25%"
_MAX_INT32: Final = 2**31 - 1
_CPU_TARGET: Final = 80
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
"""Annotation of autoscaling/v1 with metrics besides the use of CPU."""


def _deployment(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    default(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        default(rolling, maxUnavailable=_QUARTER, maxSurge=_QUARTER)


def _replica_set(item: Json) -> None:
    default(item.setdefault("spec", {}), replicas=1)


def _daemon_set(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(spec, revisionHistoryLimit=10)
    notes = item["metadata"].get("annotations") or {}
    item["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0", **notes}
    strategy = spec.setdefault("updateStrategy", {})
    default(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        default(rolling, maxUnavailable=1, maxSurge=0)
    elif strategy.get("rollingUpdate") is not None:  # Go's conversion of absent values
        default(strategy["rollingUpdate"], maxUnavailable=0, maxSurge=0)


def _stateful_set(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        default(strategy, type="RollingUpdate", rollingUpdate={})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        default(strategy["rollingUpdate"], partition=0)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    default(policy, whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}


def _job(item: Json) -> None:
    spec = item.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    default(spec, parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)
    limit = _MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6
    default(spec, backoffLimit=limit)
    policy = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    default(spec, podReplacementPolicy=policy)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not item["metadata"].get("labels"):
        item["metadata"]["labels"] = dict(labels)


def _condition_pattern(pattern: Json) -> None:
    fill(pattern, status="True")


def _cron_job(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )


def _old_autoscaler(item: Json) -> None:
    default(item.setdefault("spec", {}), minReplicas=1)
    if _METRICS not in (item["metadata"].get("annotations") or {}):
        default(item["spec"], targetCPUUtilizationPercentage=_CPU_TARGET)


def _autoscaler(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_TARGET}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _scaling(behavior, "scaleUp", _UP)
        _scaling(behavior, "scaleDown", _DOWN)


_UP: Final[Json] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Final[Json] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


def _scaling(behavior: Json, direction: str, rules: Json) -> None:
    own = behavior.get(direction) or {}
    behavior[direction] = {**rules, **{key: each for key, each in own.items() if each is not None}}


WORKLOADS: Final[Mapping[str, Callable[[Json], None]]] = {
    "apps/v1.Deployment": _deployment,
    "apps/v1.ReplicaSet": _replica_set,
    "apps/v1.DaemonSet": _daemon_set,
    "apps/v1.StatefulSet": _stateful_set,
    "batch/v1.Job": _job,
    "batch/v1.CronJob": _cron_job,
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": _condition_pattern,
    "autoscaling/v1.HorizontalPodAutoscaler": _old_autoscaler,
    "autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
}
"""Defaults by struct."""
