"""Rules of references to fields, amounts and keys, from which variables and files get values."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import invalid, missing, required
from stretto.api.checks.fields.texts import (
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    qualified_name,
)
from stretto.api.checks.kinds.pods.systems import containers_with_paths
from stretto.api.checks.kinds.values import Json, one_of
from stretto.api.wire.quantity import nano

_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
POD_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
"""Fields whose values a variable may have."""
FILE_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
)  # fmt: skip
"""Fields whose values a file may contain."""
_CONVERTED: Final = frozenset(
    {
        *POD_FIELDS, *FILE_FIELDS, "spec.host", "spec.restartPolicy", "spec.schedulerName",
        "status.phase",
    }
)  # fmt: skip
"""Fields that kube-apiserver can convert."""
_SUBSCRIPTED: Final = ("metadata.annotations", "metadata.labels")
_Subscript = tuple[str, str]
"""A field and the key in its subscript."""
_UNITS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final = {"cpu": ("1m", "1"), "memory": _UNITS, "ephemeral-storage": _UNITS}
"""Divisors by resource."""


def check_field_ref(ref: Json, path: str, known: tuple[str, ...] = POD_FIELDS) -> Iterator[Any]:
    """Check a reference to a field of the pod."""
    field, where = ref.get("fieldPath", ""), f"{path}.fieldPath"
    subscript = _subscript(field)
    if not field:
        yield required(where)
    elif problem := _conversion(ref, field, subscript):
        yield invalid(where, field, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        member, stated = subscript
        key = stated.lower() if member == _SUBSCRIPTED[0] else stated
        yield from (invalid(path, stated, each) for each in qualified_name(key))
    else:
        yield from one_of(field, where, known)


def _subscript(field: str) -> _Subscript | None:
    """Split a field such as ``metadata.labels['a']``; ``None`` if it has no subscript."""
    member, mark, key = field.removesuffix("']").partition("['")
    return (member, key) if member and mark and field.endswith("']") else None


def _conversion(ref: Json, field: str, subscript: _Subscript | None) -> str:
    """Return why kube-apiserver cannot convert a field; empty if it can."""
    version = ref.get("apiVersion") or "v1"
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        known = subscript[0] in _SUBSCRIPTED
        return "" if known else f"field label does not support subscript: {field}"
    return "" if field in _CONVERTED else f"field label not supported: {field}"


def check_resource_ref(ref: Json, path: str, *, is_file: bool = False) -> Iterator[Any]:
    """Check a reference to an amount of a container; that of a file names its container."""
    name = ref.get("resource", "")
    if is_file and not ref.get("containerName"):
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield from one_of(name, f"{path}.resource", _RESOURCES)
    yield from _divisor(name, ref.get("divisor") or "0", f"{path}.divisor")


def _divisor(name: str, divisor: str, where: str) -> Iterator[Any]:
    word = name.partition(".")[2]
    allowed = _DIVISORS.get(word)
    amount = nano(divisor, where)
    if allowed and amount and amount not in {nano(each, where) for each in allowed}:
        text = f"only divisor's values {_listed(allowed)} are supported with the {word} resource"
        yield invalid(where, name, text)


def _listed(words: tuple[str, ...]) -> str:
    return " and ".join(words) if len(words) == 2 else ", ".join(words)


def check_key_ref(ref: Json, path: str) -> Iterator[Any]:
    """Check a reference to a key of a ConfigMap or a Secret."""
    name, key = ref.get("name", ""), ref.get("key", "")
    yield from (invalid(f"{path}.name", name, each) for each in dns_subdomain(name))
    if not key:
        yield required(f"{path}.key")
    else:
        yield from (invalid(f"{path}.key", key, each) for each in config_key(key))


def check_file_ref(ref: Json, path: str) -> Iterator[Any]:
    """Check a reference to a variable in a file of a volume."""
    key, name, file = (ref.get(each, "") for each in ("key", "volumeName", "path"))
    if not key:
        yield required(f"{path}.key")
    yield from (invalid(f"{path}.key", key, each) for each in env_name(key))
    if not name:
        yield required(f"{path}.volumeName")
    else:
        yield from (invalid(f"{path}.volumeName", name, each) for each in dns_label(name))
    if not file:
        yield required(f"{path}.path")
    elif ".." in file.split("/"):
        yield invalid(f"{path}.path", file, "must not contain '..'")


def check_file_refs(spec: Json, path: str) -> Iterator[Any]:
    """Check that variables read files of empty directories of their pod."""
    empty = {each.get("name"): "emptyDir" in each for each in spec.get("volumes") or ()}
    for container, where in containers_with_paths(spec, path):
        for index, variable in enumerate(container.get("env") or ()):
            ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if ref is None:
                continue
            name = ref.get("volumeName", "")
            here = f"{where}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in empty:
                yield missing(here, name)
            elif not empty[name]:
                yield invalid(here, name, "referenced volume must be of type emptyDir")


RefCheck = Callable[[Json, str], Iterator[Any]]
"""Checks a reference at a path."""
