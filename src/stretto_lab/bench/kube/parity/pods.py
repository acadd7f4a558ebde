"""Varied nodes and random pods for live parity; each pod uses some rules of kube-scheduler."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.base.rng import Rng

SPACE: Final = "parity"
"""Namespace of all objects."""
_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_APPS: Final = ("web", "db", "cache", "queue")
_IMAGES: Final = ("registry.example/big:1", "registry.example/mid:2", "registry.example/small:3")
_MIB: Final = 1 << 20
_ENCODE: Final = msgspec.json.encode

Form = dict[str, Any]
"""A pod or a part of one, as JSON."""


def node_bodies(count: int, rng: Rng) -> list[bytes]:
    """Nodes of many sizes, in three zones, with labels, taints and images."""
    return [_node(number, rng) for number in range(count)]


def service_body() -> bytes:
    """A Service for one app, whose pods Kubernetes spreads by default."""
    spec = {"selector": {"app": _APPS[0]}, "ports": [{"port": 80}]}
    return _ENCODE({"metadata": {"name": "web", "namespace": SPACE}, "spec": spec})


def pod_body(number: int, rng: Rng) -> bytes:
    """A random pod: a size, and each trait with its own probability."""
    spec: Form = {"containers": [_container(rng)], "terminationGracePeriodSeconds": 0}
    for chance, trait in _TRAITS:
        if rng.random() < chance:
            _merge(spec, trait(rng))
    labels = {"app": rng.choice(_APPS)}
    meta = {"name": f"pod-{number}", "namespace": SPACE, "labels": labels}
    return _ENCODE({"metadata": meta, "spec": spec})


def huge_pod_body() -> bytes:
    """A pod that fits on no node."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1000"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return _ENCODE({"metadata": {"name": "huge", "namespace": SPACE}, "spec": spec})


def _node(number: int, rng: Rng) -> bytes:
    name = f"node-{number}"
    labels = {_HOST: name, "disk": rng.choice(("ssd", "hdd")), "tier": str(rng.randint(1, 4))}
    if number % 10:  # one in ten has no zone
        labels[_ZONE] = f"zone-{number % 3}"
    amounts = {"cpu": str(rng.choice((4, 8, 16, 32))), "pods": str(rng.choice((20, 40, 110)))}
    amounts["memory"] = f"{rng.choice((8, 16, 64, 128))}Gi"
    draw = rng.random()
    taints = []
    if draw < 0.3:
        effect = "NoSchedule" if draw < 0.12 else "PreferNoSchedule"
        taints = [{"key": "dedicated", "value": rng.choice(("gpu", "infra")), "effect": effect}]
    images = [
        {"names": [image], "sizeBytes": size * _MIB}
        for image, size in zip(_IMAGES, (900, 300, 20), strict=True)
        if rng.random() < 0.4
    ]
    ready = [{"type": "Ready", "status": "True", "reason": "Parity"}]
    status = {"allocatable": amounts, "capacity": amounts, "conditions": ready, "images": images}
    spec = {"taints": taints, "unschedulable": rng.random() < 0.04}
    return _ENCODE({"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})


def _container(rng: Rng) -> Form:
    container: Form = {"name": "main", "image": rng.choice(_IMAGES)}
    if rng.random() < 0.85:
        requests = {"cpu": f"{rng.randint(1, 30) * 50}m", "memory": f"{rng.randint(1, 40) * 64}Mi"}
        container["resources"] = {"requests": requests}
    return container


def _merge(into: Form, more: Form) -> None:
    """Merge a trait into a spec; affinities of several traits are combined."""
    for key, value in more.items():
        if key == "containers":
            into[key][0].update(value)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif isinstance(value, list) and isinstance(into.get(key), list):
            into[key] = [*into[key], *value]
        else:
            into[key] = value


# ------------------------------------------------------------ traits


def _selector(rng: Rng) -> Form:
    return {"nodeSelector": {"disk": rng.choice(("ssd", "hdd"))}}


def _on_tiers(rng: Rng) -> Form:
    tiers = [str(rng.randint(1, 4)), str(rng.randint(1, 4))]
    wanted = {"key": "tier", "operator": rng.choice(("In", "NotIn")), "values": tiers}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"affinity": {"nodeAffinity": {_REQUIRED: terms}}}


def _prefers(rng: Rng) -> Form:
    wanted = {"key": "tier", "operator": "In", "values": [str(rng.randint(1, 4))]}
    term = {"weight": rng.randint(1, 100), "preference": {"matchExpressions": [wanted]}}
    return {"affinity": {"nodeAffinity": {_PREFERRED: [term]}}}


def _tolerates(rng: Rng) -> Form:
    some = {"key": "dedicated", "operator": "Equal", "value": rng.choice(("gpu", "infra"))}
    return {"tolerations": [some if rng.random() < 0.7 else {"operator": "Exists"}]}


def _spreads(rng: Rng) -> Form:
    rule = {
        "maxSkew": rng.randint(1, 4),
        "topologyKey": rng.choice((_ZONE, _HOST)),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _matching(rng),
    }
    return {"topologySpreadConstraints": [rule]}


def _required_near(rng: Rng) -> Form:
    return {"affinity": {_way(rng): {_REQUIRED: [_term(rng)]}}}


def _prefer_near(rng: Rng) -> Form:
    term = {"weight": rng.randint(1, 100), "podAffinityTerm": _term(rng)}
    return {"affinity": {_way(rng): {_PREFERRED: [term]}}}


def _port(rng: Rng) -> Form:
    port = rng.choice((8080, 9090))
    return {"containers": {"ports": [{"containerPort": port, "hostPort": port}]}}


def _large(rng: Rng) -> Form:
    requests = {"cpu": str(rng.choice((6, 12, 25, 33))), "memory": "2Gi"}
    return {"containers": {"resources": {"requests": requests}}}


def _named(rng: Rng) -> Form:
    here = {"key": "metadata.name", "operator": "In", "values": [f"node-{rng.randint(0, 50)}"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    return {"affinity": {"nodeAffinity": {_REQUIRED: terms}}}


def _way(rng: Rng) -> str:
    return rng.choice(("podAffinity", "podAntiAffinity"))


def _term(rng: Rng) -> Form:
    return {"labelSelector": _matching(rng), "topologyKey": rng.choice((_ZONE, _HOST))}


def _matching(rng: Rng) -> Form:
    return {"matchLabels": {"app": rng.choice(_APPS)}}


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_TRAITS: Final[tuple[tuple[float, Callable[[Rng], Form]], ...]] = (
    (0.15, _selector),
    (0.15, _on_tiers),
    (0.2, _prefers),
    (0.25, _tolerates),
    (0.25, _spreads),
    (0.1, _required_near),
    (0.2, _prefer_near),
    (0.08, _port),
    (0.08, _large),
    (0.02, _named),
)
