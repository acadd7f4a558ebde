"""Rules of ConfigMaps and Secrets."""

import base64
import binascii
from typing import Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required, too_long
from stretto.api.checks.fields.texts import config_key
from stretto.api.checks.kinds.values import Json, unchanged
from stretto.api.wire.syntax import json_fault

_MAX_DATA: Final = 1 << 20
_REDACTED: Final = "<secret contents redacted>"
_DOCKER: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_NEEDED: Final = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_TOKEN: Final = "kubernetes.io/service-account-token"
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def _keys(data: Json | None, field: str) -> Errors:
    return [
        invalid(f"{field}[{key}]", key, each)
        for key in sorted(data or {})
        for each in config_key(key)
    ]


def _immutable_data(item: Json, old: Json | None, names: tuple[str, ...]) -> Errors:
    if old is None or not old.get("immutable"):
        return []
    text = "field is immutable when `immutable` is set"
    found: Errors = []
    if not item.get("immutable"):
        found.append(forbidden("immutable", text))
    found += [forbidden(name, text) for name in names if item.get(name) != old.get(name)]
    return found


def check_config_map(item: Json, old: Json | None) -> Errors:
    """Check a ConfigMap."""
    data, binary = item.get("data") or {}, item.get("binaryData") or {}
    found: Errors = []
    for key in sorted(data):
        found += [invalid(f"data[{key}]", key, each) for each in config_key(key)]
        if key in binary:
            detail = "duplicate of key present in binaryData"
            found.append(invalid(f"data[{key}]", key, detail))
    found += _keys(binary, "binaryData")
    total = sum(len(value.encode()) for value in data.values())
    total += sum(len(value) * 3 // 4 for value in binary.values())
    if total > _MAX_DATA:
        found.append(too_long("[]", _MAX_DATA))
    return _immutable_data(item, old, ("data", "binaryData")) + found


def check_secret(item: Json, old: Json | None) -> Errors:
    """Check a Secret."""
    data, kind = item.get("data") or {}, item.get("type", "")
    found = _keys(data, "data")
    if sum(len(value) * 3 // 4 for value in data.values()) > _MAX_DATA:
        found.append(too_long("data", _MAX_DATA))
    if kind == _TOKEN and not (item["metadata"].get("annotations") or {}).get(_ACCOUNT):
        found.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    if kind == "kubernetes.io/basic-auth" and not ({"username", "password"} & set(data)):
        found += [required(f"data[{name}]") for name in ("username", "password")]
    found += [required(f"data[{name}]") for name in _NEEDED.get(kind, ()) if name not in data]
    if kind in _DOCKER:
        found += _docker(data, _DOCKER[kind])
    found = _immutable_data(item, old, ("data",)) + found
    return unchanged(item, old, ("type",)) + found


def _docker(data: Json, name: str) -> Errors:
    """Check the credentials of a registry, a JSON text."""
    path = f"data[{name}]"
    if name not in data:
        return [required(path)]
    try:
        content = base64.b64decode(data[name])
    except (binascii.Error, ValueError):
        content = b""
    problem = json_fault(content)
    return [invalid(path, _REDACTED, problem)] if problem else []
