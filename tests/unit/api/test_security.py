"""Pod security standards: what each check finds, by level and version."""

from typing import Any

import pytest

from stretto.api.admission.security.findings import PodView
from stretto.api.admission.security.levels import SecurityLevel, VersionedLevel
from stretto.api.admission.security.standards import described, violations


def pod(security: Any = None, container: Any = None, **spec: Any) -> PodView:
    found = {"name": "c", "securityContext": security or {}, **(container or {})}
    return PodView({}, {"containers": [found], **spec})


def baseline(view: PodView, minor: int | None = None) -> str:
    return described(violations(VersionedLevel(SecurityLevel.BASELINE, minor), view))


def restricted(view: PodView, minor: int | None = None) -> list[str]:
    found = violations(VersionedLevel(SecurityLevel.RESTRICTED, minor), view)
    return [each.reason for each in found]


CASES = [
    (pod({"privileged": True}), 'privileged (container "c" must not set'),
    (pod({"procMount": "Unmasked"}), 'procMount (container "c" must not set'),
    (pod({"seLinuxOptions": {"type": "x"}}), 'container "c" set forbidden securityContext.seLinux'),
    (pod(securityContext={"seLinuxOptions": {"user": "u"}}), "pod set forbidden"),
    (pod({"appArmorProfile": {"type": "Unconfined"}}), 'forbidden AppArmor profile (container "c"'),
    (pod(container={"ports": [{"hostPort": 8}, {"hostPort": 9}]}), "uses hostPorts 8, 9"),
    (pod(container={"livenessProbe": {"httpGet": {"host": "h"}}}), 'probe or lifecycle host "h"'),
    (pod({"windowsOptions": {"hostProcess": True}}), 'hostProcess (container "c"'),
    (pod({"capabilities": {"add": ["B", "A"]}}), 'must not include "A", "B"'),
    (pod({"seccompProfile": {"type": "Unconfined"}}), "seccompProfile.type"),
    (pod(securityContext={"sysctls": [{"name": "kernel.x"}]}), "forbidden sysctls (kernel.x)"),
    (pod(volumes=[{"name": "v", "hostPath": {}}]), 'hostPath volumes (volume "v")'),
    (pod(hostPID=True, hostIPC=True), "host namespaces (hostPID=true, hostIPC=true)"),
]


@pytest.mark.parametrize(("view", "text"), CASES)
def test_baseline_names_what_it_does_not_allow(view: PodView, text: str) -> None:
    assert text in baseline(view)


def test_the_privileged_level_allows_everything() -> None:
    assert violations(VersionedLevel(), pod({"privileged": True}, hostPID=True)) == []


def test_old_versions_have_fewer_checks() -> None:
    view = pod(container={"startupProbe": {"tcpSocket": {"host": "h"}}})
    assert baseline(view, 33) == ""
    assert baseline(view, 34) != ""


def test_a_sysctl_is_allowed_from_its_version_on() -> None:
    view = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    assert (baseline(view, 31), baseline(view, 32)) == ("forbidden sysctls (net.ipv4.tcp_rmem)", "")


def test_annotations_of_seccomp_count_before_its_field() -> None:
    view = PodView({"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}, {})
    assert "forbidden annotation" in baseline(view, 18)
    assert baseline(view, 19) == ""


def test_a_user_namespace_makes_root_harmless() -> None:
    security = {"securityContext": {"runAsUser": 0}}
    assert "runAsUser=0" in restricted(pod(**security))
    assert "runAsUser=0" not in restricted(pod(hostUsers=False, **security))


def test_windows_has_no_capabilities() -> None:
    assert restricted(pod(os={"name": "windows"})) == ["runAsNonRoot != true"]


def test_volumes_of_unusual_types_are_restricted() -> None:
    view = pod(volumes=[{"name": "a", "nfs": {}}, {"name": "b", "emptyDir": {}}])
    assert "restricted volume types" in restricted(view)


def test_a_restricted_check_replaces_that_of_baseline() -> None:
    view = pod({"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}})
    assert "unrestricted capabilities" in restricted(view)
    assert "non-default capabilities" not in restricted(view)
