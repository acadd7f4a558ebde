"""Warnings about valid pods have the conditions and the order of kube-apiserver."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def hides(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


@given(st.lists(st.sampled_from(["a", "a/b", "a/b/c", "ab", "ab/c", "a-", "a-/b"]), max_size=9))
def test_each_pair_of_files_of_which_one_hides_the_other_is_warned_about(paths: list[str]) -> None:
    items = [{"key": "k", "path": path} for path in paths]
    pairs = [
        f'"{path}" with "{other}"'
        for index, path in enumerate(paths)
        for other in paths[:index]
        if hides(path, other)
    ]
    found = warned(volumes=[{"name": "v", "downwardAPI": {"items": items}}])
    texts = [each.partition("overlapping paths: ")[2] for each in found]
    assert list(dict.fromkeys(texts)) == list(dict.fromkeys(pairs))


@given(st.lists(st.tuples(st.sampled_from([0, 5, 6]), st.sampled_from(["", "x", "y"])), max_size=8))
def test_each_pair_of_ports_that_conflict_is_warned_about(pairs: list[tuple[int, str]]) -> None:
    items = [{"containerPort": 80, "hostPort": host, "hostIP": ip} for host, ip in pairs]
    places = [
        f"spec.containers[0].ports[{index}]: spec.containers[0].ports[{before}]"
        for index, (host, ip) in enumerate(pairs)
        for before, (other, address) in enumerate(pairs[:index])
        if not host or not other or (host == other and (ip == address or not (ip and address)))
    ]
    found = [f"{each.split()[0]} {each.split()[-1]}" for each in warned(containers=ports(*items))]
    assert found == places


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
