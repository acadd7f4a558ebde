"""Checks of the level ``restricted``: current best practice of pod hardening."""

from typing import Any, Final

from stretto.api.admission.security.baseline import added_capabilities, bad_seccomp, seccomp
from stretto.api.admission.security.findings import (
    PodView,
    SecurityFinding,
    containers_text,
    counted,
    listed,
    setters,
)

Json = dict[str, Any]

_VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
        "persistentVolumeClaim", "projected", "secret",
    }
)  # fmt: skip
_BIND: Final = frozenset({"NET_BIND_SERVICE"})


def privilege_escalation(view: PodView) -> SecurityFinding | None:
    """Find processes that can gain more privileges than their parent."""
    names = view.named(lambda security: security.get("allowPrivilegeEscalation") is not False)
    rest = "must set securityContext.allowPrivilegeEscalation=false"
    detail = f"{containers_text(names)} {rest}"
    return SecurityFinding("allowPrivilegeEscalation != false", detail) if names else None


def capabilities(view: PodView) -> SecurityFinding | None:
    """Find capabilities that are not dropped, or added beyond binding to low ports."""
    names = view.named(
        lambda security: "ALL" not in ((security.get("capabilities") or {}).get("drop") or ())
    )
    details = []
    if names:
        details.append(
            f'{containers_text(names)} must set securityContext.capabilities.drop=["ALL"]'
        )
    added = added_capabilities(view, _BIND, "")
    if added is not None:
        details.append(added.detail)
    return SecurityFinding("unrestricted capabilities", "; ".join(details)) if details else None


def volume_types(view: PodView) -> SecurityFinding | None:
    """Find volumes of types that are not portable."""
    volumes = view.spec.get("volumes") or ()
    bad = [each for each in volumes if not _VOLUMES & _sources(each)]
    if not bad:
        return None
    names = [each.get("name", "") for each in bad]
    types = sorted({min(_sources(each), default="unknown") for each in bad})
    verb, noun = counted("uses", names, "use"), counted("restricted volume type", types)
    detail = f"{counted('volume', names)} {listed(names)} {verb} {noun} {listed(types)}"
    return SecurityFinding("restricted volume types", detail)


def _sources(volume: Json) -> set[str]:
    return {key for key, each in volume.items() if key != "name" and each is not None}


def non_root(view: PodView) -> SecurityFinding | None:
    """Find containers that may run as root."""
    reason = "runAsNonRoot != true"
    where = setters(view, lambda security: security.get("runAsNonRoot") is False)
    if where:
        return SecurityFinding(reason, f"{where} must not set securityContext.runAsNonRoot=false")
    if view.security.get("runAsNonRoot"):
        return None
    names = view.named(lambda security: security.get("runAsNonRoot") is None)
    if not names:
        return None
    rest = "must set securityContext.runAsNonRoot=true"
    return SecurityFinding(reason, f"pod or {containers_text(names)} {rest}")


def root_user(view: PodView) -> SecurityFinding | None:
    """Find containers that run as root."""
    where = setters(view, lambda security: security.get("runAsUser") == 0)
    return SecurityFinding("runAsUser=0", f"{where} must not set runAsUser=0") if where else None


def seccomp_profile(view: PodView) -> SecurityFinding | None:
    """Find containers without an explicit seccomp profile."""
    found = seccomp(view)
    if found is not None:
        return found
    if view.security.get("seccompProfile") is not None and bad_seccomp(view.security) is None:
        return None
    names = view.named(lambda security: security.get("seccompProfile") is None)
    if not names:
        return None
    rest = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return SecurityFinding("seccompProfile", f"pod or {containers_text(names)} {rest}")
