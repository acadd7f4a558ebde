"""Checks of the level ``baseline``: known privilege escalations out of a container."""

from typing import Any, Final

from stretto.api.admission.security.findings import (
    PodView,
    SecurityFinding,
    containers_text,
    counted,
    listed,
    setters,
    values_of,
)

Json = dict[str, Any]

_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
_SYSCTLS: Final = (
    (0, ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies")),
    (0, ("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start")),
    (27, ("net.ipv4.ip_local_reserved_ports",)),
    (29, ("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout")),
    (29, ("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes")),
    (32, ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")),
)
"""Minor version, and the sysctls that are allowed since then."""
_SELINUX: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_CONFINED: Final = ("Localhost", "RuntimeDefault")


def app_armor(view: PodView) -> SecurityFinding | None:
    """Find AppArmor profiles other than those of the runtime or of the node."""

    def is_bad(security: Json) -> bool:
        profile = security.get("appArmorProfile")
        return profile is not None and profile.get("type") not in _CONFINED

    def value(security: Json) -> str | None:
        return str(security["appArmorProfile"].get("type") or "") if is_bad(security) else None

    where, values = setters(view, is_bad), values_of(view, value)
    notes = sorted(
        f'{key}="{each}"'
        for key, each in (view.metadata.get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR)
        and each not in ("", "runtime/default")
        and not each.startswith("localhost/")
    )
    if notes:
        values += notes
        where = " and ".join([*([where] if where else []), counted("annotation", notes)])
    if not where:
        return None
    reason = counted("forbidden AppArmor profile", values)
    return SecurityFinding(
        reason, f"{where} must not set AppArmor profile type to {listed(values)}"
    )


def capabilities(view: PodView) -> SecurityFinding | None:
    """Find capabilities beyond the default ones of a container."""
    return added_capabilities(view, _CAPABILITIES, "non-default capabilities")


def added_capabilities(
    view: PodView, allowed: frozenset[str], reason: str
) -> SecurityFinding | None:
    """Find containers that add capabilities which are not allowed."""

    def extra(security: Json) -> set[str]:
        return set((security.get("capabilities") or {}).get("add") or ()) - allowed

    names = view.named(lambda security: bool(extra(security)))
    if not names:
        return None
    values = sorted({each for _, _, security in view.containers() for each in extra(security)})
    rest = f"must not include {listed(values)} in securityContext.capabilities.add"
    return SecurityFinding(reason, f"{containers_text(names)} {rest}")


def host_namespaces(view: PodView) -> SecurityFinding | None:
    """Find use of the node's network, process or IPC namespace."""
    found = [
        f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if view.spec.get(name)
    ]
    return SecurityFinding("host namespaces", ", ".join(found)) if found else None


def host_paths(view: PodView) -> SecurityFinding | None:
    """Find hostPath volumes."""
    volumes = view.spec.get("volumes") or ()
    found = [each.get("name", "") for each in volumes if each.get("hostPath") is not None]
    detail = f"{counted('volume', found)} {listed(found)}"
    return SecurityFinding("hostPath volumes", detail) if found else None


def host_ports(view: PodView) -> SecurityFinding | None:
    """Find host ports."""
    names, ports = [], set()
    for name, container, _ in view.containers():
        found = {
            str(each["hostPort"]) for each in container.get("ports") or () if each.get("hostPort")
        }
        ports |= found
        names += [name] if found else []
    if not names:
        return None
    verb, noun = counted("uses", names, "use"), counted("hostPort", sorted(ports))
    return SecurityFinding(
        "hostPort", f"{containers_text(names)} {verb} {noun} {', '.join(sorted(ports))}"
    )


def probe_hosts(view: PodView) -> SecurityFinding | None:
    """Find probes and hooks that reach other hosts than the pod."""
    names, hosts = set(), set()
    for name, container, _ in view.containers():
        lifecycle = container.get("lifecycle") or {}
        actions = [container.get(f"{each}Probe") for each in ("liveness", "readiness", "startup")]
        actions += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        found = {
            str((action.get(kind) or {}).get("host") or "")
            for action in actions
            if action
            for kind in ("httpGet", "tcpSocket")
        } - {""}
        hosts |= found
        names |= {name} if found else set()
    if not names:
        return None
    known, targets = sorted(names), sorted(hosts)
    verb, noun = counted("uses", known, "use"), counted("probe or lifecycle host", targets)
    detail = f"{containers_text(known)} {verb} {noun} {listed(targets)}"
    return SecurityFinding("probe or lifecycle host", detail)


def privileged(view: PodView) -> SecurityFinding | None:
    """Find privileged containers."""
    names = view.named(lambda security: bool(security.get("privileged")))
    detail = f"{containers_text(names)} must not set securityContext.privileged=true"
    return SecurityFinding("privileged", detail) if names else None


def proc_mount(view: PodView) -> SecurityFinding | None:
    """Find values of ``procMount`` other than the default."""

    def value(security: Json) -> str | None:
        found = security.get("procMount")
        return None if found in (None, "Default") else str(found)

    names = view.named(lambda security: value(security) is not None)
    if not names:
        return None
    found = {value(security) for _, _, security in view.containers()}
    values = sorted(each for each in found if each is not None)
    rest = f"must not set securityContext.procMount to {listed(values)}"
    return SecurityFinding("procMount", f"{containers_text(names)} {rest}")


def selinux(view: PodView) -> SecurityFinding | None:
    """Find SELinux types, users or roles that only the node's administrator may use."""
    return _selinux(view, _SELINUX)


def selinux_with_engine(view: PodView) -> SecurityFinding | None:
    """Find the same as ``selinux``; the type of container engines is allowed too."""
    return _selinux(view, _SELINUX | {"container_engine_t"})


def _selinux(view: PodView, allowed: frozenset[str]) -> SecurityFinding | None:
    def bad_type(security: Json) -> str | None:
        found = (security.get("seLinuxOptions") or {}).get("type") or ""
        return None if found in allowed else str(found)

    def states(security: Json, name: str) -> bool:
        return bool((security.get("seLinuxOptions") or {}).get(name))

    def is_bad(security: Json) -> bool:
        stated = states(security, "user") or states(security, "role")
        return stated or bad_type(security) is not None

    where, types = setters(view, is_bad), values_of(view, bad_type)
    if not where:
        return None
    contexts = [view.security, *(security for _, _, security in view.containers())]
    words = [f"{counted('type', types)} {listed(types)}"] if types else []
    words += [
        f"{name} may not be set"
        for name in ("user", "role")
        if any(states(each, name) for each in contexts)
    ]
    rest = f"set forbidden securityContext.seLinuxOptions: {'; '.join(words)}"
    return SecurityFinding("seLinuxOptions", f"{where} {rest}")


def seccomp_annotations(view: PodView) -> SecurityFinding | None:
    """Find forbidden seccomp profiles in annotations, which predate the fields."""
    notes = view.metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + name for name, _, _ in view.containers())]
    found = sorted(
        {
            f'{key}="{notes[key]}"'
            for key in keys
            if key in notes
            and notes[key] not in ("runtime/default", "docker/default")
            and not notes[key].startswith("localhost/")
        }
    )
    if not found:
        return None
    return SecurityFinding(
        "seccompProfile", f"forbidden {counted('annotation', found)} {', '.join(found)}"
    )


