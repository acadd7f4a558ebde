"""Rules of volume mounts and block devices of a container."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import forbidden, invalid, missing, required
from stretto.api.checks.fields.shapes import choice
from stretto.api.checks.kinds.values import Json

_PROPAGATIONS: Final = choice("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = choice("Disabled", "Enabled", "IfPossible")
_UNIQUE: Final = "must be unique"


def check_mounts(container: Json, where: str, volumes: frozenset[str]) -> Iterator[Any]:
    """Check the mounts of a container, given the names of the volumes of its pod."""
    paths: set[str] = set()
    devices = container.get("volumeDevices") or ()
    device_names = {each.get("name", "") for each in devices}
    device_paths = {each.get("devicePath", "") for each in devices}
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here, name = f"{where}.volumeMounts[{index}]", mount.get("name", "")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield missing(f"{here}.name", name)
        path = mount.get("mountPath", "")
        if not path:
            yield required(f"{here}.mountPath")
        if path in paths:
            yield invalid(f"{here}.mountPath", path, _UNIQUE)
        paths.add(path)
        if name in device_names:
            yield invalid(f"{here}.name", name, "must not already exist in volumeDevices")
        if path in device_paths:
            detail = "must not already exist as a path in volumeDevices"
            yield invalid(f"{here}.mountPath", path, detail)
        for word in ("subPath", "subPathExpr"):
            yield from local_path(mount.get(word, ""), f"{where}.volumeMounts.{word}")
        if mount.get("subPath") and mount.get("subPathExpr"):
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{here}.subPathExpr", mount["subPathExpr"], detail)
        yield from _propagation(mount, container, f"{where}.volumeMounts")


def _propagation(mount: Json, container: Json, where: str) -> Iterator[Any]:
    """Check the propagation of a mount; the paths contain no index, as in kube-apiserver."""
    way, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if way is not None:
        path = f"{where}.mountPropagation"
        yield from _PROPAGATIONS(way, path)
        if way == "Bidirectional" and not (container.get("securityContext") or {}).get(
            "privileged"
        ):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(path, detail)
    if recursive is None:
        return
    path = f"{where}.recursiveReadOnly"
    yield from _RECURSIVE(recursive, path)
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true")
        if way not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(path, detail)


def block_volumes(spec: Json) -> Mapping[str, bool]:
    """Return whether a block device may use each volume of a pod, by name."""
    return {each.get("name"): _is_claim(each) for each in spec.get("volumes") or ()}


def check_devices(container: Json, where: str, claims: Mapping[str, bool]) -> Iterator[Any]:
    """Check the block devices of a container, given which volumes of its pod they may use."""
    mounts = container.get("volumeMounts") or ()
    mount_names = {each.get("name", "") for each in mounts}
    mount_paths = {each.get("mountPath", "") for each in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here, name = f"{where}.volumeDevices[{index}]", device.get("name", "")
        path = device.get("devicePath", "")
        if not name:
            yield required(f"{here}.name")
        if name in names:
            yield invalid(f"{here}.name", name, _UNIQUE)
        if not claims.get(name, True):
            detail = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode"
            )
            yield invalid(f"{here}.name", name, detail)
        if not name or name not in claims:
            yield missing(f"{here}.name", name)
        yield from _device_path(path, f"{here}.devicePath", paths)
        if name in mount_names:
            yield invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if path in mount_paths:
            detail = "must not already exist as a path in volumeMounts"
            yield invalid(f"{here}.devicePath", path, detail)
        names |= {name} - {""}


def _device_path(path: str, where: str, taken: set[str]) -> Iterator[Any]:
    if not path:
        yield required(where)
        return
    if path in taken:
        yield invalid(where, path, _UNIQUE)
    if ".." in path.split("/"):
        yield invalid(where, path, "can not contain backsteps ('..')")
    taken.add(path)


def _is_claim(volume: Json) -> bool:
    return any(volume.get(each) is not None for each in ("persistentVolumeClaim", "ephemeral"))


def local_path(path: str, where: str) -> Iterator[Any]:
    """Check a path below another one: relative, without ``..``."""
    if path.startswith("/"):
        yield invalid(where, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(where, path, "must not contain '..'")
