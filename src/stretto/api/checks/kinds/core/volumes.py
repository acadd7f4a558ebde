"""Rules of PersistentVolumes and PersistentVolumeClaims."""

from collections.abc import Mapping
from posixpath import normpath
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    forbidden,
    immutable,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.shapes import Rule
from stretto.api.checks.fields.texts import dns_subdomain, qualified_name
from stretto.api.checks.kinds.pods.claims import (
    ACCESS,
    MODES,
    check_claim_spec,
    check_exclusive,
)
from stretto.api.checks.kinds.pods.placement import check_node_selector
from stretto.api.checks.kinds.pods.remote import CHECKED_AS, PERSISTENT
from stretto.api.checks.kinds.pods.sources import check_host_path, check_nfs
from stretto.api.checks.kinds.values import Json, one_of
from stretto.api.schema.internals import internal_difference
from stretto.api.wire.quantity import nano

_POLICIES: Final = ("Delete", "Recycle", "Retain")

_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
"""Sources in the order in which kube-apiserver checks them."""
_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
_EXPANSIONS: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
    "NodeResizeInfeasible", "NodeResizePending",
)  # fmt: skip
"""States of an expansion."""
_UNIT: Final = 10**9
"""Billionths in one unit."""
_OWNER: Final = "spec.persistentvolumesource"


def check_claim(item: Json, old: Json | None) -> Errors:
    """Check a PVC; its spec is immutable, except size and attributes of a bound PVC."""
    spec = item.get("spec") or {}
    found = check_claim_spec(spec, "spec")
    if old is None:
        return found
    before = dict(old.get("spec") or {})
    after = dict(spec)
    if not before.get("volumeName") and after.get("volumeName"):
        before["volumeName"] = after["volumeName"]
    is_bound = (old.get("status") or {}).get("phase") == "Bound"
    if is_bound:
        before["resources"] = _with_requests(before, after)
        before.pop("volumeAttributesClassName", None)
        after.pop("volumeAttributesClassName", None)
    if before.get("storageClassName") is None:
        before["storageClassName"] = after.setdefault("storageClassName", None)
    if before != after:
        difference = internal_difference("core.PersistentVolumeClaimSpec", before, after)
        found.append(forbidden("spec", f"{_FIXED}\n{difference}"))
    found += _smaller(spec, old)
    mode = spec.get("volumeMode")
    changed = mode != (old.get("spec") or {}).get("volumeMode")
    return [*found, immutable("volumeMode", mode)] if changed else found


def check_claim_status(item: Json, _old: Json) -> Errors:
    """Check the capacity of a PVC and the state of its expansion."""
    status = item.get("status") or {}
    found: Errors = []
    if not (item.get("spec") or {}).get("accessModes"):
        found.append(required("Spec.accessModes"))
    found += [
        error
        for name, amount in sorted((status.get("capacity") or {}).items())
        for error in _amount(amount, f"status.capacity[{name}]")
    ]
    path = "status.allocatedResourceStatuses"
    for name, state in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        found += _expandable(name, path)
        if state not in _EXPANSIONS:
            found.append(unsupported(path, name, _EXPANSIONS))
    path = "status.allocatedResources"
    for name, amount in sorted((status.get("allocatedResources") or {}).items()):
        found += _expandable(name, path) or _amount(amount, f"{path}[{name}]")
    return found


