"""The manifests fit one another, the command line, and the rights that are really used."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stretto.api.edit.yaml_text import load_documents
from stretto.api.types.workload_groups import FORMS
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.commands.scheduler import scheduler
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
IMAGE = re.compile(r"[a-z0-9-]+:[0-9]+\.[0-9]+\.[0-9]+")
"""A name and a version, and no host."""


@cache
def objects(name: str) -> list[dict[str, Any]]:
    """The objects of a file, as our own commands read it: without aliases."""
    text = (DEPLOY / name).read_text(encoding="utf-8")
    return [each for _, each in load_documents(text, name) if each]


def one(kind: str, name: str = "scheduler.yaml") -> dict[str, Any]:
    """The only object of a kind in a file."""
    (found,) = [each for each in objects(name) if each["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    """The pod that the Deployment makes."""
    found: dict[str, Any] = one("Deployment")["spec"]["template"]
    return found


def containers() -> Iterator[dict[str, Any]]:
    """Every container of it."""
    yield from pod()["spec"]["initContainers"]
    yield from pod()["spec"]["containers"]


def arguments() -> dict[str, Any]:
    """Return the options that the command line parses from the arguments."""
    first, *rest = pod()["spec"]["containers"][0]["args"]
    assert first == "scheduler"
    found: dict[str, Any] = scheduler.make_context("scheduler", rest).params
    return found


def test_the_arguments_are_options_of_the_scheduler() -> None:
    assert arguments()["bind_address"] == "0.0.0.0:10259"
    assert arguments()["leader_elect"] is True


def test_the_profile_is_one_and_is_mounted_where_it_is_expected(tmp_path: Path) -> None:
    data = one("ConfigMap")["data"]
    named = Path(arguments()["profile"])
    (tmp_path / named.name).write_text(data[named.name], encoding="utf-8")
    assert load_profile(str(tmp_path / named.name)).scheduler_names == ("stretto",)
    mounts = {each["mountPath"] for each in pod()["spec"]["containers"][0]["volumeMounts"]}
    assert str(named.parent) in mounts


def test_the_certificate_is_made_where_it_is_expected() -> None:
    named = {str(arguments()[each]) for each in ("tls_cert_file", "tls_private_key_file")}
    makes = next(c for c in pod()["spec"]["initContainers"] if c["name"] == "certificate")
    assert named <= set(makes["command"])


def test_the_lease_is_the_one_that_the_role_is_about() -> None:
    role = one("Role", "rbac-scheduler.yaml")
    (name,) = {n for rule in role["rules"] for n in rule.get("resourceNames", ())}
    assert arguments()["lease"] == f"{role['metadata']['namespace']}/{name}"


def test_the_account_is_the_one_that_has_the_rights() -> None:
    account = one("ServiceAccount", "rbac-scheduler.yaml")["metadata"]
    assert pod()["spec"]["serviceAccountName"] == account["name"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        subject = one(kind, "rbac-scheduler.yaml")["subjects"][0]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])


def test_whatever_selects_the_pods_finds_them() -> None:
    labels = pod()["metadata"]["labels"]
    selectors = [
        one("Deployment")["spec"]["selector"]["matchLabels"],
        one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one("Service")["spec"]["selector"],
    ]
    assert all(each.items() <= labels.items() and each for each in selectors)


def test_ports_are_named_where_they_are_requested() -> None:
    container = pod()["spec"]["containers"][0]
    named = {each["name"]: each["containerPort"] for each in container["ports"]}
    probes = [container[f"{each}Probe"]["httpGet"] for each in ("startup", "liveness", "readiness")]
    assert {each["port"] for each in probes} <= set(named)
    assert {each["scheme"] for each in probes} == {"HTTPS"}
    assert named["probes"] == int(arguments()["bind_address"].rpartition(":")[2])


def test_no_container_may_more_than_it_needs() -> None:
    whole = pod()["spec"]["securityContext"]
    assert whole["runAsNonRoot"] is True
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in containers():
        narrow = each["securityContext"]
        assert narrow["readOnlyRootFilesystem"] is True
        assert narrow["allowPrivilegeEscalation"] is False
        assert narrow["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} <= set(each["resources"])


def test_images_are_named_by_version_and_without_a_host() -> None:
    assert all(IMAGE.fullmatch(each["image"]) for each in containers())


def test_two_replicas_stand_and_one_may_be_away() -> None:
    assert one("Deployment")["spec"]["replicas"] == 2
    assert one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_what_is_followed_may_be_read_and_nothing_else(verb: str) -> None:
    granted = {
        f"{resource}.{group}".rstrip(".")
        for rule in one("ClusterRole", "rbac-scheduler.yaml")["rules"]
        if verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    listed_once = {"reservations.scheduling.godel.kubewharf.io"}
    where_installed = {kind.resource for kind in FORMS}
    every = followed("default") | followed("kube-parity")
    assert granted == every | listed_once | where_installed


def followed(profile: str) -> set[str]:
    """Resources that a plane with a profile follows."""
    clock = ManualClock()
    config = plane_config(load_profile(profile), (), 1, "numpy", REPORT)
    plane = Plane(config, MemoryStore(clock, Rng(1)), clock)
    return {feed.kind.resource for feed in plane.pump._feeds}


def test_no_right_is_granted_by_a_star() -> None:
    rules = [rule for each in objects("rbac-scheduler.yaml") for rule in each.get("rules", ())]
    assert not any("*" in rule[part] for rule in rules for part in ("resources", "verbs"))
    assert not any("secrets" in rule["resources"] for rule in rules)
