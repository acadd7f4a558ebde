"""The checks of each level and version, and their findings in a pod."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from stretto.api.admission.security import baseline, restricted
from stretto.api.admission.security.findings import Find, PodView, SecurityFinding
from stretto.api.admission.security.levels import SecurityLevel, VersionedLevel


@dataclass(frozen=True)
class SecurityCheck:
    """A check, with its forms in different versions."""

    #: Name; checks of a level run in the order of their names.
    name: str
    #: (first minor version, form), oldest first.
    forms: tuple[tuple[int, Find], ...]
    #: Name of the ``baseline`` check that it replaces.
    replaces: str = ""

    def form(self, minor: int) -> Find | None:
        """The form in a version; ``None`` if the check does not exist in this version."""
        found = [find for since, find in self.forms if since <= minor]
        return found[-1] if found else None


def _not_on_windows(find: Find) -> Find:
    return lambda view: None if view.is_windows else find(view)


def _of_shared_users(find: Find) -> Find:
    return lambda view: None if view.has_user_namespace else find(view)


def _at(since: int, find: Find) -> tuple[tuple[int, Find], ...]:
    return ((since, find),)


def _windows_free(since: int, find: Find) -> tuple[tuple[int, Find], ...]:
    return ((since, find), (25, _not_on_windows(find)))


def _user_free(since: int, find: Find) -> tuple[tuple[int, Find], ...]:
    return ((since, find), (35, _of_shared_users(find)))


_BASELINE: Final = (
    SecurityCheck("appArmorProfile", _at(0, baseline.app_armor)),
    SecurityCheck("capabilities_baseline", _at(0, baseline.capabilities)),
    SecurityCheck("hostNamespaces", _at(0, baseline.host_namespaces)),
    SecurityCheck("hostPathVolumes", _at(0, baseline.host_paths)),
    SecurityCheck("hostPorts", _at(0, baseline.host_ports)),
    SecurityCheck("hostProbesAndHostLifecycle", _at(34, baseline.probe_hosts)),
    SecurityCheck("privileged", _at(0, baseline.privileged)),
    SecurityCheck("procMount", _user_free(0, baseline.proc_mount)),
    SecurityCheck("seLinuxOptions", ((0, baseline.selinux), (31, baseline.selinux_with_engine))),
    SecurityCheck(
        "seccompProfile_baseline", ((0, baseline.seccomp_annotations), (19, baseline.seccomp))
    ),
    SecurityCheck(
        "sysctls",
        tuple((since, partial(baseline.sysctls, since)) for since in (0, 27, 29, 32)),
    ),
    SecurityCheck("windowsHostProcess", _at(0, baseline.windows_host_process)),
)
_RESTRICTED: Final = (
    SecurityCheck("allowPrivilegeEscalation", _windows_free(8, restricted.privilege_escalation)),
    SecurityCheck(
        "capabilities_restricted",
        _windows_free(22, restricted.capabilities),
        "capabilities_baseline",
    ),
    SecurityCheck("procMount_restricted", _at(35, baseline.proc_mount), "procMount"),
    SecurityCheck("restrictedVolumes", _at(0, restricted.volume_types), "hostPathVolumes"),
    SecurityCheck("runAsNonRoot", _user_free(0, restricted.non_root)),
    SecurityCheck("runAsUser", _user_free(23, restricted.root_user)),
    SecurityCheck(
        "seccompProfile_restricted",
        _windows_free(19, restricted.seccomp_profile),
        "seccompProfile_baseline",
    ),
)


@cache
def _checks(level: SecurityLevel, minor: int) -> tuple[Find, ...]:
    """The checks of a level in order; checks of ``baseline`` are first."""
    if level is SecurityLevel.PRIVILEGED:
        return ()
    strict = _RESTRICTED if level is SecurityLevel.RESTRICTED else ()
    present = [each for each in strict if each.form(minor) is not None]
    replaced = {each.replaces for each in present}
    chosen = [each for each in _BASELINE if each.name not in replaced] + present
    return tuple(find for each in chosen if (find := each.form(minor)) is not None)


def violations(level: VersionedLevel, view: PodView) -> list[SecurityFinding]:
    """Return the violations of a level by a pod."""
    found = (find(view) for find in _checks(level.level, level.effective_minor))
    return [each for each in found if each is not None]


def described(findings: list[SecurityFinding]) -> str:
    """Format findings with their details, as in a refusal."""
    return ", ".join(
        f"{each.reason} ({each.detail})" if each.detail else each.reason for each in findings
    )
