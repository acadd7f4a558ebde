"""The manifests of the master fit one another, the command line and the rights of the scheduler."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.base.errors import InputError
from stretto.cli.commands.master import master
from stretto.cli.parts.masters.cluster import advertised
from stretto.daemons.master import ClusterMasterConfig
from stretto.framework.profile.profile import load_profile

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


@cache
def objects(name: str) -> list[dict[str, Any]]:
    return [e for e in yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")) if e]


def named(file: str, kind: str, name: str = "stretto-master") -> dict[str, Any]:
    (found,) = [e for e in objects(file) if (e["kind"], e["metadata"]["name"]) == (kind, name)]
    return found


def pod() -> dict[str, Any]:
    found: dict[str, Any] = named("master.yaml", "StatefulSet")["spec"]["template"]
    return found


def container() -> dict[str, Any]:
    found: dict[str, Any] = pod()["spec"]["containers"][0]
    return found


def arguments() -> dict[str, Any]:
    first, *rest = container()["args"]
    assert first == "master"
    files = ("--tls-cert", "--tls-key", "--credentials")  # they exist in the pod only
    kept = [each for each in rest if not each.startswith(files)]
    found: dict[str, Any] = master.make_context("master", kept).params
    return found


def test_the_arguments_are_options_of_the_master() -> None:
    assert arguments()["cluster"] is True
    assert arguments()["leader_elect"] is True
    assert arguments()["namespace"] == named("master.yaml", "StatefulSet")["metadata"]["namespace"]


def test_files_are_read_where_secrets_and_the_profile_are_mounted() -> None:
    mounts = tuple(each["mountPath"] + "/" for each in container()["volumeMounts"])
    files = [each.partition("=")[2] for each in container()["args"]]
    assert all(each.startswith(mounts) for each in files if each.startswith("/"))


def test_the_profile_is_one(tmp_path: Path) -> None:
    data = named("master.yaml", "ConfigMap", "stretto-master-profile")["data"]
    (tmp_path / "profile.yaml").write_text(data["profile.yaml"], encoding="utf-8")
    assert load_profile(str(tmp_path / "profile.yaml")).scheduler_names == ("stretto",)


def test_standbys_redirect_to_names_of_the_headless_service() -> None:
    headless = named("master.yaml", "StatefulSet")["spec"]["serviceName"]
    service = named("master.yaml", "Service", headless)
    assert service["spec"]["clusterIP"] == "None"
    host = f"$(POD_NAME).{headless}.{service['metadata']['namespace']}.svc"
    assert arguments()["advertise"] == host
    assert {each["name"] for each in container()["env"]} == {"POD_NAME"}


def test_every_port_is_that_of_the_master() -> None:
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert ports == {"master": arguments()["port"]}
    for name in ("stretto-master", "stretto-master-pods"):
        (port,) = named("master.yaml", "Service", name)["spec"]["ports"]
        assert (port["port"], port["targetPort"]) == (arguments()["port"], "master")
    probes = [container()[f"{each}Probe"]["httpGet"] for each in ("startup", "liveness")]
    assert {(each["port"], each["path"]) for each in probes} == {("master", "/health")}


def test_whatever_selects_the_pods_finds_them() -> None:
    labels = pod()["metadata"]["labels"]
    selectors = [
        named("master.yaml", "StatefulSet")["spec"]["selector"]["matchLabels"],
        named("master.yaml", "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        named("master.yaml", "Service")["spec"]["selector"],
        named("master.yaml", "Service", "stretto-master-pods")["spec"]["selector"],
    ]
    assert all(each.items() <= labels.items() and each for each in selectors)


def test_no_container_may_more_than_it_needs() -> None:
    assert pod()["spec"]["securityContext"]["runAsNonRoot"] is True
    for each in (*pod()["spec"]["initContainers"], container()):
        narrow = each["securityContext"]
        assert narrow["readOnlyRootFilesystem"] is True
        assert narrow["allowPrivilegeEscalation"] is False
        assert narrow["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} <= set(each["resources"])


def test_the_rights_are_those_of_the_scheduler_without_metrics() -> None:
    reviews = {"tokenreviews", "subjectaccessreviews"}
    scheduler = named("rbac-scheduler.yaml", "ClusterRole", "stretto-scheduler")["rules"]
    kept = [each for each in scheduler if not reviews & set(each["resources"])]
    assert named("rbac-master.yaml", "ClusterRole")["rules"] == kept


def test_tasks_state_and_lease_are_in_one_namespace() -> None:
    role = named("rbac-master.yaml", "Role")
    assert role["metadata"]["namespace"] == arguments()["namespace"]
    (lease,) = {n for rule in role["rules"] for n in rule.get("resourceNames", ())}
    assert lease == ClusterMasterConfig.__struct_defaults__[-1]
    account = named("rbac-master.yaml", "ServiceAccount")["metadata"]
    assert pod()["spec"]["serviceAccountName"] == account["name"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        subject = named("rbac-master.yaml", kind)["subjects"][0]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])


@pytest.mark.parametrize(
    ("text", "ip", "address"),
    [
        ("", "10.1.2.3", "10.1.2.3:5050"),
        ("", "::1", "[::1]:5050"),
        ("m-0.masters.mesos.svc", "0.0.0.0", "m-0.masters.mesos.svc:5050"),
        ("m.example:443", "0.0.0.0", "m.example:443"),
    ],
)
def test_the_address_of_a_leader_is_what_it_advertises(text: str, ip: str, address: str) -> None:
    assert advertised(text, ip, 5050) == address


@pytest.mark.parametrize("text", ["", "a b", "http://m", "m:0", "m:70000", "m_1", "m:x"])
def test_an_address_that_is_none_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--advertise"):
        advertised(text, "0.0.0.0", 5050)
