"""Initial values and derived fields by kind, before the checks of a new or changed object."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.walk import drop_disabled
from stretto.api.admission.defaulting.workloads import TEMPLATE_GENERATION
from stretto.api.admission.selectors import merge_label_keys
from stretto.api.types.quality import quality_of_service
from stretto.api.wire.kinds import SERVICE
from stretto.web.api.call import Call
from stretto.web.api.failures import invalid
from stretto.web.api.objects import addresses
from stretto.web.api.objects.signing import state_requester
from stretto.web.api.objects.strategies import SIGNING_REQUEST
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_BATCH: Final = "batch.kubernetes.io/"


def prepare_new(state: ApiState, call: Call, item: Json) -> None:
    """Set the fields of a new object that the server determines."""
    _drop_disabled(call, item)
    found = _NEW.get(call.resource.key)
    if found is not None:
        found(state, item)
    elif call.resource.stored == SERVICE:
        _service(state, call, item, None)
    elif call.resource.key == SIGNING_REQUEST:
        state_requester(item, call.user)


def prepare_changed(state: ApiState, call: Call, item: Json, old: Json) -> None:
    """Set the fields of a changed object that the server determines."""
    _drop_disabled(call, item)
    found = _CHANGED.get(call.resource.key)
    if found is not None:
        found(state, item, old)
    elif call.resource.stored == SERVICE:
        _service(state, call, item, old)


def _drop_disabled(call: Call, item: Json) -> None:
    if call.resource.definition is None:
        drop_disabled(item, call.resource.struct)


def _pod(state: ApiState, item: Json) -> None:
    if (item["spec"].get("terminationGracePeriodSeconds") or 0) < 0:
        item["spec"]["terminationGracePeriodSeconds"] = 1
    status: Json = {"phase": "Pending", "qosClass": quality_of_service(item["spec"])}
    if item["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": state.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    merge_label_keys(item)
    item["status"] = status


def locally_available(now: str) -> Json:
    """Return the condition of an APIService that this server serves itself."""
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def _registration(state: ApiState, item: Json) -> None:
    is_local = (item.get("spec") or {}).get("service") is None
    item["status"] = {"conditions": [locally_available(state.now)]} if is_local else {}


def _namespace(_state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Active"}
    spec = item.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]


def _claim(_state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Pending"}
    _data_source(item, is_used=False)


def _changed_claim(_state: ApiState, item: Json, old: Json) -> None:
    before = old.get("spec") or {}
    _data_source(item, is_used=bool(before.get("dataSource") or before.get("dataSourceRef")))


def _data_source(item: Json, *, is_used: bool) -> None:
    """Set both forms of a PVC's data source to the same value.

    Unless the stored PVC uses one, the older form names a PVC or a snapshot.
    """
    spec = item["spec"]
    if (spec.get("dataSourceRef") or {}).get("namespace") and not is_used:  # a disabled feature
        del spec["dataSourceRef"]
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    is_unknown = (old or {}).get("kind") not in _SOURCE_KINDS.get(_group(old), ())
    if new is None and not is_used and is_unknown:
        spec.pop("dataSource", None)
    elif old and not new:
        spec["dataSourceRef"] = dict(old)
    elif new and not old and not new.get("namespace"):
        spec["dataSource"] = {key: each for key, each in new.items() if key != "namespace"}


_SOURCE_KINDS: Final = {
    "": ("PersistentVolumeClaim",),
    "snapshot.storage.k8s.io": ("VolumeSnapshot",),
}
"""Kinds of data sources by group; the older form of a data source names no others."""


def _group(source: Json | None) -> str:
    return (source or {}).get("apiGroup") or ""


def _account(_state: ApiState, item: Json) -> None:
    """Keep only the names of the Secrets of an account."""
    secrets = item.get("secrets") or ()
    if secrets:
        item["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in secrets]


def _limits(state: ApiState, item: Json) -> None:
    """Name a LimitRange that has no name by an identity."""
    item["metadata"]["name"] = item["metadata"].get("name") or state.storage.next_uid()


def _volume(state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Pending", "lastPhaseTransitionTime": state.now}


def _daemon_set(_state: ApiState, item: Json) -> None:
    item["metadata"]["annotations"][TEMPLATE_GENERATION] = "1"


def _changed_daemon_set(_state: ApiState, item: Json, old: Json) -> None:
    before = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1")
    changed = item["spec"].get("template") != old["spec"].get("template")
    notes = item["metadata"].setdefault("annotations", {})
    notes[TEMPLATE_GENERATION] = str(int(before) + changed)


def _definition(_state: ApiState, item: Json) -> None:
    stored = [each["name"] for each in item["spec"].get("versions") or () if each.get("storage")]
    item["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored[:1],
    }


def _changed_definition(_state: ApiState, item: Json, old: Json) -> None:
    status = dict(old.get("status") or {})
    known = list(status.get("storedVersions") or ())
    for each in item["spec"].get("versions") or ():
        if each.get("storage") and each["name"] not in known:
            known.append(each["name"])
    item["status"] = {**status, "storedVersions": known}


def _job(state: ApiState, item: Json) -> None:
    """Let the selector of a Job select its future uid; labels of the template stay."""
    spec, metadata = item["spec"], item["metadata"]
    if spec.get("manualSelector"):
        return
    metadata["uid"] = uid = state.storage.next_uid()
    name = metadata.get("name", "")
    labels = {f"{prefix}controller-uid": uid for prefix in ("", _BATCH)}
    labels |= {f"{prefix}job-name": name for prefix in ("", _BATCH)}
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    stated = template.get("labels") or {}
    template["labels"] = {**stated, **{key: labels[key] for key in labels if key not in stated}}
    if (metadata.get("labels") or {}) == stated:  # the labels of the template are the default
        metadata["labels"] = dict(template["labels"])
    selector = spec.get("selector") or {}
    selected = {f"{_BATCH}controller-uid": uid, **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": dict(sorted(selected.items()))}


def _service(state: ApiState, call: Call, item: Json, old: Json | None) -> None:
    errors = addresses.allocate(state, item, old, dry_run=call.options.dry_run)
    if errors:
        causes = [(each.reason, each.message, each.field) for each in errors]
        raise invalid(SERVICE, item["metadata"].get("name", ""), causes)


_NEW: Final[Mapping[tuple[str, str], Callable[[ApiState, Json], None]]] = {
    ("", "Pod"): _pod,
    ("", "Namespace"): _namespace,
    ("apiregistration.k8s.io", "APIService"): _registration,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "ServiceAccount"): _account,
    ("", "LimitRange"): _limits,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}


def _changed_account(state: ApiState, item: Json, _old: Json) -> None:
    _account(state, item)


def _keep_spec(_state: ApiState, item: Json, old: Json) -> None:
    item["spec"] = old.get("spec", {})


_CHANGED: Final[Mapping[tuple[str, str], Callable[[ApiState, Json, Json], None]]] = {
    ("", "Namespace"): _keep_spec,
    ("", "PersistentVolumeClaim"): _changed_claim,
    SIGNING_REQUEST: _keep_spec,
    ("", "ServiceAccount"): _changed_account,
    ("apps", "DaemonSet"): _changed_daemon_set,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _changed_definition,
}
