"""Pods with dynamic resource claims: refused by every profile, placed without the claims."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import POD
from stretto.control.reporting.reporter import ReportConfig
from stretto.explain.metrics.census import Census
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Update
from stretto.testing import Harness, make_node, make_pod

CLAIMS: dict[str, Any] = {
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
}
NEEDED = ("NodePorts", "NodeResourcesFit", "Devices", "NonNativeTopology")
PROFILES = ["default", "packing", "fgd", "kube-parity"]


def waiting(profile: Any = "default", **config: Any) -> Harness:
    harness = Harness(
        [make_node("n0"), make_node("n1")], profile=profile, config={"tier": "numpy", **config}
    )
    harness.submit(make_pod("claims", spec=CLAIMS), make_pod("plain"))
    harness.settle(5)
    return harness


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_refuses_a_pod_with_claims_and_it_alone(profile: str) -> None:
    harness = waiting(profile)
    assert (harness.node_of("claims"), bool(harness.node_of("plain"))) == ("", True)


@pytest.mark.parametrize("profile", PROFILES)
def test_its_event_uses_kube_schedulers_words(profile: str) -> None:
    harness = waiting(profile, report=ReportConfig())
    record = harness.store.get(POD, "default", "claims")
    assert record is not None
    said = msgspec.json.decode(record.body)["status"]["conditions"][0]["message"]
    assert said.startswith("0/2 nodes are available: 2 cannot allocate all claims.")


@pytest.mark.parametrize("profile", PROFILES)
def test_explanation_and_census_give_one_code(profile: str) -> None:
    plane = waiting(profile).plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "claims")
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.DYNAMIC_CLAIMS
    assert Census(plane.engine, plane.units).counts(0.0) == {"dynamic-claims": 1}


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_it_is_placed_once_it_names_no_claims(profile: str) -> None:
    harness = waiting(profile)
    harness.store.update(POD, [Update("default", "claims", make_pod("claims"))])
    harness.settle(30)
    assert harness.node_of("claims") != ""


def test_an_empty_list_of_claims_requests_nothing() -> None:
    harness = Harness([make_node("n")], config={"tier": "numpy"})
    harness.submit(make_pod("p", spec={"resourceClaims": []}), make_pod("q"))
    harness.settle()
    ids = harness.plane.cluster.pods.class_id[:2].tolist()
    assert (harness.node_of("p"), len(set(ids))) == ("n", 1)


def test_a_pod_with_claims_that_another_scheduler_has_placed_is_charged() -> None:
    harness = Harness([make_node("n", cpu="1")], config={"tier": "numpy"})
    harness.submit(make_pod("theirs", cpu="1", node="n", spec=CLAIMS), make_pod("p"))
    harness.settle()
    assert harness.node_of("p") == ""


@pytest.mark.parametrize("name", ["*", "DynamicResources"])
def test_no_profile_can_switch_it_off(name: str) -> None:
    kept = [{"name": each} for each in NEEDED]
    rules = {"filter": {"disabled": [{"name": name}], "enabled": kept}}
    profile = load_profile({"profiles": [{"plugins": rules}]})
    assert "DynamicResources" in [rule.NAME for rule in profile.filters]
    assert waiting(profile).node_of("claims") == ""


def test_a_profile_that_names_it_reports_that_it_stays() -> None:
    rules = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
    (note,) = load_profile({"profiles": [{"plugins": rules}]}).notes
    assert "DynamicResources stays" in note


def test_no_pod_is_preempted_for_it() -> None:
    harness = Harness([make_node("n", cpu="1")], config={"tier": "numpy"})
    harness.submit(make_pod("low", cpu="1"))
    harness.settle()
    harness.submit(make_pod("high", cpu="1", priority=100, spec=CLAIMS))
    harness.settle(10)
    assert (harness.node_of("low"), harness.node_of("high")) == ("n", "")
