"""Realistic pods by the hundred thousand, from templates."""

from collections import Counter

import msgspec
import pytest

from stretto.api.types.heads import decode_pod_head
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec

GROUP = "godel.bytedance.com/pod-group-name"


def templates(**more: object) -> PodTemplates:
    spec = {"classes": 20, **more}
    return PodTemplates(msgspec.convert(spec, TemplateSpec), Rng(7))


def decoded(bodies: list[bytes]) -> list[dict[str, dict[str, object]]]:
    return [msgspec.json.decode(body) for body in bodies]


def test_every_pod_has_a_name_of_its_own_over_all_calls() -> None:
    source = templates()
    bodies = source.bodies(50) + source.bodies(50)
    assert len({decode_pod_head(body).metadata.name for body in bodies}) == 100


def test_a_pod_is_as_large_as_in_production() -> None:
    assert all(2600 < len(body) < 3100 for body in templates().bodies(100))


def test_the_same_seed_makes_the_same_pods() -> None:
    assert templates().bodies(30) == templates().bodies(30)


def test_classes_are_distinguished_by_their_requests() -> None:
    heads = [decode_pod_head(body) for body in templates(classes=2000).class_bodies]
    assert len({bytes(head.spec.containers[0].resources) for head in heads}) == 2000


def test_a_share_of_the_classes_is_constrained() -> None:
    specs = [pod["spec"] for pod in decoded(templates(constrained=0.3).class_bodies)]
    fields = ("nodeSelector", "affinity", "tolerations")
    ports = [b'"hostPort"' in body for body in templates(constrained=0.3).class_bodies]
    marked = [any(f in spec for f in fields) or p for spec, p in zip(specs, ports, strict=True)]
    assert sum(marked) == 6
    assert all(any(field in spec for spec in specs) for field in fields)


def test_running_pods_take_no_host_ports() -> None:
    source = templates(constrained=1.0)
    drawn = set(source.running_classes(1000).tolist())
    assert not any(b'"hostPort"' in source.class_bodies[index] for index in drawn)


def test_units_are_runs_of_one_class_with_one_owner() -> None:
    pods = decoded(templates(units=5).bodies(20))
    owners = [pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods]  # type: ignore[index]
    assert Counter(owners) == Counter(dict.fromkeys(owners, 5))
    assert len({pod["metadata"]["labels"]["app"] for pod in pods[:5]}) == 1  # type: ignore[index]


def test_gangs_come_with_their_pod_groups() -> None:
    source = templates(units=4, gangs=True)
    pods = decoded(source.bodies(8))
    groups = decoded(source.group_bodies)
    assert [group["spec"]["minMember"] for group in groups] == [4, 4]
    assert {pod["metadata"]["annotations"][GROUP] for pod in pods} == {  # type: ignore[index]
        group["metadata"]["name"] for group in groups
    }


def test_a_unit_cut_by_one_call_is_finished_by_the_next() -> None:
    source = templates(units=4, gangs=True)
    source.bodies(6)
    source.bodies(2)
    assert len(source.group_bodies) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("classes", 0), ("classes", 10_001), ("constrained", 1.5), ("units", 0), ("zones", 0)],
)
def test_absurd_figures_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name}: got {value}, expected"):
        templates(**{name: value})
