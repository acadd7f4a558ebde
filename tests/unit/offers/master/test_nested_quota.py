"""Quota of roles below the top level, which Mesos does not support."""

from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
from stretto.offers.master.api.http import HttpAnswer
from tests.support.mesos import Body, MesosBench


def update(bench: MesosBench, **roles: Body) -> HttpAnswer:
    """UPDATE_QUOTA of CPUs: ``a_b={"limits": 1}`` is the limit of role ``a/b``."""
    configs = [
        {"role": role.replace("_", "/")}
        | {kind: {"cpus": {"value": float(cpus)}} for kind, cpus in amounts.items()}
        for role, amounts in roles.items()
    ]
    body = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": configs}}
    return bench.post(body, "/api/v1")


def made(cpus: float = 8.0) -> MesosBench:
    bench = MesosBench(DEFAULTS)
    bench.agent(cpus=cpus)
    return bench


def test_a_nested_role_has_quota() -> None:
    bench = made()
    assert update(bench, a_b={"limits": 2, "guarantees": 1}).status == 200
    listed = bench.post({"type": "GET_QUOTA"}, "/api/v1").body
    assert b'"role":"a/b"' in listed.replace(b" ", b"")


def test_the_limit_of_a_nested_role_binds_offers() -> None:
    bench = made()
    assert update(bench, a_b={"limits": 2}).status == 200
    roles = {"roles": ["a/b"], "capabilities": [{"type": "MULTI_ROLE"}]}
    bench.subscribe(**roles)
    first = bench.offers()[-1]["resources"][0]
    assert (first["name"], first["scalar"]) == ("cpus", {"value": 2.0})


def test_the_mesos_settings_refuse_it_as_mesos_does() -> None:
    answer = update(MesosBench(MESOS), a_b={"limits": 2})
    text = b"Updating quota on nested role 'a/b' is not supported yet"
    assert (answer.status, answer.body) == (400, text)


def test_guarantees_below_a_role_stay_within_its_limit() -> None:
    answer = update(made(), a={"limits": 3}, a_b={"guarantees": 2}, a_c={"guarantees": 2})
    assert (answer.status, b"exceed its limits" in answer.body) == (400, True)


def test_a_limit_is_not_set_below_the_guarantees_under_it() -> None:
    bench = made()
    assert update(bench, a_b={"guarantees": 2}).status == 200
    assert update(bench, a={"limits": 1}).status == 400


def test_a_guarantee_covers_those_below_it_when_capacity_is_counted() -> None:
    bench = made(cpus=4)
    assert update(bench, a={"guarantees": 4}, a_b={"guarantees": 3}).status == 200
    assert update(bench, c_d={"guarantees": 1}).status == 400
