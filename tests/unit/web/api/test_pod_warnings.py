"""Warnings about valid pods have the conditions and the order of kube-apiserver."""

from typing import Any

import pytest

from stretto.api.checks.kinds.pods.advice import pod_warnings
from tests.unit.web.api.test_kind_rules import PODS, ApiClient, pod

Json = dict[str, Any]


def warned(**spec: Any) -> list[str]:
    return list(pod_warnings(spec, "spec"))


def ports(*items: Json) -> list[Json]:
    return [{"name": "c", "ports": list(items)}]


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ({}, {}, "duplicate"),
        ({"hostPort": 80}, {}, "overlapping"),
        ({"hostPort": 80, "hostIP": "1.2.3.4"}, {"hostPort": 80}, "dangerously ambiguous"),
    ],
)
def test_two_definitions_of_a_port_are_warned_about(first: Json, second: Json, word: str) -> None:
    both = [{"containerPort": 80, "protocol": "TCP", **each} for each in (first, second)]
    found = warned(containers=ports(*both))
    where = "spec.containers[0].ports"
    assert found == [f"{where}[1]: {word} port definition with {where}[0]"]


def test_ports_of_different_protocols_do_not_overlap() -> None:
    both = [{"containerPort": 80, "protocol": each} for each in ("TCP", "UDP")]
    assert warned(containers=ports(*both)) == []


def test_a_name_of_two_ports_is_warned_about() -> None:
    both = [{"containerPort": each, "name": "web"} for each in (80, 81)]
    (found,) = warned(containers=ports(*both))
    assert 'duplicate port name "web" with spec.containers[0].ports[0]' in found


def test_a_file_of_a_volume_that_hides_another_is_warned_about() -> None:
    items = [{"key": "k", "path": path} for path in ("a", "a/b", "ab")]
    volume = {"name": "v", "configMap": {"name": "m", "items": items}}
    expected = 'volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"'
    assert warned(volumes=[volume]) == [expected]


def test_a_projected_file_that_hides_another_names_both_sources() -> None:
    items = [{"key": "k", "path": "t"}]
    sources = [{"serviceAccountToken": {"path": "t"}}, {"secret": {"name": "s", "items": items}}]
    (found,) = warned(volumes=[{"name": "v", "projected": {"sources": sources}}])
    assert found.endswith('"t" (Secret "s") with "t" (ServiceAccountToken)')


def test_a_variable_that_extends_the_one_before_is_not_warned_about() -> None:
    values = [{"name": "X", "value": "a"}, {"name": "X", "value": "$(X)b"}]
    assert warned(containers=[{"name": "c", "env": values}]) == []


def test_a_term_of_an_affinity_without_a_selector_matches_no_pod() -> None:
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}
    (found,) = warned(affinity={"podAntiAffinity": terms})
    assert found.endswith("[0].labelSelector: a null labelSelector results in matching no pod")


def test_a_new_pod_has_no_negative_grace_period() -> None:
    item = ApiClient().send("POST", PODS, pod("p", terminationGracePeriodSeconds=-5))[1]
    assert item["spec"]["terminationGracePeriodSeconds"] == 1
