"""Rules of volume sources of storage systems: of pods, and of PersistentVolumes."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, invalid, required, unsupported
from stretto.api.checks.fields.shapes import Rule, choice, every, members, needed, optional
from stretto.api.checks.fields.texts import dns_label, dns_subdomain, driver_name
from stretto.api.checks.kinds.values import Json

_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"
_HOST_PORT: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_UUID_LIMIT: Final = 64
_BYTE: Final = range(256)
_LUN_TEXT: Final = "must be between 0 and 255, inclusive"
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
"""Patterns of the names of iSCSI initiators by their first letters."""
_INITIATOR_TEXT: Final = "must be valid format"
_START_TEXT: Final = "must be valid format starting with iqn, eui, or naa"
_RESERVED: Final = "kubernetes.io and k8s.io namespaces are reserved"
_MANAGED_DISK: Final = (
    "/subscriptions/",
    (
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}"
    ),
)
_BLOB_DISK: Final = (
    "https://",
    "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
)
"""Start and supported form of the address of a disk."""


def needs(*names: str) -> Rule:
    """A rule for a source whose members are required."""
    return members(dict.fromkeys(names, needed()))


def _named(problems: Callable[[str], list[str]]) -> Rule:
    """A rule for a required name."""

    def check(value: Any, path: str) -> Errors:
        if not value:
            return [required(path)]
        return [invalid(path, value, each) for each in problems(value)]

    return check


_SECRET: Final = optional(needs("name"))
_FAR_SECRET: Final = optional(needs("name", "namespace"))
_CSI_SECRET: Final = optional(
    members({"name": _named(dns_subdomain), "namespace": _named(dns_label)})
)


def _partition(value: Any, path: str) -> Errors:
    """Check a partition; 0 stands for the whole disk."""
    if (value or 0) in _BYTE:
        return []
    return [invalid(path, value, "must be between 1 and 255, inclusive")]


def _quobyte(source: Json, path: str) -> Errors:
    registry, where = source.get("registry", ""), f"{path}.registry"
    if not registry:
        found = [required(where, _PAIRS)]
    elif len(source.get("tenant", "")) > _UUID_LIMIT:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        found = [required(f"{path}.tenant", detail)]
    else:
        found = [
            invalid(where, registry, _PAIRS)
            for pair in registry.split(",")
            if not _HOST_PORT.fullmatch(pair)
        ]
    return found + needs("volume")(source, path)


def _flocker(source: Json, path: str) -> Errors:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    found: Errors = []
    if not name and not uid:
        found.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(invalid(path, "resource", detail))
    if "/" in name:
        found.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return found


def _fibre_channel(source: Json, path: str) -> Errors:
    names, lun = source.get("targetWWNs") or [], source.get("lun")
    found: Errors = []
    if not names and not source.get("wwids"):
        detail = "must specify either targetWWNs or wwids, but not both"
        found.append(required(f"{path}.targetWWNs", detail))
    if names and source.get("wwids"):
        detail = "targetWWNs and wwids can not be specified simultaneously"
        found.append(invalid(f"{path}.targetWWNs", names, detail))
    if names and lun is None:
        found.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names and lun not in _BYTE:
        found.append(invalid(f"{path}.lun", lun, _LUN_TEXT))
    return found


def _flex(source: Json, path: str) -> Errors:
    found = needs("driver")(source, path)
    for key in sorted(source.get("options") or {}):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            found.append(invalid(f"{path}.options[{key}]", key, _RESERVED))
    return found


_AZURE_DISK: Final = members(
    {
        "diskName": needed(),
        "diskURI": needed(),
        "cachingMode": optional(choice("None", "ReadOnly", "ReadWrite")),
        "kind": optional(choice("Dedicated", "Managed", "Shared")),
    }
)


def _azure_disk(source: Json, path: str) -> Errors:
    address, kind = source.get("diskURI", ""), source.get("kind")
    start, form = _MANAGED_DISK if kind == "Managed" else _BLOB_DISK
    found = _AZURE_DISK(source, path)
    if kind is not None and not address.startswith(start):
        found.append(unsupported(f"{path}.diskURI", address, (form,)))
    return found


def _local_name(value: Any, path: str) -> Errors:
    """Check an optional RFC 1123 label; an empty one is absent."""
    return [invalid(path, value, each) for each in dns_label(value)] if value else []


def _storage_os(secret: Rule) -> Rule:
    return members(
        {"volumeName": _named(dns_label), "volumeNamespace": _local_name, "secretRef": secret}
    )


def _initiator(value: Any, path: str, text: str) -> Errors:
    """Check the name of an iSCSI initiator, given the message about an unknown start."""
    pattern = _INITIATORS.get(value[:3])
    if pattern is None:
        return [invalid(path, value, text)]
    return [] if pattern.search(value) else [invalid(path, value, _INITIATOR_TEXT)]


def _iscsi(secret: Rule, text: str) -> Rule:
    """The rule of an iSCSI volume, given that of its secret and a text about its names."""

    def check(source: Json, path: str) -> Errors:
        found = needs("targetPortal", "iqn")(source, path)
        if source.get("iqn"):
            found += _initiator(source["iqn"], f"{path}.iqn", text)
        lun = source.get("lun") or 0
        if lun not in _BYTE:
            found.append(invalid(f"{path}.lun", lun, _LUN_TEXT))
        needs_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
        if needs_secret and source.get("secretRef") is None:
            found.append(required(f"{path}.secretRef"))
        found += secret(source.get("secretRef"), f"{path}.secretRef")
        name = source.get("initiatorName")
        return found if name is None else found + _initiator(name, f"{path}.initiatorname", text)

    return check


def _csi(source: Json, path: str) -> Errors:
    found = _driver(source.get("driver"), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return found
    word = secret.get("name", "")
    if not word:
        return [*found, required(f"{path}.nodePublishSecretRef.name")]
    return found + [invalid(f"{path}.name", word, each) for each in dns_subdomain(word)]


def _driver(value: Any, path: str) -> Errors:
    return driver_name(value, path) if value else [required(path)]


def _endpoints_namespace(value: Any, path: str) -> Errors:
    if value == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        return [invalid(path, value, detail)]
    return [invalid(path, value, each) for each in dns_label(value)]


def _steps(value: Any, path: str) -> Errors:
    if not value:
        return [required(path)]
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


REMOTE: Final[Mapping[str, Rule]] = {
    "gcePersistentDisk": members({"pdName": needed(), "partition": _partition}),
    "awsElasticBlockStore": members({"volumeID": needed(), "partition": _partition}),
    "iscsi": _iscsi(optional(every()), _START_TEXT),
    "glusterfs": needs("endpoints", "path"),
    "flocker": _flocker,
    "rbd": needs("monitors", "image"),
    "cinder": members({"volumeID": needed(), "secretRef": _SECRET}),
    "cephfs": needs("monitors"),
    "quobyte": _quobyte,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os(_SECRET),
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _csi,
}
"""Rules of sources of pods."""
PERSISTENT: Final[Mapping[str, Rule]] = {
    **REMOTE,
    "iscsi": _iscsi(_SECRET, _INITIATOR_TEXT),
    "glusterfs": members(
        {
            "endpoints": needed(),
            "path": needed(),
            "endpointsNamespace": optional(_endpoints_namespace),
        }
    ),
    "cinder": members({"volumeID": needed(), "secretRef": _FAR_SECRET}),
    "azureFile": members(
        {"secretName": needed(), "shareName": needed(), "secretNamespace": optional(needed())}
    ),
    "storageos": _storage_os(_FAR_SECRET),
    "local": members({"path": _steps}),
    "csi": members(
        {
            "driver": _driver,
            "volumeHandle": needed(),
            "controllerPublishSecretRef": _CSI_SECRET,
            "controllerExpandSecretRef": _CSI_SECRET,
            "nodePublishSecretRef": _CSI_SECRET,
            "nodeExpandSecretRef": _CSI_SECRET,
        }
    ),
}
"""Rules of sources of PersistentVolumes."""
CHECKED_AS: Final[Mapping[str, str]] = {"gcePersistentDisk": "persistentDisk"}
"""Names in paths of errors inside sources, where they differ from the name of the field."""
