"""Rules of the security contexts of pods and containers."""

import re
from collections.abc import Iterable
from typing import Final

from stretto.api.checks.fields.errors import Errors, FieldError, forbidden, invalid, required
from stretto.api.checks.fields.shapes import between, choice, each, members, optional
from stretto.api.checks.kinds.pods.mounts import local_path
from stretto.api.checks.kinds.pods.systems import PRIVILEGED, check_windows
from stretto.api.checks.kinds.values import Json, one_of
from stretto.api.schema.internals import internal_form

_CONTEXT: Final = "core.SecurityContext"
_IDENTITY: Final = between(0, 2**31 - 1)
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_SYSCTL_TEXT: Final = (
    "must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
_SYSCTL_LIMIT: Final = 253
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_IDS: Final = members(
    {"runAsUser": optional(_IDENTITY), "runAsGroup": optional(_IDENTITY)},
)
_POD_IDS: Final = members(
    {
        "fsGroup": optional(_IDENTITY),
        "supplementalGroups": each(_IDENTITY),
        "runAsUser": optional(_IDENTITY),
        "runAsGroup": optional(_IDENTITY),
    }
)
_POLICIES: Final = members(
    {
        "supplementalGroupsPolicy": optional(choice("Merge", "Strict")),
        "seLinuxChangePolicy": optional(choice("Recursive")),
    }
)


def check_pod_security(spec: Json, path: str) -> Errors:
    """Check the security context of a pod, and its use of the node's namespaces."""
    context = spec.get("securityContext") or {}
    where = f"{path}.securityContext"
    found: Errors = []
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{where}.shareProcessNamespace", True, detail))
    if context:
        found += _POD_IDS(context, where)
        found += _sysctls(context.get("sysctls") or [], f"{where}.sysctls", spec)
        policy = optional(choice("Always", "OnRootMismatch"))
        found += policy(context.get("fsGroupChangePolicy"), f"{where}.fsGroupChangePolicy")
        found += _seccomp(context.get("seccompProfile"), f"{where}.seccompProfile")
        found += check_windows(context.get("windowsOptions"), f"{where}.windowsOptions")
        found += _app_armor(context.get("appArmorProfile"), f"{where}.appArmorProfile")
        found += _POLICIES(context, where)
    return found


def _sysctls(sysctls: list[Json], path: str, spec: Json) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, item in enumerate(sysctls):
        where, name = f"{path}[{index}].name", item.get("name", "")
        if not name:
            found.append(required(where))
        elif len(name) > _SYSCTL_LIMIT or not _SYSCTL.fullmatch(name):
            found.append(invalid(where, name, _SYSCTL_TEXT))
        elif name in seen:
            found.append(invalid(where, name, "duplicate sysctl"))
        elif name.startswith("net.") and spec.get("hostNetwork"):
            detail = "may not be specified when 'hostNetwork' is true"
            found.append(invalid(where, name, detail))
        elif name.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")) and spec.get("hostIPC"):
            found.append(invalid(where, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
    return found


def _seccomp(profile: Json | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if not kind:
        found = [required(f"{path}.type", "type is required when seccompProfile is set")]
    else:
        found = one_of(kind, f"{path}.type", _PROFILES)
    if kind != "Localhost":
        quote = {"Type": kind, "LocalhostProfile": local}
        detail = "can only be set when seccomp type is Localhost"
        return found + ([] if local is None else [invalid(where, quote, detail)])
    if local is None:
        return [*found, required(where, "must be set when seccomp type is Localhost")]
    return [*found, *local_path(local, where)]


def _app_armor(profile: Json | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind == "Localhost":
        if local is None or not local.strip():
            return [required(where, "must be set when AppArmor type is Localhost")]
        padded = local != local.strip()
        return [invalid(where, local, "must not be padded with whitespace")] if padded else []
    if kind in _PROFILES and local is not None:
        return [invalid(where, local, "can only be set when AppArmor type is Localhost")]
    return one_of(kind, f"{path}.type", _PROFILES)


def check_container_security(context: Json | None, path: str, *, uses_host_users: bool) -> Errors:
    """Check the security context of a container."""
    if not context:
        return []
    found: Errors = []
    if context.get("privileged"):
        found.append(forbidden(f"{path}.privileged", PRIVILEGED))
    found += _IDS(context, path)
    mount = context.get("procMount")
    found += optional(choice("Default", "Unmasked"))(mount, f"{path}.procMount")
    if mount == "Unmasked" and uses_host_users:
        detail = "`hostUsers` must be false to use `Unmasked`"
        found.append(invalid(f"{path}.procMount", mount, detail))
    found += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        found += _escalation(context, path)
    found += check_windows(context.get("windowsOptions"), f"{path}.windowsOptions")
    return found + _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def allowing_privileged(errors: Iterable[FieldError]) -> Errors:
    """Return the errors on a server that allows privileged containers, as usual installers do."""
    return [each for each in errors if not each.message.endswith(PRIVILEGED)]


def _escalation(context: Json, path: str) -> Errors:
    """Check for settings that contradict a container that must not gain privileges."""
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        return [invalid(path, internal_form(_CONTEXT, context), detail)]
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        detail = (
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        )
        return [invalid(path, internal_form(_CONTEXT, context), detail)]
    return []
