"""Warnings about objects that are valid but probably not intended."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any, Final

from stretto.api.checks.custom.formats import is_known_format
from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.kinds.core.families import is_headless
from stretto.api.checks.kinds.extension.structure import schemas_of
from stretto.api.checks.kinds.forms import form_warnings, service_form_warnings
from stretto.api.checks.kinds.pods.advice import pod_warnings
from stretto.api.wire.limits import MAX_WARNING, MAX_WARNINGS

Json = dict[str, Any]

_TEMPLATES: Final = {
    ("", "Pod"): ("spec",),
    ("", "ReplicationController"): ("spec", "template", "spec"),
    ("apps", "Deployment"): ("spec", "template", "spec"),
    ("apps", "ReplicaSet"): ("spec", "template", "spec"),
    ("apps", "DaemonSet"): ("spec", "template", "spec"),
    ("apps", "StatefulSet"): ("spec", "template", "spec"),
    ("batch", "Job"): ("spec", "template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
    "recommended approach is to use dynamic provisioning."
)
_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_CLASS: Final = (
    f"metadata.annotations[{_STORAGE_CLASS}]: deprecated since v1.8; "
    'use "storageClassName" attribute instead'
)
_ENFORCES: Final = "kubernetes.io/enforce-mountable-secrets"
_MOUNTABLE: Final = (
    f"metadata.annotations[{_ENFORCES}]: deprecated in v1.32+; prefer separate namespaces to "
    "isolate access to mounted secrets"
)
_IGNORED_NAME: Final = 'spec.externalName is ignored when spec.type is not "ExternalName"'
_OLD_ADDRESSES: Final = (
    "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
)
_OLD_DISTRIBUTION: Final = (
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
)
_TLS: Final = {"tls.crt": "certificate", "tls.key": "key"}
"""Inputs of a certificate in a Secret, in the order in which they are read."""
_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)


def warnings_of(key: tuple[str, str], item: Json, old: Json | None = None) -> list[str]:
    """Return the warnings about a new or changed object of a kind, by group and kind."""
    path = _TEMPLATES.get(key)
    if path is not None:
        if old is not None and (key == ("", "Pod") or _generation(item) == _generation(old)):
            return []
        inner: Any = item
        for name in path:
            inner = inner.get(name) or {}
        return _first(pod_warnings(inner, ".".join(path)))
    spec = item.get("spec") or {}
    notes = item.get("metadata", {}).get("annotations") or {}
    if key == ("", "ServiceAccount"):
        before = (old or {}).get("metadata", {}).get("annotations") or {}
        return [_MOUNTABLE] if _ENFORCES in notes and _ENFORCES not in before else []
    if key == ("", "PersistentVolumeClaim"):
        return [_OLD_CLASS] if _STORAGE_CLASS in notes else []
    if key == ("", "PersistentVolume"):
        is_old = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
        found = [_OLD_CLASS] if _STORAGE_CLASS in notes else []
        return [*found, _RECYCLE] if is_old else found
    if key == ("", "Service"):
        return _service(spec)
    if key == ("", "Secret"):
        return list(_of_certificate(item))
    if key == ("storage.k8s.io", "CSIDriver"):
        is_unset = spec.get("tokenRequests") and "serviceAccountTokenInSecrets" not in spec
        return [_TOKENS] if is_unset else []
    if key == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        known = set() if old is None else set(_unknown_formats(old.get("spec") or {}))
        names = [each for each in _unknown_formats(spec) if each not in known]
        return _first(f"unrecognized format {quoted(each)}" for each in names)
    return _first(form_warnings(key, item))


def _unknown_formats(spec: Json) -> Iterator[str]:
    """Yield the formats in the schemas of a definition that have no effect."""
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        for each in schemas_of(schema) if schema else ():
            name = each.get("format")
            if name and not is_known_format(name, each.get("type") or ""):
                yield name


def _first(warnings: Iterable[str]) -> list[str]:
    """Return the first distinct warnings, as many as a response can show."""
    found: dict[str, None] = {}
    left = MAX_WARNINGS
    for each in warnings:
        if each not in found:
            found[each] = None
            left -= min(len(each), MAX_WARNING)
            if left < 0:
                break
    return list(found)


def _service(spec: Json) -> list[str]:
    """Return the warnings about members of a Service that have no effect or no future."""
    kind = spec.get("type")
    bare = is_headless(spec)
    ignored = "is ignored for headless services"
    outside = bool(spec.get("externalIPs"))
    unused = {
        f"spec.loadBalancerIP {ignored}": bare and spec.get("loadBalancerIP"),
        f"spec.externalIPs {ignored}": bare and outside,
        f"spec.SessionAffinity {ignored}": bare and spec.get("sessionAffinity") != "None",
    }
    old = {
        _OLD_ADDRESSES: outside and not bare and kind != "ExternalName",
        'spec.externalIPs is ignored when spec.type is "ExternalName"': outside
        and kind == "ExternalName",
        _IGNORED_NAME: spec.get("externalName") and kind != "ExternalName",
        _OLD_DISTRIBUTION: spec.get("trafficDistribution") == "PreferClose",
    }
    return [
        *(text for text, applies in unused.items() if applies),
        *_first(service_form_warnings(spec)),
        *(text for text, applies in old.items() if applies),
    ]


def _of_certificate(secret: Json) -> Iterator[str]:
    """Yield the first problem of the certificate in a Secret of the type of TLS."""
    data = secret.get("data") or {}
    if secret.get("type") != "kubernetes.io/tls":
        return
    for name, what in _TLS.items():
        if b"-----BEGIN " not in b64decode(data.get(name) or ""):
            yield f"tls: failed to find any PEM data in {what} input"
            return


def _generation(item: Json) -> int:
    return int(item.get("metadata", {}).get("generation") or 0)
