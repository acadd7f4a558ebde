"""Defaults of controllers, and the labels that the API server adds to the pods of a Job."""

import hashlib
from typing import Final

from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView
from stretto.api.admission.selectors import check_template
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError

CONTROLLERS: Final = (
    kinds.DEPLOYMENT,
    kinds.REPLICA_SET,
    kinds.REPLICATION_CONTROLLER,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.JOB,
)
"""The controllers of Kubernetes that create pods."""
_JOB_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_POLICIES: Final = {kinds.JOB: ("OnFailure", "Never")}


def default_controller(request: AdmissionRequest, item: JsonObject, view: ObjectView) -> None:
    """Default replicas, selector and labels of a controller; ``view`` is not used.

    Raises:
        InputError: the selector does not match the template, or the restart policy is not allowed.
    """
    del view
    kind, meta = request.kind, item["metadata"]
    where = title_of(request, item)
    spec = item.setdefault("spec", {})
    template = spec.get("template")
    if not isinstance(template, dict):
        raise InputError(f"{where}: spec.template", template, "the template of its pods")
    if not isinstance(template.get("spec"), dict):
        raise InputError(f"{where}: spec.template.spec", template.get("spec"), "the spec of a pod")
    labels = (template.get("metadata") or {}).get("labels") or {}
    if kind == kinds.JOB:
        _default_job(spec)
    elif kind != kinds.DAEMON_SET:
        spec.setdefault("replicas", 1)
    if kind in (kinds.REPLICATION_CONTROLLER, kinds.JOB):
        if labels and not meta.get("labels"):
            meta["labels"] = dict(labels)
        if kind == kinds.REPLICATION_CONTROLLER and not spec.get("selector"):
            spec["selector"] = dict(labels)
    if kind == kinds.JOB and not spec.get("manualSelector"):
        _label_job(spec, meta, where)
    check_template(request, item, where)
    _check_restart(kind, template["spec"], where)


def title_of(request: AdmissionRequest, item: JsonObject) -> str:
    """The name of an object in messages, such as ``Job default/train``."""
    meta, kind = item["metadata"], request.kind
    name = meta.get("name", "")
    return f"{kind.kind} {meta['namespace']}/{name}" if kind.namespaced else f"{kind.kind} {name}"


def stable_uid(kind: Kind, meta: JsonObject) -> str:
    """The uid of an object; if it has none, a uid derived from its name."""
    if meta.get("uid"):
        return str(meta["uid"])
    name = f"{kind.kind}/{meta.get('namespace', '')}/{meta['name']}"
    text = hashlib.sha256(name.encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def _default_job(spec: JsonObject) -> None:
    """Default the numbers and modes of a Job."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    for name, value in (
        ("parallelism", 1),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("manualSelector", False),
    ):
        if spec.get(name) is None:
            spec[name] = value
    if spec.get("backoffLimit") is None:
        per_index = spec.get("backoffLimitPerIndex") is not None
        spec["backoffLimit"] = 2**31 - 1 if per_index else 6


def _label_job(spec: JsonObject, meta: JsonObject, where: str) -> None:
    """Add name and uid of a Job to its pod labels, and select the pods by the uid."""
    uid = meta["uid"] = stable_uid(kinds.JOB, meta)
    template = spec["template"] = dict(spec["template"])
    own = template["metadata"] = dict(template.get("metadata") or {})
    labels = own["labels"] = dict(own.get("labels") or {})
    for keys, value in ((_JOB_NAMES, meta["name"]), (_JOB_UIDS, uid)):
        for key in keys:
            if labels.setdefault(key, value) != value and keys is _JOB_NAMES:
                path = f"{where}: spec.template.metadata.labels.{key}"
                raise InputError(path, labels[key], f"{value}, the name of the Job", "remove it")
    selector = spec["selector"] = dict(spec.get("selector") or {})
    selector["matchLabels"] = {_JOB_UIDS[1]: uid, **(selector.get("matchLabels") or {})}


def _check_restart(kind: Kind, spec: JsonObject, where: str) -> None:
    """Refuse a restart policy that the controller does not allow."""
    allowed = _POLICIES.get(kind, ("Always",))
    policy = spec.get("restartPolicy") or "Always"
    if policy not in allowed:
        path = f"{where}: spec.template.spec.restartPolicy"
        raise InputError(path, policy, " or ".join(allowed), f"{kind.kind} pods need it")
