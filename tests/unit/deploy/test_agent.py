"""The manifests of the node agent: their arguments, and what the enforcing one may do more."""

from pathlib import Path
from typing import Any

import pytest

from stretto.api.edit.yaml_text import load_documents
from stretto.cli.commands.agent import agent

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
NAMES = ["agent.yaml", "agent-enforce.yaml"]
Rule = tuple[str, str, str]


def one(kind: str, name: str) -> dict[str, Any]:
    """The only object of a kind in a manifest."""
    text = (DEPLOY / name).read_text(encoding="utf-8")
    (found,) = [each for _, each in load_documents(text, name) if each and each["kind"] == kind]
    return found


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = one("DaemonSet", name)["spec"]["template"]["spec"]
    return spec


def rights(name: str) -> set[Rule]:
    return {
        (group, resource, verb)
        for rule in one("ClusterRole", name)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def writable(name: str) -> set[str]:
    mounts = pod(name)["containers"][0]["volumeMounts"]
    return {each["mountPath"] for each in mounts if not each.get("readOnly")}


@pytest.mark.parametrize(("name", "enforce"), [("agent.yaml", "off"), ("agent-enforce.yaml", "on")])
def test_the_arguments_are_options_of_the_agent(name: str, enforce: str, tmp_path: Path) -> None:
    first, *rest = pod(name)["containers"][0]["args"]
    words = [str(tmp_path) if word == "/host" else word for word in rest]
    assert first == "agent"
    assert agent.make_context("agent", words).params["enforce"] == enforce


@pytest.mark.parametrize("name", NAMES)
def test_no_container_has_capabilities_or_a_writable_root(name: str) -> None:
    context = pod(name)["containers"][0]["securityContext"]
    assert (context["readOnlyRootFilesystem"], context["capabilities"]) == (True, {"drop": ["ALL"]})
    assert not context["allowPrivilegeEscalation"]
    assert not {"hostPID", "hostNetwork", "hostIPC"} & pod(name).keys()


def test_enforcing_needs_one_more_right_and_two_writable_mounts() -> None:
    assert rights("agent-enforce.yaml") - rights("agent.yaml") == {("", "pods/eviction", "create")}
    assert writable("agent.yaml") == set()
    assert writable("agent-enforce.yaml") == {"/host/sys/fs/cgroup", "/run/stretto-agent"}


def test_every_mount_has_its_volume() -> None:
    for name in NAMES:
        volumes = {each["name"] for each in pod(name)["volumes"]}
        assert {each["name"] for each in pod(name)["containers"][0]["volumeMounts"]} == volumes
