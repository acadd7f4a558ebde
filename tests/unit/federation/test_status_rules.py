"""The status of sources by rules, and of built-in kinds."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.api.types.federation.objects import StatusCombination, StatusRule
from stretto.api.wire.kinds import DEPLOYMENT, JOB
from stretto.base.errors import InputError
from stretto.federation.objects.aggregation.builtin import aggregate_of
from stretto.federation.objects.aggregation.rules import aggregated
from stretto.reconcile.cache import StoredObject
from stretto.stores.render import render
from stretto.stores.store import Patch, Record
from tests.support.federation_world import FederationWorld


def held(cluster: str, **status: Any) -> StoredObject:
    body = msgspec.json.encode({"metadata": {"name": "one"}, "spec": {}, "status": status})
    return StoredObject(Record(JOB, "default", "one", "uid", 1, body), cluster)


MEMBERS = [held("alpha", phase="Running", ready=2), held("beta", phase="Failed", ready=3)]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (StatusRule("x", cel="members.exists(m, m.status.phase == 'Failed')"), True),
        (StatusRule("x", cel="members.map(m, m.cluster)"), ["alpha", "beta"]),
        (StatusRule("x", cel="members.filter(m, m.status.phase.matches('^F'))[0].cluster"), "beta"),
        (StatusRule("x", cel="[members[0].?absent, optional.of(duration('90s'))]"), [None, "90s"]),
        (StatusRule("x", json_path="$.status.ready"), 5),
        (StatusRule("x", json_path="$.status.ready", combine=StatusCombination.MAX), 3),
        (
            StatusRule("x", json_path="$.status.phase", combine=StatusCombination.LIST),
            ["Running", "Failed"],
        ),
        (StatusRule("x", json_path="$.status.absent"), None),
    ],
)
def test_a_rule_computes_a_field(rule: StatusRule, value: object) -> None:
    assert aggregated([rule], MEMBERS) == {"x": value}


@pytest.mark.parametrize(
    "rule",
    [
        StatusRule("x"),
        StatusRule("x", cel="members.map("),
        StatusRule("x", cel="members[0].absent.field"),
        StatusRule("x", cel="quantity('1')"),
        StatusRule("x", json_path="$.["),
        StatusRule("x", json_path="$.status.phase"),
    ],
)
def test_a_malformed_rule_is_refused(rule: StatusRule) -> None:
    with pytest.raises(InputError):
        aggregated([rule], MEMBERS)


def test_a_kind_has_the_status_that_its_rules_require() -> None:
    world = FederationWorld()
    rules = [
        {"field": "replicas", "jsonPath": "$.status.readyReplicas", "combine": "Min"},
        {"field": "clusters", "cel": "members.map(m, m.cluster)"},
    ]
    change = {"spec": {"statusAggregation": {"enabled": True, "rules": rules}}}
    world.host.patch(FEDERATED_TYPE_CONFIG.kind, [Patch("", "deployments.apps", change)])
    world.policy()
    world.deployment(6)
    world.run()
    record = world.host.get(DEPLOYMENT, "default", "web")
    assert record is not None
    status = msgspec.json.decode(render(record))["status"]
    assert (status["replicas"], status["clusters"]) == (2, ["alpha", "beta", "gamma"])


def test_a_rule_that_fails_is_reported_on_its_objects() -> None:
    world = FederationWorld()
    rules = [{"field": "replicas", "cel": "members["}]
    change = {"spec": {"statusAggregation": {"enabled": True, "rules": rules}}}
    world.host.patch(FEDERATED_TYPE_CONFIG.kind, [Patch("", "deployments.apps", change)])
    world.policy()
    world.deployment(6)
    world.run()
    condition = world.condition("Aggregated")
    assert condition is not None
    assert condition[1] == "InvalidRule"
    assert "correct the FederatedTypeConfig deployments.apps" in condition[2]


def ended(cluster: str, type_: str) -> StoredObject:
    at = "2026-01-01T00:00:00Z"
    condition = {"type": type_, "status": "True", "lastTransitionTime": at}
    return held(cluster, conditions=[condition])


def job_conditions(*jobs: StoredObject) -> list[str]:
    rule = aggregate_of("Job")
    assert rule is not None
    return [each["type"] for each in rule(jobs).get("conditions") or ()]


def test_a_job_ends_once_it_has_ended_everywhere() -> None:
    one, other = ended("alpha", "Complete"), held("beta", active=1)
    assert job_conditions(one, other) == []
    assert job_conditions(one, ended("beta", "Complete")) == ["SuccessCriteriaMet", "Complete"]
    assert job_conditions(one, ended("beta", "Failed")) == ["FailureTarget", "Failed"]


def test_a_service_has_the_addresses_of_all_clusters() -> None:
    rule = aggregate_of("Service")
    assert rule is not None
    one, other = ({"ingress": [{"ip": ip}]} for ip in ("1.1.1.1", "2.2.2.2"))
    found = rule([held("a", loadBalancer=one), held("b", loadBalancer=other)])
    assert found == {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}}
