"""Volumes, claims and settings of the operating system are checked as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import CORE, PODS, ApiClient, pod
from tests.unit.web.api.test_workload_rules import causes, fields

Json = dict[str, Any]

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = f"{CORE}/persistentvolumeclaims"


def mounted(**source: Any) -> Json:
    return pod("p", volumes=[{"name": "v", **source}])


def volume(**spec: Any) -> Json:
    facts = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return {"metadata": {"name": "v"}, "spec": facts | spec}


def claim(**spec: Any) -> Json:
    size = {"requests": {"storage": "1Gi"}}
    facts = {"accessModes": ["ReadWriteOnce"], "resources": size}
    return {"metadata": {"name": "c"}, "spec": facts | spec}


def container(**members: Any) -> Json:
    return pod("p", containers=[{"name": "c", "image": "i", **members}])


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"fc": {"lun": 1}}, "fc.targetWWNs"),
        ({"fc": {"targetWWNs": ["a"]}}, "fc.lun"),
        ({"flocker": {}}, "flocker"),
        ({"gcePersistentDisk": {"pdName": "d", "partition": 256}}, "persistentDisk.partition"),
        ({"quobyte": {"registry": "no-port", "volume": "v"}}, "quobyte.registry"),
        ({"storageos": {"volumeName": "a/b"}}, "storageos.volumeName"),
        ({"azureDisk": {"diskName": "d", "diskURI": "ftp://d"}}, "azureDisk.diskURI"),
        ({"cinder": {"volumeID": "v", "secretRef": {}}}, "cinder.secretRef.name"),
    ],
)
def test_a_source_of_a_storage_system_is_checked(source: Json, field: str) -> None:
    assert fields(PODS, mounted(**source)) == [f"spec.volumes[0].{field}"]


def test_files_of_a_projected_volume_have_distinct_paths() -> None:
    sources = [{"secret": {"name": n, "items": [{"key": "k", "path": "f"}]}} for n in "ab"]
    ((_, message),) = causes(PODS, mounted(projected={"sources": sources}))
    assert message == 'Invalid value: "b": conflicting duplicate paths'


def test_the_template_of_a_claim_has_no_name() -> None:
    template = {"metadata": {"name": "n"}, "spec": claim()["spec"]}
    found = fields(PODS, mounted(ephemeral={"volumeClaimTemplate": template}))
    assert found == ["spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name"]


def test_a_secret_of_a_persistent_volume_has_a_namespace() -> None:
    found = fields(VOLUMES, volume(cinder={"volumeID": "v", "secretRef": {"name": "s"}}))
    assert found == ["spec.cinder.secretRef.namespace"]


def test_the_root_of_a_node_is_not_recycled() -> None:
    body = volume(hostPath={"path": "/a/.."}, persistentVolumeReclaimPolicy="Recycle")
    assert "spec.persistentVolumeReclaimPolicy" in fields(VOLUMES, body)


def test_the_older_data_source_of_a_claim_names_only_claims_and_snapshots() -> None:
    source = {"apiGroup": "example.com", "kind": "Backup", "name": "b"}
    assert "dataSource" not in ApiClient().send("POST", CLAIMS, claim(dataSource=source))[1]["spec"]


def test_both_data_sources_of_a_claim_agree() -> None:
    sources = [{"kind": "PersistentVolumeClaim", "name": name} for name in "ab"]
    body = claim(dataSource=sources[0], dataSourceRef=sources[1])
    assert causes(CLAIMS, body)[0][1].endswith("must match dataSourceRef")


def test_a_resource_claim_of_a_pod_has_one_reference() -> None:
    ((field, message),) = causes(PODS, pod("p", resourceClaims=[{"name": "c"}]))
    assert (field, "must specify one of" in message) == ("spec.resourceClaims[0]", True)


@pytest.mark.parametrize("user", ["", "a/b", "...", "a\\b\\c", "a?\\b"])
def test_a_user_of_windows_has_a_valid_name(user: str) -> None:
    context = {"windowsOptions": {"runAsUserName": user}}
    (found,) = fields(PODS, container(securityContext=context))
    assert found == "spec.containers[0].securityContext.windowsOptions.runAsUserName"


def test_host_processes_of_windows_use_the_network_of_their_node() -> None:
    context = {"windowsOptions": {"hostProcess": True}}
    found = fields(PODS, container(securityContext=context))
    assert "spec.hostNetwork" in found


@pytest.mark.parametrize(
    ("system", "context"), [("windows", {"runAsUser": 1}), ("linux", {"windowsOptions": {}})]
)
def test_a_pod_has_only_settings_of_its_operating_system(system: str, context: Json) -> None:
    (found,) = fields(PODS, pod("p", os={"name": system}, securityContext=context))
    assert found == f"spec.securityContext.{next(iter(context))}"


def test_a_pod_with_its_own_users_has_no_other_namespaces_of_its_node() -> None:
    assert fields(PODS, pod("p", hostUsers=False, hostPID=True)) == ["spec.HostPID"]


def test_rules_for_restarts_of_an_init_container_need_a_restart_policy() -> None:
    inits = [{"name": "i", "image": "i", "restartPolicyRules": [{}]}]
    (found,) = fields(PODS, pod("p", initContainers=inits))
    assert found == "spec.initContainers[0].restartPolicy"


def test_fields_of_disabled_features_are_dropped() -> None:
    body = container(lifecycle={"stopSignal": "SIGTERM"})
    body["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    spec = ApiClient().send("POST", PODS, body)[1]["spec"]
    assert "lifecycle" not in spec["containers"][0]
    assert "schedulingGroup" not in spec


def test_an_account_keeps_only_the_names_of_its_secrets() -> None:
    body = {"metadata": {"name": "a"}, "secrets": [{"name": "s", "namespace": "other"}]}
    answer = ApiClient().send("POST", f"{CORE}/serviceaccounts", body)[1]
    assert answer["secrets"] == [{"name": "s"}]


def test_a_pod_in_the_network_of_its_node_uses_the_ports_of_its_containers() -> None:
    ports = [{"containerPort": 80, "hostPort": 81}]
    body = container(ports=ports)
    body["spec"]["hostNetwork"] = True
    assert fields(PODS, body) == ["spec.containers[0].ports[0].hostPort"]
