"""Rules for updates of pods.

An update of the object may change images, deadlines, tolerations and gates. Updates of subresources
may change ephemeral containers and resources.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required
from stretto.api.checks.kinds.pods.containers import PodFrame, check_ephemeral
from stretto.api.checks.kinds.pods.placement import check_tolerations
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.internals import internal_difference, internal_form
from stretto.api.types.quality import quality_of_service

UPDATE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
"""Message of a refused update of a pod."""
_FREE: Final = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})
"""Members of a spec that an update may change."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_SELECTOR: Final = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
_LENGTH: Final = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
_ADDED: Final = "only additions are allowed (no mutations or deletions)"
_TERMS: Final = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
_RESIZED: Final = ("cpu", "memory")
_SECONDS: Final = 2**31 - 1


def check_pod_update(item: Json, old: Json) -> Errors:
    """Check a changed pod."""
    return list(_update(item.get("spec") or {}, old.get("spec") or {}))


def _update(spec: Json, old: Json) -> Iterator[Any]:
    for word in ("containers", "initContainers"):
        if len(spec.get(word) or ()) != len(old.get(word) or ()):
            yield forbidden(f"spec.{word}", "pod updates may not add or remove containers")
            return
    for word in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(word) or ()):
            if not container.get("image"):
                yield required(f"spec.{word}[{index}].image")
    yield from _deadline(spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    yield from _tolerations(spec.get("tolerations") or [], old.get("tolerations") or [])
    yield from _gates(spec.get("schedulingGates") or [], old.get("schedulingGates") or [])
    before, after = dict(old), _fixed(spec, old)
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and after.get(grace) == 1:
        after[grace] = before[grace]
    if old.get("schedulingGates"):
        yield from _narrowed(spec, old)
        after = _with_placement(after, old)
    if before != after:
        difference = internal_difference("core.PodSpec", before, after)
        yield forbidden("spec", f"{UPDATE}\n{difference}")


def _fixed(spec: Json, old: Json) -> Json:
    """Return a spec with the members of the old one that an update may change."""
    left = {key: each for key, each in spec.items() if key not in _FREE}
    left |= {key: each for key, each in old.items() if key in _FREE}
    for word in ("containers", "initContainers"):
        if word in spec:
            pairs = zip(spec[word] or (), old.get(word) or (), strict=True)
            left[word] = [_with_image(*pair) for pair in pairs]
    return left


def _with_image(new: Json, old: Json) -> Json:
    images = {"image": old["image"]} if "image" in old else {}
    return {**{key: each for key, each in new.items() if key != "image"}, **images}


def _narrowed(spec: Json, old: Json) -> Iterator[Any]:
    """Check that the placement of a pod with scheduling gates only has further conditions."""
    selector = spec.get("nodeSelector") or {}
    if (old.get("nodeSelector") or {}).items() - selector.items():
        yield invalid("spec.nodeSelector", selector or None, _SELECTOR)
    before, after = _terms(old), _terms(spec)
    if not before:
        return
    if len(before) != len(after):
        yield invalid(_TERMS, internal_form("[]core.NodeSelectorTerm", after or None), _LENGTH)
        return
    for index, (was, new) in enumerate(zip(before, after, strict=True)):
        if not _is_narrower(new, was):
            yield invalid(f"{_TERMS}[{index}]", internal_form("core.NodeSelectorTerm", new), _ADDED)


def _with_placement(spec: Json, old: Json) -> Json:
    """Return a spec with the selector and the affinity to nodes of the old one."""
    kept = {key: each for key, each in spec.items() if key not in ("nodeSelector", "affinity")}
    if "nodeSelector" in old:
        kept["nodeSelector"] = old["nodeSelector"]
    affinity = {**(spec.get("affinity") or {})}
    affinity.pop("nodeAffinity", None)
    nodes = (old.get("affinity") or {}).get("nodeAffinity")
    if nodes is not None:
        affinity["nodeAffinity"] = nodes
    if affinity or "affinity" in old:
        kept["affinity"] = affinity
    return kept


def _terms(spec: Json) -> list[Json]:
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []


def _is_narrower(new: Json, old: Json) -> bool:
    names = ("matchExpressions", "matchFields")
    pairs: list[tuple[list[Any], list[Any]]]
    pairs = [(new.get(name) or [], old.get(name) or []) for name in names]
    if not any(was for _, was in pairs):
        return not any(now for now, _ in pairs)
    return all(now[: len(was)] == was for now, was in pairs)


def _deadline(new: int | None, old: int | None) -> Iterator[Any]:
    path = "spec.activeDeadlineSeconds"
    if new is not None:
        if not 0 <= new <= _SECONDS:
            yield invalid(path, new, f"must be between 0 and {_SECONDS}, inclusive")
        elif old is not None and old < new:
            yield invalid(path, new, "must be less than or equal to previous value")
    elif old is not None:
        yield invalid(path, None, "must not update from a positive integer to nil value")


def _tolerations(new: list[Json], old: list[Json]) -> Iterator[Any]:
    def bare(toleration: Json) -> bytes:
        kept = {key: each for key, each in toleration.items() if key != "tolerationSeconds"}
        return msgspec.json.encode(kept, order="deterministic")

    present = {bare(each) for each in new}
    if any(bare(each) not in present for each in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", detail)
        return
    yield from check_tolerations(new, "spec.tolerations")


def _gates(new: list[Json], old: list[Json]) -> Iterator[Any]:
    known = {each.get("name", "") for each in old}
    for gate in new:
        name = gate.get("name", "")
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden("spec.schedulingGates", detail)


def check_ephemeral_update(item: Json, old: Json) -> Errors:
    """Check the ephemeral containers of a running pod: only additions are valid."""
    spec, path = item.get("spec") or {}, "spec.ephemeralContainers"
    names = {
        each.get("name", "")
        for word in ("containers", "initContainers")
        for each in spec.get(word) or ()
    }
    frame = PodFrame(
        spec,
        frozenset(each.get("name", "") for each in spec.get("volumes") or ()),
        frozenset(each.get("name", "") for each in spec.get("resourceClaims") or ()),
    )
    containers = spec.get("ephemeralContainers") or []
    found: Errors = list(check_ephemeral(containers, path, names, frame))
    new = {each.get("name", ""): each for each in containers}
    for each in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = each.get("name", "")
        if name not in new:
            detail = f'existing ephemeral containers "{name}" may not be removed\n'
            found.append(forbidden(path, detail))
        elif new[name] != each:
            difference = internal_difference("core.EphemeralContainer", each, new[name])
            detail = f'existing ephemeral containers "{name}" may not be changed\n{difference}'
            found.append(forbidden(path, detail))
    return found


def check_resize(item: Json, old: Json) -> Errors:
    """Check a resize of a pod: only CPU and memory change, within its quality of service."""
    spec, before = item.get("spec") or {}, old.get("spec") or {}
    found: Errors = []
    quality = quality_of_service(before)
    if quality_of_service(spec) != quality:
        detail = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid("spec", quality, detail))
    places = [error for word in _CONTAINERS for error in _places(spec, before, word)]
    if places:
        return found + places
    pairs = {
        word: list(zip(before.get(word) or (), spec.get(word) or (), strict=True))
        for word in _CONTAINERS
    }
    found += _removed(pairs["initContainers"], "spec.initContainers")
    found += _removed(pairs["containers"], "spec.containers")
    for was, new in pairs["containers"]:
        if _fixed_amounts(new, was) != _amounts(was):
            found.append(forbidden("spec", "only cpu and memory resources are mutable"))
    for index, pair in enumerate(pairs["initContainers"]):
        found += _resized_init(*pair, f"spec.initContainers[{index}]")
    return found


_CONTAINERS: Final = ("containers", "initContainers")


def _places(spec: Json, before: Json, word: str) -> Errors:
    """Check that the containers keep their number, names and order."""
    new, old = spec.get(word) or [], before.get(word) or []
    if len(new) != len(old):
        return [forbidden(f"spec.{word}", f"{word} may not be added or removed on resize")]
    detail = f"{word} may not be renamed or reordered on resize"
    return [
        forbidden(f"spec.{word}[{index}].name", detail)
        for index, (one, two) in enumerate(zip(new, old, strict=True))
        if one.get("name") != two.get("name")
    ]


def _removed(pairs: Iterable[tuple[Json, Json]], path: str) -> Errors:
    """Check that no container loses an amount."""
    return [
        forbidden(f"{path}[{index}].resources.{word}", f"resource {word} cannot be removed")
        for index, (was, new) in enumerate(pairs)
        for word in ("requests", "limits")
        if _listed(was, word).keys() - _listed(new, word).keys()
    ]


def _resized_init(old: Json, new: Json, path: str) -> Errors:
    """Check an init container; only a sidecar may restart after a resize."""
    found: Errors = []
    if _fixed_amounts(new, old) != _amounts(old):
        detail = "only cpu and memory resources for init or sidecar containers are mutable"
        found.append(forbidden(path, detail))
    if new != old and new.get("restartPolicy") != "Always":
        detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be "
        found += [
            forbidden(path, f"{detail}resized")
            for each in new.get("resizePolicy") or ()
            if each.get("restartPolicy") == "RestartContainer"
        ]
    return found


def _listed(container: Json, word: str) -> Json:
    found: Json = (container.get("resources") or {}).get(word) or {}
    return found


def _amounts(container: Json) -> Json:
    """Return a container whose resources have no empty members."""
    resources = {key: each for key, each in (container.get("resources") or {}).items() if each}
    return {**container, "resources": resources}


def _fixed_amounts(container: Json, old: Json) -> Json:
    """Return a container with the old CPU and memory, and without claims of devices."""
    resources: Json = {}
    for word in ("limits", "requests"):
        kept = {key: each for key, each in _listed(container, word).items() if key not in _RESIZED}
        kept |= {key: each for key, each in _listed(old, word).items() if key in _RESIZED}
        resources |= {word: kept} if kept else {}
    return {**container, "resources": resources}
