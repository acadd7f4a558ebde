"""Addresses, families and types of Services are checked and completed as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import CORE, ApiClient
from tests.unit.web.api.test_workload_rules import causes, fields

Json = dict[str, Any]

SERVICES = f"{CORE}/services"


def service(**spec: Any) -> Json:
    return {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}


def created(**spec: Any) -> Json:
    status, item = ApiClient().send("POST", SERVICES, service(**spec))
    assert status == 201, item
    return item["spec"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"ipFamilies": ["IPv6"]}, "not configured on this cluster"),
        ({"ipFamilies": ["IPv4", "IPv6"]}, "when multiple IP families are specified"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "is not configured for dual-stack services"),
        ({"clusterIPs": ["None"]}, "must be empty when `clusterIP` is not specified"),
        ({"clusterIP": "10.0.0.7", "ipFamilies": ["IPv6"]}, "expected an IPv6 value"),
        ({"clusterIP": "None", "clusterIPs": ["None", "10.0.0.7"]}, "the first and only value"),
    ],
)
def test_families_that_the_cluster_lacks_are_refused(spec: Json, message: str) -> None:
    ((_, text),) = causes(SERVICES, service(**spec))
    assert message in text


def test_a_service_without_an_address_and_without_pods_has_both_families() -> None:
    assert created(clusterIP="None", ipFamilies=["IPv6"])["ipFamilies"] == ["IPv6", "IPv4"]


def test_an_external_name_has_no_families() -> None:
    body = service(type="ExternalName", externalName="a.b", ipFamilies=["IPv4"])
    assert fields(SERVICES, body) == ["spec.ipFamilies"]


def test_an_external_name_has_no_address() -> None:
    body = service(type="ExternalName", externalName="a.b", clusterIP="None")
    assert fields(SERVICES, body) == ["spec.clusterIPs"]


def test_a_load_balancer_with_local_traffic_has_a_port_for_health_checks() -> None:
    spec = created(type="LoadBalancer", externalTrafficPolicy="Local")
    assert 30_000 <= spec["healthCheckNodePort"] < 32_768


def test_a_change_to_an_internal_service_releases_what_only_load_balancers_have() -> None:
    client = ApiClient()
    client.send("POST", SERVICES, service(type="LoadBalancer", externalTrafficPolicy="Local"))
    spec = client.merge(f"{SERVICES}/s", {"spec": {"type": "ClusterIP"}})[1]["spec"]
    unused = {"healthCheckNodePort", "allocateLoadBalancerNodePorts", "externalTrafficPolicy"}
    assert (unused & spec.keys(), "nodePort" in spec["ports"][0]) == (set(), False)


def test_a_change_to_an_external_name_releases_the_address() -> None:
    client = ApiClient()
    client.send("POST", SERVICES, service())
    change = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
    spec = client.merge(f"{SERVICES}/s", change)[1]["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()


def test_a_condition_of_a_failure_policy_of_a_cron_job_is_true_by_default() -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"podFailurePolicy": {"rules": rules}, "template": {"spec": pod}}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    target = "/apis/batch/v1/namespaces/default/cronjobs"
    item = ApiClient().send("POST", target, {"metadata": {"name": "c"}, "spec": spec})[1]
    (rule,) = item["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_more_node_ports_than_the_range_has_are_refused() -> None:
    ports = [{"name": f"p{number}", "port": number} for number in range(1, 3_000)]
    status, answer = ApiClient().send("POST", SERVICES, service(type="NodePort", ports=ports))
    assert (status, "range is full" in answer["message"]) == (500, True)