def _amount(amount: Any, path: str) -> Errors:
    whole = -(-nano(amount, path) // _UNIT)
    return [invalid(path, whole, "must be a valid resource quantity")] if whole < 0 else []


def _expandable(name: str, path: str) -> Errors:
    """Check the name of a resource of a PVC; of those of Kubernetes, it is ``storage``."""
    problems = [invalid(path, name, each) for each in qualified_name(name)]
    if problems or name == "storage" or ("/" in name and "kubernetes.io/" not in name):
        return problems
    return [unsupported(path, name, ("storage",))]


def _with_requests(before: Json, after: Json) -> Any:
    resources = dict(before.get("resources") or {})
    requests = (after.get("resources") or {}).get("requests")
    return {**resources, "requests": requests} if requests else resources


def _smaller(spec: Json, old: Json) -> Errors:
    """Check that the request of a PVC does not decrease, unless it stays above the capacity."""
    path = "spec.resources.requests.storage"
    sizes = (
        (spec.get("resources") or {}).get("requests"),
        ((old.get("spec") or {}).get("resources") or {}).get("requests"),
        (old.get("status") or {}).get("capacity"),
    )
    new, was, status = (nano((each or {}).get("storage", "0"), path) for each in sizes)
    if new >= was or new > status:
        return []
    return [forbidden(path, "field can not be less than status.capacity")]


def check_volume(item: Json, old: Json | None) -> Errors:
    """Check a PersistentVolume."""
    spec = item.get("spec") or {}
    found: Errors = []
    found += _access(spec)
    found += _capacity(spec.get("capacity") or {})
    if spec.get("persistentVolumeReclaimPolicy"):
        policy = spec["persistentVolumeReclaimPolicy"]
        found += one_of(policy, "spec.persistentVolumeReclaimPolicy", _POLICIES)
    found += _affinity(spec)
    found += _source(spec)
    name = spec.get("storageClassName")
    if name:
        found += [invalid("spec.storageClassName", name, each_) for each_ in dns_subdomain(name)]
    if spec.get("volumeMode") is not None:
        found += one_of(spec["volumeMode"], "spec.volumeMode", MODES)
    name = spec.get("volumeAttributesClassName")
    if name is not None:
        where = "spec.volumeAttributesClassName"
        if not name:
            found.append(required(where, "an empty string is disallowed"))
        else:
            found += [invalid(where, name, each_) for each_ in dns_subdomain(name)]
        if spec.get("csi") is None:
            detail = "has to be specified when using volumeAttributesClassName"
            found.append(required("spec.csi", detail))
    if old is not None:
        found += found  # kube-apiserver checks a changed volume twice
        before = {name: (old.get("spec") or {}).get(name) for name in _SOURCES}
        after = {name: spec.get(name) for name in _SOURCES}
        if before != after:
            difference = internal_difference("core.PersistentVolumeSource", before, after)
            detail = f"spec.persistentvolumesource is immutable after creation\n{difference}"
            found.append(forbidden(_OWNER, detail))
        if spec.get("volumeMode") != (old.get("spec") or {}).get("volumeMode"):
            found.append(immutable("volumeMode", spec.get("volumeMode")))
    return found


def inline_volume_errors(spec: Json, path: str) -> Errors:
    """Check the spec of a volume that a VolumeAttachment contains."""
    detail = "may not be specified in the context of inline volumes"
    found = [
        forbidden(f"spec.{name}", detail) for name in ("claimRef", "capacity") if spec.get(name)
    ]
    if spec.get("csi") is None:
        found.append(required("spec.csi", "has to be specified in the context of inline volumes"))
    found += _access(spec)
    if spec.get("persistentVolumeReclaimPolicy", "Retain") != "Retain":
        text = "may only be Retain in the context of inline volumes"
        found.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    if spec.get("nodeAffinity") is not None:
        found.append(forbidden("spec.nodeAffinity", detail))
    found += _source(spec)
    if spec.get("storageClassName"):
        found.append(forbidden("spec.storageClassName", detail))
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        found.append(forbidden("spec.volumeMode", text))
    return [FieldError(each.reason, each.message, path + each.field[4:]) for each in found]


def _access(spec: Json) -> Errors:
    modes, path = spec.get("accessModes") or [], "spec.accessModes"
    if not modes:
        return [required(path)]
    found = [error for mode in modes for error in one_of(mode, path, ACCESS)]
    return found + check_exclusive(modes, path)


def _capacity(capacity: Json) -> Errors:
    if not capacity:
        return [required("spec.capacity"), unsupported("spec.capacity", None, ("storage",))]
    found: Errors = []
    if set(capacity) != {"storage"}:
        shown = dict(sorted(capacity.items()))
        found.append(unsupported("spec.capacity", shown, ("storage",)))
    for name, amount in sorted(capacity.items()):
        where = f"spec.capacity[{name}]"
        if nano(amount, where) <= 0:
            found.append(invalid(where, amount, "must be greater than zero"))
    return found


def _affinity(spec: Json) -> Errors:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return []
    needed = affinity.get("required")
    path = "spec.nodeAffinity.required"
    if needed is None:
        return [required(path, "must specify required node constraints")]
    return check_node_selector(needed, path)


def _source(spec: Json) -> Errors:
    """Check that a volume has exactly one source; that of a Flex volume is always checked."""
    given = [name for name in _SOURCES if spec.get(name) is not None]
    if not given:
        return [required("spec", "must specify a volume type")]
    found: Errors = []
    for name in given:
        if name == given[0] or name == "flexVolume":
            found += _RULES[name](spec[name], f"spec.{CHECKED_AS.get(name, name)}")
        else:
            detail = "may not specify more than 1 volume type"
            found.append(forbidden(f"spec.{_FORBIDDEN_AS.get(name, name)}", detail))
        if name == "local" == given[0] and spec.get("nodeAffinity") is None:
            detail = "Local volume requires node affinity"
            found.append(required("spec.nodeAffinity", detail))
    host = (spec.get("hostPath") or {}).get("path", "")
    is_root = host.startswith("/") and normpath(host) in ("/", "//")
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(forbidden("spec.persistentVolumeReclaimPolicy", detail))
    return found


_RULES: Final[Mapping[str, Rule]] = {
    **PERSISTENT,
    "hostPath": check_host_path,
    "nfs": check_nfs,
}
"""Rules by source."""
_FORBIDDEN_AS: Final = {"cephfs": "cephFS"}
"""Names in messages about a second source, where they differ from the name of the field."""
