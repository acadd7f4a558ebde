"""Rules of volumes: names, and exactly one source per volume."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
)
from stretto.api.checks.fields.shapes import Rule, choice, optional
from stretto.api.checks.kinds.pods.claims import check_claim_template
from stretto.api.checks.kinds.pods.mounts import local_path
from stretto.api.checks.kinds.pods.references import (
    FILE_FIELDS,
    check_field_ref,
    check_resource_ref,
)
from stretto.api.checks.kinds.pods.remote import CHECKED_AS, REMOTE, needs
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
_HOST_TYPE: Final = optional(choice(*HOST_PATHS))
_NAMED: Final = needs("name")
_REPOSITORY: Final = needs("repository")
_REFERENCE: Final = needs("reference")
_SERVED: Final = needs("server", "path")
_LEAST_TOKEN: Final = 600
_MOST_TOKEN: Final = 1 << 32


def check_volumes(volumes: list[Json], path: str, valid: set[str]) -> Iterator[FieldError]:
    """Check the volumes of a pod; add the names that containers can mount to ``valid``."""
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        errors = list(_volume(volume, f"{path}[{index}]", valid))
        yield from errors
        if not errors:
            valid.add(name)


def _volume(volume: Json, where: str, known: set[str]) -> Iterator[FieldError]:
    """Check one volume, given the names of the previous ones."""
    yield from check_source(volume, where)
    name = volume.get("name", "")
    problems = labelled(name, f"{where}.name") if name else [required(f"{where}.name")]
    yield from problems
    if not problems and name in known:
        yield duplicate(f"{where}.name", name)


def check_source(volume: Json, where: str) -> Iterator[Any]:
    """Check that a volume has exactly one source."""
    given = [name for name in SOURCES if volume.get(name) is not None]
    if not given and len(volume) <= 1:
        yield required(where, "must specify a volume type")
    for name in given[:1]:
        yield from SOURCES[name](volume[name], f"{where}.{CHECKED_AS.get(name, name)}")
    for name in given[1:]:
        yield forbidden(f"{where}.{name}", "may not specify more than 1 volume type")


def _empty_dir(source: Json, path: str) -> Errors:
    limit = source.get("sizeLimit")
    if limit is None or nano(limit, path) >= 0:
        return []
    return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def check_host_path(source: Json, path: str) -> Errors:
    """Check a host path."""
    if not source.get("path"):
        return [required(f"{path}.path")]
    found: Errors = []
    if ".." in source["path"].split("/"):
        found.append(invalid(f"{path}.path", source["path"], "must not contain '..'"))
    return found + _HOST_TYPE(source.get("type"), f"{path}.type")


def _git(source: Json, path: str) -> Errors:
    directory = local_path(source.get("directory", ""), f"{path}.directory")
    return [*_REPOSITORY(source, path), *directory]


def check_nfs(source: Json, path: str) -> Errors:
    """Check an export of NFS."""
    found = _SERVED(source, path)
    if not source.get("path", "").startswith("/"):
        found.append(invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return found


def _image(source: Json, path: str) -> Errors:
    """Check an image; a template may omit its reference."""
    found = [] if ".template." in path or path.startswith("template.") else _REFERENCE(source, path)
    return found + _PULLS(source.get("pullPolicy"), f"{path}.pullPolicy")


def _ephemeral(source: Json, path: str) -> Errors:
    where, template = f"{path}.volumeClaimTemplate", source.get("volumeClaimTemplate")
    return [required(where)] if template is None else check_claim_template(template, where)


def _files(member: str) -> Rule:
    """A rule for keys of an object as files, given the member with the name of the object."""
    name = needs(member)

    def check(source: Json, path: str) -> Errors:
        modes = _mode(source.get("defaultMode"), f"{path}.defaultMode")
        return [*name(source, path), *modes, *_items(source.get("items"), f"{path}.items")]

    return check


def _downward(source: Json, path: str) -> Errors:
    found = list(_mode(source.get("defaultMode"), f"{path}.defaultMode"))
    for item in source.get("items") or ():
        found += _downward_file(item, path)
    return found


def _downward_file(item: Json, path: str) -> Iterator[Any]:
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


def _projected(source: Json, path: str) -> Errors:
    """Check the sources of a projected volume, whose files have distinct paths."""
    found = list(_mode(source.get("defaultMode"), f"{path}.defaultMode"))
    taken: set[str] = set()
    for index, item in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        given = [name for name in _PROJECTED if item.get(name) is not None]
        for name in given:
            found += _PROJECTED[name](item[name], f"{where}.{name}")
            found += _repeated(item[name], path, taken)
        if len(given) > 1:
            found.append(forbidden(where, "may not specify more than 1 volume type per source"))
    return found


def _repeated(source: Json, path: str, taken: set[str]) -> Iterator[Any]:
    """Refuse paths of files that other sources have taken; an error shows the object or path."""
    for item in source.get("items") or ():
        file = item.get("path", "")
        if file and file in taken:
            shown = source.get("name", "") if "key" in item else file
            yield invalid(path, shown, "conflicting duplicate paths")
        taken.add(file)


def _projected_named(source: Json, path: str) -> Errors:
    return [*_NAMED(source, path), *_items(source.get("items"), f"{path}.items")]


def _projected_fields(source: Json, path: str) -> Errors:
    return [error for item in source.get("items") or () for error in _downward_file(item, path)]


def _token(source: Json, path: str) -> Errors:
    seconds = source.get("expirationSeconds", 3600)
    where = f"{path}.expirationSeconds"
    found: Errors = []
    if seconds < _LEAST_TOKEN:
        found.append(invalid(where, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _MOST_TOKEN:
        found.append(invalid(where, seconds, "may not specify a duration larger than 2^32 seconds"))
    volume = path.partition(".sources[")[0]
    if not source.get("path"):
        found.append(required(f"{volume}.path"))
    return [*found, *local_path(source.get("path", ""), f"{volume}.path")]


_PROJECTED: Final[dict[str, Rule]] = {
    "secret": _projected_named,
    "configMap": _projected_named,
    "downwardAPI": _projected_fields,
    "serviceAccountToken": _token,
}
SOURCES: Final[dict[str, Rule]] = {
    "emptyDir": _empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _git,
    "gcePersistentDisk": REMOTE["gcePersistentDisk"],
    "awsElasticBlockStore": REMOTE["awsElasticBlockStore"],
    "secret": _files("secretName"),
    "nfs": check_nfs,
    "iscsi": REMOTE["iscsi"],
    "glusterfs": REMOTE["glusterfs"],
    "flocker": REMOTE["flocker"],
    "persistentVolumeClaim": needs("claimName"),
    "rbd": REMOTE["rbd"],
    "cinder": REMOTE["cinder"],
    "cephfs": REMOTE["cephfs"],
    "quobyte": REMOTE["quobyte"],
    "downwardAPI": _downward,
    "fc": REMOTE["fc"],
    "flexVolume": REMOTE["flexVolume"],
    "configMap": _files("name"),
    "azureFile": REMOTE["azureFile"],
    "vsphereVolume": REMOTE["vsphereVolume"],
    "photonPersistentDisk": REMOTE["photonPersistentDisk"],
    "portworxVolume": REMOTE["portworxVolume"],
    "azureDisk": REMOTE["azureDisk"],
    "storageos": REMOTE["storageos"],
    "projected": _projected,
    "scaleIO": REMOTE["scaleIO"],
    "csi": REMOTE["csi"],
    "ephemeral": _ephemeral,
    "image": _image,
}
"""Sources in the order in which kube-apiserver checks them."""
