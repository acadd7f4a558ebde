"""Stages of kwok: state changes of simulated nodes and pods.

Nodes become Ready at once, and extended resources in their capacity become allocatable. Bound pods
run at once, and pods of a Job finish after a second. Containers of deleted pods stop at once, or
after the grace period if they have a ``preStop`` hook. A stopped pod is removed when it has no
finalizer left. kwok ignores nodes with the label ``lost``, so that tests can set their conditions.

The label ``sim`` of a pod changes its course: ``hang`` never becomes ready, ``fail`` fails after
two seconds, and neither these nor ``stay`` finish as pods of a Job.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

_READY: Final = """
{{ $now := Now }}
conditions:
- {type: Ready, status: "True", reason: Simulated, lastHeartbeatTime: {{ $now | Quote }}}
"""
_ALLOCATABLE: Final = """
allocatable:
{{ range $name, $amount := .status.capacity }}
  {{ $name }}: {{ $amount | Quote }}
{{ end }}
"""
_UNALLOCATABLE: Final = "((.status.capacity | keys) - (.status.allocatable | keys) | length)"
"""The number of resources that are only in a node's capacity."""
_STARTED: Final = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
- {type: PodScheduled, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "READY", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "READY", lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: IS_READY
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
"""
_RUNNING: Final = _STARTED.replace("IS_READY", "true").replace("READY", "True")
_UNREADY: Final = _STARTED.replace("IS_READY", "false").replace("READY", "False")
_DONE: Final = """
{{ $now := Now }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, finishedAt: {{ $now | Quote }}}}
{{ end }}
"""
_STOPPED: Final = _DONE.replace("phase: Succeeded", "phase: Failed").replace(
    "exitCode: 0, reason: Completed", "exitCode: 143, reason: Error"
)
_FAILED: Final = _STOPPED.replace("exitCode: 143", "exitCode: 1")
_SIM: Final = ".metadata.labels.sim"
_FAILS_AFTER: Final = {"durationMilliseconds": 2000}
_JOB_SECONDS: Final = 1
"""Run time of Job pods in seconds."""


def stages() -> bytes:
    """The configuration of kwok: a sequence of JSON documents, which is valid YAML."""
    existing = _where(".metadata.deletionTimestamp", "DoesNotExist")
    pending = _where(".status.phase", "In", "Pending")
    running = _where(".status.phase", "In", "Running")
    of_job = _where(".metadata.ownerReferences.[].kind", "In", "Job")
    usual = _where(_SIM, "NotIn", "hang", "fail", "stay")
    hangs, fails = _where(_SIM, "In", "hang"), _where(_SIM, "In", "fail")
    others = _where(_SIM, "NotIn", "hang")
    ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'
    present = _where(".metadata.labels.lost", "DoesNotExist")
    unready = _where(ready, "NotIn", "True")
    grown = _where(_UNALLOCATABLE, "NotIn", "0")
    deleted = _where(".metadata.deletionTimestamp", "Exists")
    # The server removes pods without a grace period itself. kwok deletes by name and could remove a
    # new pod of the same name.
    graceful = _where(".metadata.deletionGracePeriodSeconds", "NotIn", "0")
    held = _where(".metadata.finalizers.[]", "Exists")
    free = _where(".metadata.finalizers.[]", "DoesNotExist")
    hook = _where(".spec.containers.[].lifecycle.preStop", "Exists")
    quick = _where(".spec.containers.[].lifecycle.preStop", "DoesNotExist")
    grace = {"durationFrom": {"expressionFrom": ".metadata.deletionTimestamp"}}
    after = {"durationMilliseconds": _JOB_SECONDS * 1000}
    all_of = (
        _stage("node-ready", "Node", [unready, present], {"statusTemplate": _READY}),
        _stage("node-grown", "Node", [grown, present], {"statusTemplate": _ALLOCATABLE}),
        _stage("pod-running", "Pod", [existing, pending, others], {"statusTemplate": _RUNNING}),
        _stage("pod-unready", "Pod", [existing, pending, hangs], {"statusTemplate": _UNREADY}),
        _stage(
            "pod-done", "Pod", [existing, running, of_job, usual], {"statusTemplate": _DONE}, after
        ),
        _stage(
            "pod-failed",
            "Pod",
            [existing, running, fails],
            {"statusTemplate": _FAILED},
            _FAILS_AFTER,
        ),
        _stage("pod-stopped", "Pod", [deleted, held, running, quick], {"statusTemplate": _STOPPED}),
        _stage(
            "pod-stopped-late",
            "Pod",
            [deleted, held, running, hook],
            {"statusTemplate": _STOPPED},
            grace,
        ),
        _stage("pod-gone", "Pod", [deleted, graceful, free, quick], {"delete": True}),
        _stage("pod-gone-late", "Pod", [deleted, graceful, free, hook], {"delete": True}, grace),
    )
    return b"\n---\n".join(msgspec.json.encode(stage) for stage in all_of)


def _where(key: str, operator: str, *values: str) -> dict[str, Any]:
    found: dict[str, Any] = {"key": key, "operator": operator}
    return {**found, "values": list(values)} if values else found


def _stage(
    name: str,
    kind: str,
    rules: Sequence[dict[str, Any]],
    then: dict[str, Any],
    delay: dict[str, Any] | None = None,
) -> dict[str, Any]:
    spec = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(rules)},
        "next": then,
    }
    if delay:
        spec["delay"] = delay
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": spec,
    }
