"""Rules for updates of pods.

An update of the object may change images, deadlines, tolerations and gates. Updates of subresources
may change ephemeral containers and resources.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required
from stretto.api.checks.kinds.pods.containers import PodFrame, check_ephemeral
from stretto.api.checks.kinds.pods.placement import check_tolerations
from stretto.api.checks.kinds.resources import check_resources
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
    """Check the resources of a running pod: CPU and memory, within its quality of service."""
    spec, before = item.get("spec") or {}, old.get("spec") or {}
    found: Errors = []
    quality = quality_of_service(before)
    if quality_of_service(spec) != quality:
        detail = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid("spec", quality, detail))
    pairs = list(zip(before.get("containers") or (), spec.get("containers") or (), strict=False))
    for index, (_, new) in enumerate(pairs):
        where = f"spec.containers[{index}].resources"
        found += check_resources(new.get("resources") or {}, where)
    for index, (was, new) in enumerate(pairs):
        for word in ("limits", "requests"):
            if _removes(was, new, word):
                where = f"spec.containers[{index}].resources.{word}"
                found.append(forbidden(where, f"resource {word} cannot be removed"))
    if not found and _without_resized(spec) != _without_resized(before):
        found.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return found


def _removes(old: Json, new: Json, word: str) -> bool:
    """Return whether an amount is removed from a container."""
    before = (old.get("resources") or {}).get(word) or {}
    after = (new.get("resources") or {}).get(word) or {}
    return any(name in before and name not in after for name in _RESIZED)


def _without_resized(spec: Json) -> Json:
    """A spec without the amounts that a resize may change."""
    containers = []
    for each in spec.get("containers") or ():
        resources = {
            word: {
                name: amount
                for name, amount in ((each.get("resources") or {}).get(word) or {}).items()
                if name not in _RESIZED
            }
            for word in ("limits", "requests")
        }
        containers.append({**each, "resources": resources})
    return {**spec, "containers": containers}
