"""NodePorts, ImageLocality and DynamicResources of the exact path."""

from typing import Any

import pytest

from stretto.framework.model.status import SKIP
from stretto.framework.plugins import dynamic_resources, image_locality, ports
from tests.support.parity_cluster import before, node, pod, refused, scores

MI = 1024 * 1024


def port(number: int, ip: str = "", protocol: str = "TCP") -> dict[str, Any]:
    return {"containerPort": 1, "hostPort": number, "hostIP": ip, "protocol": protocol}


@pytest.mark.parametrize(
    ("mine", "theirs", "taken"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80), port(80, protocol="UDP"), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
        (port(80), port(80, "10.0.0.1"), True),
        (port(80, "10.0.0.1"), port(80), True),
        (port(80, "0.0.0.0"), port(80, "10.0.0.1"), True),
    ],
)
def test_ports_conflict_by_address(
    mine: dict[str, Any], theirs: dict[str, Any], taken: bool
) -> None:
    there = pod("e", on="a", ports=[theirs])
    found = refused(ports.NAME, pod(ports=[mine]), node("a"), node("b"), there)
    assert found == (["a"] if taken else [])


def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not() -> None:
    init = {"name": "i", "ports": [port(80)]}
    assert before(ports.NAME, pod(initContainers=[init]), node("a")) == SKIP
    sidecar = {**init, "restartPolicy": "Always"}
    there = pod("e", on="a", initContainers=[sidecar])
    assert refused(ports.NAME, pod(ports=[port(80)]), node("a"), there) == ["a"]


def image(name: str, size: int) -> dict[str, Any]:
    return {"names": [name], "sizeBytes": size * MI}


@pytest.mark.parametrize(("size", "score"), [(23, 0), (24, 0), (512, 50), (1000, 100), (5000, 100)])
def test_images_count_between_the_thresholds(size: int, score: int) -> None:
    there = node("n", images=[image("x:latest", size)])
    assert scores(image_locality.NAME, pod(), there) == {"n": score}


def test_an_image_that_is_a_volume_counts_and_raises_no_bound() -> None:
    mounted = [{"name": "v", "image": {"reference": "weights"}}, {"name": "w", "emptyDir": {}}]
    there = [
        node("both", images=[image("x:latest", 800), image("weights:latest", 1000)]),
        node("none"),
    ]
    # Half of 1800Mi is 900Mi; 877 of these lie between the thresholds of one container.
    requested = pod(volumes=mounted)
    assert scores(image_locality.NAME, requested, *there) == {"both": 89, "none": 0}


def test_an_image_counts_by_the_share_of_nodes_that_have_it() -> None:
    there = [node("a", images=[image("x:latest", 1000)]), node("b")]
    # Half of 1000Mi: 477 of 977 between the thresholds.
    assert scores(image_locality.NAME, pod(), *there) == {"a": 48, "b": 0}


def test_init_containers_widen_the_scale() -> None:
    init = {"name": "i", "image": "y"}
    there = node("n", images=[image("x:latest", 1000)])
    assert scores(image_locality.NAME, pod(initContainers=[init]), there) == {"n": 49}


@pytest.mark.parametrize(
    ("name", "full"),
    [("x", "x:latest"), ("x:1", "x:1"), ("host:5000/x", "host:5000/x:latest")],
)
def test_a_name_without_a_tag_means_the_latest(name: str, full: str) -> None:
    from stretto.framework.model.pod_facts import image_name

    assert image_name(name) == full


def test_dynamic_resources_scores_nothing_and_skips_its_filter() -> None:
    assert scores(dynamic_resources.NAME, pod(), node("n")) == {"n": 0}
    assert before(dynamic_resources.NAME, pod(), node("n")) == SKIP
    assert before("NodeDeclaredFeatures", pod(), node("n")) == SKIP