def bad_seccomp(security: Json) -> str | None:
    """Return the seccomp profile of a context if no level allows it."""
    profile = security.get("seccompProfile")
    if profile is None or profile.get("type") in _CONFINED:
        return None
    return str(profile.get("type") or "")


def seccomp(view: PodView) -> SecurityFinding | None:
    """Find forbidden seccomp profiles, which disable the system call filter."""
    where = setters(view, lambda security: bad_seccomp(security) is not None)
    if not where:
        return None
    values = listed(values_of(view, bad_seccomp))
    rest = f"must not set securityContext.seccompProfile.type to {values}"
    return SecurityFinding("seccompProfile", f"{where} {rest}")


def sysctls(minor: int, view: PodView) -> SecurityFinding | None:
    """Find sysctls that affect other pods."""
    allowed = {name for since, names in _SYSCTLS if since <= minor for name in names}
    stated = [each.get("name", "") for each in view.security.get("sysctls") or ()]
    found = [each for each in stated if each not in allowed]
    return SecurityFinding("forbidden sysctls", ", ".join(found)) if found else None


def windows_host_process(view: PodView) -> SecurityFinding | None:
    """Find HostProcess containers of Windows."""
    where = setters(
        view, lambda security: bool((security.get("windowsOptions") or {}).get("hostProcess"))
    )
    rest = "must not set securityContext.windowsOptions.hostProcess=true"
    return SecurityFinding("hostProcess", f"{where} {rest}") if where else None
