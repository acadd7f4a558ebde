"""Defaults of pods and pod templates."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.resources import containers_of, default_requests

Json = dict[str, Any]

_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_LATEST: Final = "latest"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_IMAGE: Final = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
"""Pattern of an image name, by the reference grammar of container registries."""
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
"""Pattern of a digest without an image name."""


def default(value: Json, **members: Any) -> None:
    """Set members that are absent; an empty string in a decoded object is that of a pointer."""
    for name, each in members.items():
        if value.get(name) is None:
            value[name] = each


def fill(value: Json, **members: str) -> None:
    """Set members that are absent or empty, for fields whose empty strings Go encodes."""
    for name, each in members.items():
        value[name] = value.get(name) or each


def _pod(item: Json) -> None:
    spec = item.setdefault("spec", {})
    for container in containers_of(spec):
        container.setdefault("resources", {})
    default_requests(spec)
    default(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for container in containers_of(spec):
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _pod_spec(spec: Json) -> None:
    default(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        schedulerName="default-scheduler",
        terminationGracePeriodSeconds=30,
    )
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _container(container: Json) -> None:
    default(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(container.get("image", "")),
    )


def _pull_policy(image: str) -> str:
    """Return the pull policy: ``Always`` for ``latest`` and for names without tag and digest."""
    found = None if _IDENTIFIER.fullmatch(image) else _IMAGE.fullmatch(image)
    if found is None:
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else _LATEST)
    return "Always" if tag == _LATEST else "IfNotPresent"


def _probe(probe: Json) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(name):
            probe[name] = value


def _http_get(action: Json) -> None:
    default(action, path="/", scheme="HTTP")


def _grpc(action: Json) -> None:
    default(action, service="")


def _volume(volume: Json) -> None:
    if not [name for name in volume if name != "name"]:
        volume["emptyDir"] = {}


def _mode(source: Json) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _projected(source: Json) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _token(source: Json) -> None:
    source.setdefault("expirationSeconds", _TOKEN_SECONDS)


def _host_path(source: Json) -> None:
    source.setdefault("type", "")


def _image(source: Json) -> None:
    default(source, pullPolicy=_pull_policy(source.get("reference", "")))


def _field_ref(source: Json) -> None:
    default(source, apiVersion="v1")


def _file_key(source: Json) -> None:
    default(source, optional=False)


def _claim_template(template: Json) -> None:
    template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _iscsi(source: Json) -> None:
    default(source, iscsiInterface="default")


def _rbd(source: Json) -> None:
    default(source, pool="rbd", user="admin", keyring="/etc/ceph/keyring")


def _azure(source: Json) -> None:
    default(source, cachingMode="ReadWrite", kind="Shared", fsType="ext4", readOnly=False)


def _scale_io(source: Json) -> None:
    default(source, storageMode="ThinProvisioned", fsType="xfs")


POD: Final[Mapping[str, Callable[[Json], None]]] = {
    "core/v1.Pod": _pod,
    "core/v1.PodSpec": _pod_spec,
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.Probe": _probe,
    "core/v1.HTTPGetAction": _http_get,
    "core/v1.GRPCAction": _grpc,
    "core/v1.Volume": _volume,
    "core/v1.SecretVolumeSource": _mode,
    "core/v1.ConfigMapVolumeSource": _mode,
    "core/v1.DownwardAPIVolumeSource": _mode,
    "core/v1.ProjectedVolumeSource": _projected,
    "core/v1.ServiceAccountTokenProjection": _token,
    "core/v1.HostPathVolumeSource": _host_path,
    "core/v1.ImageVolumeSource": _image,
    "core/v1.ObjectFieldSelector": _field_ref,
    "core/v1.FileKeySelector": _file_key,
    "core/v1.PersistentVolumeClaimTemplate": _claim_template,
    "core/v1.ISCSIVolumeSource": _iscsi,
    "core/v1.ISCSIPersistentVolumeSource": _iscsi,
    "core/v1.RBDVolumeSource": _rbd,
    "core/v1.RBDPersistentVolumeSource": _rbd,
    "core/v1.AzureDiskVolumeSource": _azure,
    "core/v1.ScaleIOVolumeSource": _scale_io,
}
"""Defaults by struct."""
