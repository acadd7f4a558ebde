"""Cells of workloads, autoscalers and budgets."""

from typing import Any, Final

from stretto.base.clock import parse_timestamp
from stretto.web.api.tables.values import (
    NONE,
    UNKNOWN,
    age,
    condition,
    containers,
    duration,
    labels_text,
    selector_cell,
    since,
    spec,
    status,
)

Json = dict[str, Any]

_SHOWN_METRICS: Final = 2


def deployment(item: Json, now: float) -> list[Any]:
    """Ready, updated, available, age, containers, selector."""
    found = status(item)
    ready = f"{found.get('readyReplicas', 0)}/{spec(item).get('replicas', 0)}"
    counts = [found.get("updatedReplicas", 0), found.get("availableReplicas", 0)]
    names = containers(spec(item).get("template") or {})
    return [ready, *counts, age(item, now), *names, selector_cell(spec(item).get("selector"))]


def replica_set(item: Json, now: float) -> list[Any]:
    """Desired, current, ready, age, containers, selector."""
    return [*_replicas(item, now), selector_cell(spec(item).get("selector"))]


def controller(item: Json, now: float) -> list[Any]:
    """The cells of a ReplicaSet, with a plain selector."""
    return [*_replicas(item, now), labels_text(spec(item).get("selector"))]


def _replicas(item: Json, now: float) -> list[Any]:
    found = status(item)
    counts = [spec(item).get("replicas", 0), found.get("replicas", 0)]
    names = containers(spec(item).get("template") or {})
    return [*counts, found.get("readyReplicas", 0), age(item, now), *names]


def scale(item: Json, now: float) -> list[Any]:
    """Desired, available, age."""
    return [spec(item).get("replicas", 0), status(item).get("replicas", 0), age(item, now)]


def daemon_set(item: Json, now: float) -> list[Any]:
    """Counts, node selector, age, containers, selector."""
    found, template = status(item), spec(item).get("template") or {}
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = labels_text((template.get("spec") or {}).get("nodeSelector"))
    return [
        *(found.get(name, 0) for name in names),
        nodes,
        age(item, now),
        *containers(template),
        selector_cell(spec(item).get("selector")),
    ]


def stateful_set(item: Json, now: float) -> list[Any]:
    """Ready, age, containers."""
    ready = f"{status(item).get('readyReplicas', 0)}/{spec(item).get('replicas', 0)}"
    return [ready, age(item, now), *containers(spec(item).get("template") or {})]


def revision(item: Json, now: float) -> list[Any]:
    """Controller, revision, age."""
    owner = next(
        (each for each in item["metadata"].get("ownerReferences") or () if each.get("controller")),
        None,
    )
    name = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = owner.get("kind", "").lower()
        name = f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return [name, item.get("revision", 0), age(item, now)]


def job(item: Json, now: float) -> list[Any]:
    """Status, completions, duration, age, containers, selector."""
    body, found = spec(item), status(item)
    done, wanted, parallel = found.get("succeeded", 0), body.get("completions"), 1
    parallel = body.get("parallelism") or 0
    completions = f"{done}/{wanted}"
    if wanted is None:
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    length = ""
    if found.get("startTime"):
        length = since(found["startTime"], now)
        if found.get("completionTime"):
            end = parse_timestamp(found["completionTime"])
            length = duration(end - parse_timestamp(found["startTime"]))
    return [
        _job_word(item),
        completions,
        length,
        age(item, now),
        *containers(body.get("template") or {}),
        selector_cell(body.get("selector")),
    ]


def _job_word(item: Json) -> str:
    for word, shown in (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        found = condition(item, word)
        if found is not None and found.get("status") == "True":
            return shown
    return "Terminating" if item["metadata"].get("deletionTimestamp") else "Running"


def cron_job(item: Json, now: float) -> list[Any]:
    """Schedule, zone, suspension, active jobs, last schedule, age, containers, selector."""
    body = spec(item)
    template = (body.get("jobTemplate") or {}).get("spec") or {}
    last = status(item).get("lastScheduleTime")
    return [
        body.get("schedule", ""),
        body.get("timeZone") or NONE,
        "True" if body.get("suspend") else "False",
        len(status(item).get("active") or ()),
        since(last, now) if last else NONE,
        age(item, now),
        *containers(template.get("template") or {}),
        selector_cell(template.get("selector")),
    ]


def autoscaler(item: Json, now: float) -> list[Any]:
    """Reference, targets, bounds, replicas, age."""
    body = spec(item)
    target = body.get("scaleTargetRef") or {}
    low = body.get("minReplicas")
    return [
        f"{target.get('kind')}/{target.get('name')}",
        _targets(item),
        str(low) if low is not None else UNSET_TEXT,
        body.get("maxReplicas", 0),
        status(item).get("currentReplicas", 0),
        age(item, now),
    ]


UNSET_TEXT: Final = "<unset>"
"""Text of an absent limit."""


def _targets(item: Json) -> str:
    wanted = spec(item).get("metrics")
    if wanted is None:
        percent = spec(item).get("targetCPUUtilizationPercentage")
        current = status(item).get("currentCPUUtilizationPercentage")
        if percent is None:
            return NONE
        return f"cpu: {UNKNOWN if current is None else f'{current}%'}/{percent}%"
    current = status(item).get("currentMetrics") or []
    texts = [
        _target(each, current[index] if index < len(current) else {})
        for index, each in enumerate(wanted)
    ]
    shown = ", ".join(texts[:_SHOWN_METRICS])
    more = len(texts) - _SHOWN_METRICS
    return f"{shown} + {more} more..." if more > 0 else shown or NONE


def _target(metric: Json, current: Json) -> str:
    word = metric.get("type", "")
    name = word[:1].lower() + word[1:]
    body, now = metric.get(name) or {}, (current.get(name) or {}).get("current") or {}
    target = body.get("target") or {}
    percent = target.get("averageUtilization")
    if percent is not None:
        used = now.get("averageUtilization")
        text = f"{UNKNOWN if used is None else f'{used}%'}/{percent}%"
    else:
        wanted = target.get("averageValue") or target.get("value")
        used = now.get("averageValue") or now.get("value") or UNKNOWN
        text = f"{used}/{wanted}"
        if target.get("averageValue") and word in ("Object", "External"):
            text += " (avg)"
    prefix = body.get("name") if word in ("Resource", "ContainerResource") else ""
    return f"{prefix}: {text}" if prefix else text


def budget(item: Json, now: float) -> list[Any]:
    """Bounds, allowed disruptions, age."""
    body = spec(item)
    bounds = [
        "N/A" if body.get(name) is None else str(body[name])
        for name in ("minAvailable", "maxUnavailable")
    ]
    return [*bounds, status(item).get("disruptionsAllowed", 0), age(item, now)]
