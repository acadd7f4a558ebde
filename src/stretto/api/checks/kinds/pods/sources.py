"""Rules of volumes: names, and exactly one source per volume."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import FieldError, duplicate, forbidden, invalid, required
from stretto.api.checks.fields.shapes import choice, optional
from stretto.api.checks.fields.texts import dns_subdomain, driver_name
from stretto.api.checks.kinds.pods.claims import check_claim_template
from stretto.api.checks.kinds.pods.mounts import local_path
from stretto.api.checks.kinds.pods.references import (
    FILE_FIELDS,
    check_field_ref,
    check_resource_ref,
)
from stretto.api.checks.kinds.values import Json, labelled
from stretto.api.wire.quantity import nano

HOST_PATHS: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
"""Types of host paths."""
_MODES: Final = range(0o1000)
_MODE_TEXT: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_PULLS: Final = optional(choice("Always", "IfNotPresent", "Never"))
_LEAST_TOKEN: Final = 600
_MOST_TOKEN: Final = 1 << 32

Source = Callable[[Json, str, Json], Iterator[Any]]
"""Returns the refused fields of a source: value, path, and the spec of the pod."""


def check_volumes(
    volumes: list[Json], path: str, spec: Json, valid: set[str]
) -> Iterator[FieldError]:
    """Check the volumes of a pod; add the names that containers can mount to ``valid``."""
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        errors = list(_volume(volume, f"{path}[{index}]", spec, valid))
        yield from errors
        if not errors:
            valid.add(name)


def _volume(volume: Json, where: str, spec: Json, known: set[str]) -> Iterator[FieldError]:
    """Check one volume, given the names of the previous ones."""
    yield from check_source(volume, where, spec)
    name = volume.get("name", "")
    problems = labelled(name, f"{where}.name") if name else [required(f"{where}.name")]
    yield from problems
    if not problems and name in known:
        yield duplicate(f"{where}.name", name)


def check_source(volume: Json, where: str, spec: Json) -> Iterator[Any]:
    """Check that a volume has exactly one source."""
    given = [name for name in SOURCES if volume.get(name) is not None]
    if not given and len(volume) <= 1:
        yield required(where, "must specify a volume type")
    for name in given[:1]:
        check = SOURCES[name]
        if check is not None:
            yield from check(volume[name], f"{where}.{name}", spec)
    for name in given[1:]:
        yield forbidden(f"{where}.{name}", "may not specify more than 1 volume type")


def _empty_dir(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    limit = source.get("sizeLimit")
    if limit is not None and nano(limit, path) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def check_host_path(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    """Check a host path."""
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    if ".." in source["path"].split("/"):
        yield invalid(f"{path}.path", source["path"], "must not contain '..'")
    yield from optional(choice(*HOST_PATHS))(source.get("type"), f"{path}.type")


def _config_map(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _items(source.get("items"), f"{path}.items")


def _secret(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _items(source.get("items"), f"{path}.items")


def _downward(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        if not item.get("path"):
            yield required(f"{path}.path")
        yield from local_path(item.get("path", ""), f"{path}.path")
        field, amount = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            yield from check_field_ref(field, f"{path}.fieldRef", FILE_FIELDS)
            if amount is not None:
                detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
                yield invalid(path, "resource", detail)
        elif amount is not None:
            yield from check_resource_ref(amount, f"{path}.resourceFieldRef", is_file=True)
        else:
            yield required(path, "one of fieldRef and resourceFieldRef is required")
        yield from _mode(item.get("mode"), f"{path}.mode")


def _mode(mode: int | None, path: str) -> Iterator[Any]:
    if mode is not None and mode not in _MODES:
        yield invalid(path, mode, _MODE_TEXT)


def _items(items: list[Json] | None, path: str) -> Iterator[Any]:
    for index, item in enumerate(items or ()):
        where = f"{path}[{index}]"
        if not item.get("key"):
            yield required(f"{where}.key")
        if not item.get("path"):
            yield required(f"{where}.path")
        yield from local_path(item.get("path", ""), f"{where}.path")
        yield from _mode(item.get("mode"), f"{where}.mode")


def _projected(source: Json, path: str, spec: Json) -> Iterator[Any]:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        given = [name for name in _PROJECTED if item.get(name) is not None]
        for name in given[:1]:
            yield from _PROJECTED[name](item[name], f"{where}.{name}", spec)
        for name in given[1:]:
            yield forbidden(f"{where}.{name}", "may not specify more than 1 volume type")


def _projected_named(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _items(source.get("items"), f"{path}.items")


def _token(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    seconds = source.get("expirationSeconds", 3600)
    where = f"{path}.expirationSeconds"
    if seconds < _LEAST_TOKEN:
        yield invalid(where, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _MOST_TOKEN:
        yield invalid(where, seconds, "may not specify a duration larger than 2^32 seconds")
    volume = path.partition(".sources[")[0]
    if not source.get("path"):
        yield required(f"{volume}.path")
    yield from local_path(source.get("path", ""), f"{volume}.path")


_PROJECTED: Final[dict[str, Source]] = {
    "secret": _projected_named,
    "configMap": _projected_named,
    "downwardAPI": _downward,
    "serviceAccountToken": _token,
    "clusterTrustBundle": lambda _source, _path, _spec: iter(()),
    "podCertificate": lambda _source, _path, _spec: iter(()),
}


def _needs(*names: str) -> Source:
    """A rule for a source whose members are required."""

    def check(source: Json, path: str, _spec: Json) -> Iterator[Any]:
        for name in names:
            if not source.get(name):
                yield required(f"{path}.{name}")

    return check


def _claim(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _nfs(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    yield from _needs("server", "path")(source, path, _spec)
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _ephemeral(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    where, template = f"{path}.volumeClaimTemplate", source.get("volumeClaimTemplate")
    if template is None:
        yield required(where)
    else:
        yield from check_claim_template(template, where)


def _iscsi(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    yield from _needs("targetPortal", "iqn")(source, path, _spec)
    for member in ("iqn", "initiatorName"):
        name = source.get(member) or ""
        pattern = _INITIATORS.get(name[:3])
        where = f"{path}.{member.lower()}"
        if name and pattern is None:
            yield invalid(where, name, "must be valid format starting with iqn, eui, or naa")
        elif pattern is not None and not pattern.search(name):
            yield invalid(where, name, "must be valid format")
    lun = source.get("lun") or 0
    if not 0 <= lun <= _MOST_LUN:
        yield invalid(f"{path}.lun", lun, f"must be between 0 and {_MOST_LUN}, inclusive")
    needs_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if needs_secret and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")


def _csi(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    name = source.get("driver", "")
    if not name:
        yield required(f"{path}.driver")
    else:
        yield from driver_name(name, f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        word = secret.get("name", "")
        if not word:
            yield required(f"{path}.nodePublishSecretRef.name")
        else:
            yield from (invalid(f"{path}.name", word, each) for each in dns_subdomain(word))


def _image(source: Json, path: str, _spec: Json) -> Iterator[Any]:
    yield from _needs("reference")(source, path, _spec)
    yield from _PULLS(source.get("pullPolicy"), f"{path}.pullPolicy")


_MOST_LUN: Final = 255
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
"""Patterns of the names of iSCSI initiators by their first letters."""
SOURCES: Final[dict[str, Source | None]] = {
    "emptyDir": _empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _needs("repository"),
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
    "secret": _secret,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": None,
    "persistentVolumeClaim": _claim,
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _needs("registry", "volume"),
    "downwardAPI": _downward,
    "fc": None,
    "flexVolume": _needs("driver"),
    "configMap": _config_map,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _needs("diskName", "diskURI"),
    "storageos": None,
    "projected": _projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
"""Sources in the order in which kube-apiserver checks them."""
