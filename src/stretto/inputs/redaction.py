"""What of a cluster's objects goes into a recording: what decides where pods go, and no secrets.

Environment, commands, probes, mounts, configuration and secret volumes, and annotations that are
not of a scheduler's making are left out. Names, labels and owners stay: rules and questions need
them. Who must not share names has to rename before recording.
"""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.kinds import NODE, POD, Kind

OUR_NOTES: Final = (
    "stretto.dev/",
    "godel.bytedance.com/",
    "katalyst.kubewharf.io/",
    "scheduling.k8s.io/",
    "volume.kubernetes.io/",
    "pv.kubernetes.io/",
    "kubernetes.io/config.mirror",
)
"""Beginnings of annotations that scheduling reads; the mirror mark tells static pods apart."""
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
_POD_STATUS: Final = ("phase", "startTime", "nominatedNodeName")
_NODE_SPEC: Final = ("unschedulable", "taints")
_NODE_STATUS: Final = ("allocatable", "capacity")


def redacted(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a recording keeps it; ``body`` is its JSON as it was read."""
    kept: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
    kept["metadata"] = _metadata(body.get("metadata") or {})
    if kind is POD:
        kept["spec"] = _pod_spec(body.get("spec") or {})
        kept["status"] = _only(body.get("status") or {}, _POD_STATUS)
    elif kind is NODE:
        kept["spec"] = _only(body.get("spec") or {}, _NODE_SPEC)
        kept["status"] = _only(body.get("status") or {}, _NODE_STATUS)
    else:
        rest = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
        kept.update(rest)
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
    volumes = [
        volume for each in spec.get("volumes") or () if len(volume := _only(each, _VOLUME)) > 1
    ]
    if volumes:
        kept["volumes"] = volumes
    return kept


def _only(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the fields that are named here and say something."""
    return {name: fields[name] for name in names if fields.get(name) not in (None, {}, [])}
