"""Rules of the operating system of a pod, and of its use of the namespaces of its node."""

import re
from collections.abc import Iterator
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from stretto.api.checks.fields.texts import dns_subdomain
from stretto.api.checks.kinds.values import Json

PRIVILEGED: Final = "disallowed by cluster policy"
"""Reason for refusing a privileged container on a server that allows none."""
_SYSTEMS: Final = ("linux", "windows")
_OVERRIDE: Final = 64
_NOT_LINUX: Final = "windows options cannot be set for a linux pod"
_NOT_WINDOWS: Final = "cannot be set for a windows pod"
_POD_CONTEXT: Final = "securityContext."
_LINUX_ONLY: Final = (
    "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID",
    "hostIPC", "securityContext.seccompProfile", "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy", "securityContext.sysctls", "shareProcessNamespace",
    "securityContext.runAsUser", "securityContext.runAsGroup",
    "securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)  # fmt: skip
"""Members of a pod that a pod for Windows cannot set."""
_CONTAINER_LINUX_ONLY: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser",
    "runAsGroup",
)  # fmt: skip
"""Members of the security context of a container that a pod for Windows cannot set."""
_FLAGS: Final = frozenset({"hostPID", "hostIPC"})
"""Members that are set only if they are true."""


def containers_with_paths(spec: Json, path: str) -> Iterator[tuple[Json, str]]:
    """Yield all containers of a pod with their paths, init containers first."""
    for word in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(word) or ()):
            yield container, f"{path}.{word}[{index}]"


def check_host_users(spec: Json, path: str) -> Errors:
    """Check that a pod with its own users does not use other namespaces of its node."""
    if spec.get("hostUsers") is not False:
        return []
    detail = "when `hostUsers` is false"
    words = ("hostNetwork", "HostPID", "HostIPC")
    found = [forbidden(f"{path}.{word}", detail) for word in words if spec.get(f"h{word[1:]}")]
    return found + [
        forbidden(f"{where}.volumeDevices", detail)
        for container, where in containers_with_paths(spec, path)
        if container.get("volumeDevices")
    ]


def check_host_name(spec: Json, path: str) -> Errors:
    """Check the name that replaces the hostname of a pod."""
    name, where = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return []
    found: Errors = []
    for word, other in (("setHostnameAsFQDN", "setHostnameAsFQDN"), ("hostNetwork", "hostNetwork")):
        if spec.get(word):
            found.append(forbidden(where, f"may not be specified when {other} is true"))
    if len(name) > _OVERRIDE:
        found.append(too_long(where, _OVERRIDE))
    return found + [invalid(where, name, each) for each in dns_subdomain(name)]


def check_system(spec: Json, path: str) -> Errors:
    """Check the operating system of a pod, and that it has all settings of the pod."""
    if spec.get("os") is None:
        return []
    name = spec["os"].get("name", "")
    if not name:
        return [required(f"{path}.os.name")]
    if name not in _SYSTEMS:
        return [unsupported(f"{path}.os", name, _SYSTEMS)]
    return _linux(spec, path) if name == "linux" else _windows_only(spec, path)


def _linux(spec: Json, path: str) -> Errors:
    holders = [(spec, path), *containers_with_paths(spec, path)]
    return [
        forbidden(f"{where}.securityContext.windowsOptions", _NOT_LINUX)
        for holder, where in holders
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _windows_only(spec: Json, path: str) -> Errors:
    found: Errors = []
    context = spec.get("securityContext") or {}
    for name in _LINUX_ONLY:
        short = name.removeprefix(_POD_CONTEXT)
        value = (spec if short == name else context).get(short)
        if value if name in _FLAGS else value is not None:
            found.append(forbidden(f"{path}.{name}", _NOT_WINDOWS))
    return found + [
        forbidden(f"{where}.securityContext.{name}", _NOT_WINDOWS)
        for container, where in containers_with_paths(spec, path)
        for name in _CONTAINER_LINUX_ONLY
        if (container.get("securityContext") or {}).get(name) is not None
    ]


_USER: Final = "runAsUserName"
_SPEC_LIMIT: Final = 64 << 10
_DOMAIN_LIMIT: Final = 256
_USER_LIMIT: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NET_BIOS: Final = re.compile(r"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{0,14}")
_DNS_PART: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN: Final = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*")
_BAD_USER: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOTS: Final = re.compile(r"[. ]+")


def check_windows(options: Json | None, path: str) -> Errors:
    """Check the options for Windows."""
    if options is None:
        return []
    found: Errors = []
    name, content = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        where = f"{path}.gmsaCredentialSpecName"
        found += [invalid(where, name, each) for each in dns_subdomain(name)]
    where = f"{path}.gmsaCredentialSpec"
    if content == "":
        found.append(invalid(where, content, "gmsaCredentialSpec cannot be an empty string"))
    elif content is not None and len(content) > _SPEC_LIMIT:
        found.append(invalid(where, content, "gmsaCredentialSpec size must be under 64 KiB"))
    user = options.get(_USER)
    problems = () if user is None else _user_problems(user)
    return found + [invalid(f"{path}.{_USER}", user, f"{_USER}{each}") for each in problems]


def _user_problems(text: str) -> Iterator[str]:
    """Yield the problems of a user of Windows, with or without a domain."""
    parts = text.split("\\")
    if not text:
        yield " cannot be an empty string"
    elif _CONTROL.search(text):
        yield " cannot contain control characters"
    elif len(parts) > len(("domain", "user")):
        yield " cannot contain more than one backslash"
    else:
        yield from _domain_problems(parts[:-1])
        user = parts[-1]
        if not user:
            yield "'s User cannot be empty"
        elif len(user) > _USER_LIMIT:
            yield f"'s User length must not be longer than {_USER_LIMIT} characters"
        if _DOTS.fullmatch(user):
            yield "'s User cannot contain only periods or spaces"
        if _BAD_USER.search(user):
            yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def _domain_problems(domains: list[str]) -> Iterator[str]:
    for domain in domains:
        if len(domain) >= _DOMAIN_LIMIT:
            yield f"'s Domain length must be under {_DOMAIN_LIMIT} characters"
        if not _NET_BIOS.fullmatch(domain) and not _DNS_DOMAIN.fullmatch(domain):
            yield "'s Domain doesn't match the NetBios nor the DNS format"


def check_host_processes(spec: Json, path: str) -> Errors:
    """Check that all containers of a pod are host processes of Windows, or none is."""
    whole = _host_process(spec)
    found: Errors = []
    count = hosted = 0
    for container, where in containers_with_paths(spec, path):
        own = _host_process(container)
        if None not in (whole, own) and whole != own:
            here = f"{where}.securityContext.windowsOptions.hostProcess"
            text = "pod hostProcess value must be identical if both are specified, was"
            found.append(invalid(here, own, f"{text} {str(whole).lower()}"))
        count += 1
        hosted += bool(whole if own is None else own)
    if not hosted:
        return found
    if hosted != count:
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        found.append(invalid(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid(f"{path}.hostNetwork", False, detail))
    return [*found, forbidden(path, f"hostProcess containers are {PRIVILEGED}")]


def _host_process(value: Json) -> bool | None:
    """Return whether a pod or a container states to be a host process; ``None`` if neither."""
    options = (value.get("securityContext") or {}).get("windowsOptions") or {}
    stated: bool | None = options.get("hostProcess")
    return stated
