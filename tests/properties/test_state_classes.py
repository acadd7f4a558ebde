"""Same meaning, same class, however it is spelt; another meaning, another class."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.types.effective_requests import host_ports, requests
from stretto.api.types.heads import decode_pod_head
from stretto.base.rng import Rng
from stretto.state.classes import table as module
from stretto.state.classes.table import PodClasses, decode_spec
from stretto.state.rows.resources import ResourceColumns

CPU_SPELLINGS = [("1", "1000m", "1.0", "1e0"), ("500m", "0.5", "5e-1"), ("2", "2000m")]
MEMORY_SPELLINGS = [("1Gi", "1024Mi", "1073741824"), ("1M", "1000k", "1e6"), ("0", "0Mi")]
TERMS = [
    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]},
    {"matchExpressions": [{"key": "b", "operator": "Exists"}]},
]

meanings = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 2),
        "memory": st.integers(0, 2),
        "port": st.sampled_from([0, 80, 81]),
        "selector": st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
        "term": st.sampled_from([None, 0, 1]),
        "tolerates": st.booleans(),
    }
)


def spelt(meaning: dict[str, Any], rng: Rng) -> bytes:
    """One of the ways to say it: spelling, order of fields and what is a pod's own are drawn."""
    cpu, memory = CPU_SPELLINGS[meaning["cpu"]], MEMORY_SPELLINGS[meaning["memory"]]
    container: dict[str, Any] = {
        "name": rng.choice(["main", "web"]),
        "resources": {"requests": {"cpu": rng.choice(cpu), "memory": rng.choice(memory)}},
    }
    if meaning["port"]:
        port = {"containerPort": 1, "hostPort": meaning["port"]}
        container["ports"] = [port if rng.random() < 0.5 else {**port, "protocol": "TCP"}]
    spec: dict[str, Any] = {"containers": [container], "schedulerName": "stretto"}
    if meaning["selector"]:
        spec["nodeSelector"] = meaning["selector"]
    if meaning["term"] is not None:
        required = {"nodeSelectorTerms": [TERMS[meaning["term"]]]}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec["affinity"] = {"nodeAffinity": rule}
    if meaning["tolerates"]:
        spec["tolerations"] = [{"key": "t", "operator": "Exists", "effect": "NoSchedule"}]
    if rng.random() < 0.5:
        spec |= {"priority": rng.randint(0, 9), "nodeName": rng.choice(["n", "m"])}
    meta = {"name": f"p{rng.randint(0, 9)}", "namespace": rng.choice(["x", "y"])}
    return shuffled({"metadata": meta, "spec": spec}, rng)


def shuffled(value: dict[str, Any], rng: Rng) -> bytes:
    def turn(part: Any) -> Any:
        if isinstance(part, dict):
            keys = sorted(part)
            rng.shuffle(keys)
            return {key: turn(part[key]) for key in keys}
        return [turn(each) for each in part] if isinstance(part, list) else part

    return json.dumps(turn(value), indent=rng.choice([None, 1])).encode()


def intern(classes: PodClasses, body: bytes) -> int:
    return classes.intern(decode_pod_head(body), body)


@given(meanings, st.integers(0, 10**6))
def test_the_same_meaning_is_the_same_class(meaning: dict[str, Any], seed: int) -> None:
    classes, rng = PodClasses(ResourceColumns()), Rng(seed)
    assert len({intern(classes, spelt(meaning, rng)) for _ in range(4)}) == 1


@given(meanings, meanings, st.integers(0, 10**6))
def test_another_meaning_is_another_class(
    one: dict[str, Any], other: dict[str, Any], seed: int
) -> None:
    classes, rng = PodClasses(ResourceColumns()), Rng(seed)
    same = intern(classes, spelt(one, rng)) == intern(classes, spelt(other, rng))
    assert same == (one == other)


@given(st.lists(st.tuples(meanings, st.booleans()), max_size=30), st.integers(0, 10**6))
def test_a_class_is_what_its_pods_request_however_few_are_kept(
    script: list[tuple[dict[str, Any], bool]], seed: int
) -> None:
    classes, rng, serials = PodClasses(ResourceColumns()), Rng(seed), dict[int, object]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CLASS_LIMIT", 2)
        for meaning, leaves in script:
            body = spelt(meaning, rng)
            found = classes[intern(classes, body)]
            spec = decode_spec(body)
            amounts = {classes._resources.names[c]: n for c, n in found.requests}
            assert amounts == {name: n for name, n in requests(spec).items() if n}
            assert (found.ports, found.spec.affinity) == (host_ports(spec), spec.affinity)
            assert serials.setdefault(found.serial, found.spec) == found.spec
            classes.use(found.id)
            if leaves:
                classes.release(found.id)
    assert sum(count == 0 and classes.serial(i) > 0 for i, count in enumerate(classes.users)) <= 2
