"""Warnings about pods that are valid but probably not intended."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.kinds.forms import pod_form_warnings
from stretto.api.checks.kinds.pods.overlaps import file_warnings, port_warnings
from stretto.api.checks.kinds.pods.systems import containers_with_paths
from stretto.api.wire.quantity import nano

Json = dict[str, Any]

_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Volume sources that are removed or deprecated."""
_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
}
"""Deprecated node labels: the version of deprecation, and the replacement."""
_BYTES: Final = ("memory", "ephemeral-storage")
"""Resources with whole bytes as amounts."""
_WHOLE: Final = 10**9
"""Billionths of a byte."""
_NO_POD: Final = "a null labelSelector results in matching no pod"
_NEGATIVE: Final = "must be >= 0; negative values are invalid and will be treated as 1"


def pod_warnings(spec: Json, path: str) -> Iterator[str]:
    """Yield the warnings about the spec of a pod or of a template at a path."""
    yield from _labels(spec, path)
    for index, each in enumerate(spec.get("volumes") or ()):
        for source in _VOLUMES.keys() & each.keys():
            yield f"{path}.volumes[{index}].{source}: {_VOLUMES[source]}"
    yield from file_warnings(spec.get("volumes") or [])
    yield from _repeated(spec.get("hostAliases") or [], "ip", f"{path}.hostAliases")
    secrets = spec.get("imagePullSecrets") or []
    yield from _repeated(secrets, "name", f"{path}.imagePullSecrets")
    for index, each in enumerate(secrets):
        if not each.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    yield from _fractions(spec.get("overhead"), f"{path}.overhead", _BYTES)
    for container, where in containers_with_paths(spec, path):
        yield from _container(container, where)
    yield from port_warnings(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield f"{path}.terminationGracePeriodSeconds: {_NEGATIVE}"
    for word in ("podAffinity", "podAntiAffinity") if spec.get("affinity") else ():
        yield from _terms(spec["affinity"].get(word) or {}, f"{path}.affinity.{word}")
    yield from pod_form_warnings(spec, path)


def _terms(affinity: Json, path: str) -> Iterator[str]:
    """Yield warnings about terms that match no pod."""
    for word, inner in (("required", ""), ("preferred", ".podAffinityTerm")):
        name = f"{word}DuringSchedulingIgnoredDuringExecution"
        for index, each in enumerate(affinity.get(name) or ()):
            term = each.get("podAffinityTerm") or {} if inner else each
            if term.get("labelSelector") is None:
                yield f"{path}.{name}[{index}]{inner}.labelSelector: {_NO_POD}"


def _labels(spec: Json, path: str) -> Iterator[str]:
    """Yield warnings about deprecated node labels, and constraints that match no pod."""
    for key in sorted(_LABELS.keys() & (spec.get("nodeSelector") or {}).keys()):
        yield f"{path}.nodeSelector[{key}]: {_instead(key)}"
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", each.get("topologyKey", "")
        if key in _LABELS:
            yield f"{where}.topologyKey: {key} is {_instead(key)}"
        if each.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_POD}"


def _instead(key: str) -> str:
    since, better = _LABELS[key]
    return f"deprecated since {since}; use {quoted(better)} instead"


def _repeated(items: list[Json], key: str, path: str) -> Iterator[str]:
    seen: set[Any] = set()
    for index, each in enumerate(items):
        if each.get(key) in seen:
            yield f"{path}[{index}].{key}: duplicate {key} {quoted(each.get(key) or '')}"
        seen.add(each.get(key))


def _container(container: Json, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in _BYTES if resources else ():
        for word in ("limits", "requests"):
            if name in (resources.get(word) or ()):
                yield from _fractions(resources[word], f"{path}.resources.{word}", (name,))
    seen: set[str] = set()
    for index, each in enumerate(container.get("env") or ()):
        name = each.get("name", "")
        value, ref = each.get("value", ""), f"$({name})"
        hides = "valueFrom" in each or value == ref or ref not in value
        if name in seen and hides:
            text = f"hides previous definition of {quoted(name)}, which may be dropped when using"
            yield f"{path}.env[{index}]: {text} apply"
        seen.add(name)


def _fractions(amounts: Json | None, path: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield warnings about fractional amounts of bytes."""
    for name in names:
        amount = (amounts or {}).get(name)
        if amount is not None and nano(amount, path) % _WHOLE:
            text = f"fractional byte value {quoted(str(amount))} is invalid, must be an integer"
            yield f"{path}[{name}]: {text}"
