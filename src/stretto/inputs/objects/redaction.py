"""Redaction of recorded objects: keep the fields that affect scheduling, and no secrets.

Environment, commands, probes, mounts, configuration and secret volumes, parameters and secrets of
storage drivers, and annotations of other programs are removed, also in templates. Names, labels and
owners are kept, because rules need them; rename objects before recording if names are confidential.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.wire.kinds import (
    CSI_DRIVER,
    NODE,
    PERSISTENT_VOLUME,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    RESERVATION,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    Kind,
)

OUR_NOTES: Final = (
    "stretto.dev/",
    "godel.bytedance.com/",
    "katalyst.kubewharf.io/",
    "scheduling.k8s.io/",
    "volume.kubernetes.io/",
    "pv.kubernetes.io/",
    "kubernetes.io/config.mirror",
)
"""Prefixes of annotations that scheduling reads; the mirror annotation marks static pods."""
_META: Final = (
    "name",
    "namespace",
    "uid",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
)
_POD_SPEC: Final = (
    "nodeName",
    "schedulerName",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "overhead",
    "resources",
    "schedulingGates",
    "schedulingGroup",
    "resourceClaims",
    "hostNetwork",
    "restartPolicy",
)
_CONTAINER: Final = ("name", "image", "resources", "ports", "restartPolicy")
_VOLUME: Final = (
    "name",
    "persistentVolumeClaim",
    "ephemeral",
    "gcePersistentDisk",
    "awsElasticBlockStore",
)
_ISCSI: Final = ("iqn", "targetPortal", "lun", "readOnly")
_RBD: Final = ("monitors", "image", "pool", "readOnly")
_POD_STATUS: Final = ("phase", "startTime", "nominatedNodeName")
_NODE_SPEC: Final = ("unschedulable", "taints")
_NODE_STATUS: Final = ("allocatable", "capacity")
_STORAGE_CLASS: Final = (
    "provisioner",
    "volumeBindingMode",
    "reclaimPolicy",
    "allowedTopologies",
)
_VOLUME_SPEC: Final = (
    "capacity",
    "accessModes",
    "storageClassName",
    "claimRef",
    "nodeAffinity",
    "volumeMode",
    "volumeAttributesClassName",
    "local",
)
_CSI: Final = ("driver", "volumeHandle")
_SPECS: Final[Mapping[Kind, tuple[str, ...]]] = {
    SERVICE: ("selector",),
    REPLICATION_CONTROLLER: ("selector",),
    REPLICA_SET: ("selector",),
    STATEFUL_SET: ("selector",),
    CSI_DRIVER: ("storageCapacity", "attachRequired"),
}
"""Kinds of which only a few fields of the spec are kept."""


def redacted(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded form of an object; ``body`` is its original JSON."""
    kept: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
    kept["metadata"] = _metadata(body.get("metadata") or {})
    if kind is POD:
        kept["spec"] = _pod_spec(body.get("spec") or {})
        kept["status"] = _only(body.get("status") or {}, _POD_STATUS)
    elif kind is NODE:
        kept["spec"] = _only(body.get("spec") or {}, _NODE_SPEC)
        kept["status"] = _only(body.get("status") or {}, _NODE_STATUS)
    elif kind in _SPECS:
        kept["spec"] = _only(body.get("spec") or {}, _SPECS[kind])
    else:
        rest = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
        kept.update(_REST[kind](rest) if kind in _REST else rest)
    return kept


def _metadata(meta: Mapping[str, Any]) -> dict[str, Any]:
    kept = _only(meta, _META)
    notes = {
        key: value
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(OUR_NOTES)
    }
    if notes:
        kept["annotations"] = notes
    return kept


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = _only(spec, _POD_SPEC)
    for list_of in ("containers", "initContainers"):
        if spec.get(list_of):
            kept[list_of] = [_only(each, _CONTAINER) for each in spec[list_of]]
    volumes = [one for each in spec.get("volumes") or () if len(one := _volume(each)) > 1]
    if volumes:
        kept["volumes"] = volumes
    return kept


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's volume: its PVC or disk, without credentials."""
    kept = _only(volume, _VOLUME)
    for source, fields in (("iscsi", _ISCSI), ("rbd", _RBD)):
        if volume.get(source):
            kept[source] = _only(volume[source], fields)
    template = (kept.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template:
        template = {**template, "metadata": _metadata(template.get("metadata") or {})}
        kept["ephemeral"] = {"volumeClaimTemplate": template}
    return kept


def _reservation(rest: Mapping[str, Any]) -> dict[str, Any]:
    """A reservation, whose template is a pod's."""
    spec = dict(rest.get("spec") or {})
    template = spec.get("template") or {}
    spec["template"] = {
        "metadata": _metadata(template.get("metadata") or {}),
        "spec": _pod_spec(template.get("spec") or {}),
    }
    return {**rest, "spec": spec}


def _persistent_volume(rest: Mapping[str, Any]) -> dict[str, Any]:
    """A volume without the secrets and attributes of its driver."""
    spec = rest.get("spec") or {}
    kept = _only(spec, _VOLUME_SPEC)
    if spec.get("csi"):
        kept["csi"] = _only(spec["csi"], _CSI)
    return {"spec": kept, "status": _only(rest.get("status") or {}, ("phase",))}


def _attachment(rest: Mapping[str, Any]) -> dict[str, Any]:
    """The attached volume and its node, without an inline volume, which may contain secrets."""
    spec = rest.get("spec") or {}
    kept = _only(spec, ("attacher", "nodeName"))
    kept["source"] = _only(spec.get("source") or {}, ("persistentVolumeName",))
    return {"spec": kept}


def _only(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields that are not empty."""
    return {name: fields[name] for name in names if fields.get(name) not in (None, {}, [])}


_REST: Final[Mapping[Kind, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    RESERVATION: _reservation,
    PERSISTENT_VOLUME: _persistent_volume,
    VOLUME_ATTACHMENT: _attachment,
    STORAGE_CLASS: lambda rest: _only(rest, _STORAGE_CLASS),
}
"""Kinds of which some fields are kept in addition to metadata."""
