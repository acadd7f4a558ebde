"""Strategic merge patch: a merge patch in which some lists merge by a key.

Kubernetes declares the keys as tags on its Go structs; this module has a table of the lists that
matter here. Lists outside the table are replaced as a whole, as in a merge patch.
"""

from typing import Any, Final

import msgspec

from stretto.api.codec import parse
from stretto.api.wire.limits import measured
from stretto.base.errors import InputError

MERGE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port"),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "podIPs": ("ip",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
}
"""Lists that merge, by member name; of several keys the first in the items of the patch counts.

Tolerations and taints are not included: they are atomic in Kubernetes, and ``kubectl taint``
removes a taint by sending the list without it.
"""

PRIMITIVE_SETS: Final = frozenset({"finalizers"})
"""Lists of strings that merge as sets."""

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"
_DIRECTIVES: Final = (_PATCH, _RETAIN)


def strategic_patch(body: bytes, patch: bytes, where: str) -> bytes:
    """An object with a patch merged in, as JSON; ``where`` names the object in errors."""
    merged = strategic_merge(parse(body, where), parse(patch, f"patch of {where}"), where)
    return measured(msgspec.json.encode(merged), where)


def strategic_merge(target: Any, patch: dict[str, Any], where: str) -> Any:
    """``target`` with ``patch`` merged in; directives such as ``$patch`` are applied."""
    directive = patch.get(_PATCH)
    if directive == "replace":
        return _without_directives(patch)
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise InputError(f"patch of {where}: {_PATCH}", directive, "merge, replace or delete")
    merged = dict(target) if isinstance(target, dict) else {}
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        merged = {name: value for name, value in merged.items() if name in retained}
    for name, value in patch.items():
        if name in _DIRECTIVES or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE):
            _delete_primitives(merged, name.removeprefix(_DELETE), value, where)
        elif value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(name, merged.get(name), value, where)
    for name, order in patch.items():
        if name.startswith(_ORDER):
            _reorder(merged, name.removeprefix(_ORDER), order)
    return merged


def _merged(name: str, old: Any, new: Any, where: str) -> Any:
    """One member: objects merge, lists merge by the table, other values are replaced."""
    if isinstance(new, dict):
        return strategic_merge(old, new, where)
    if not isinstance(new, list):
        return new
    kept = old if isinstance(old, list) else []
    if name in PRIMITIVE_SETS:
        return [*kept, *(each for each in new if each not in kept)]
    if name not in MERGE_KEYS:
        return new
    key = _merge_key(name, new)
    if key is None:
        expected = f"objects that all have {' or '.join(MERGE_KEYS[name])}"
        raise InputError(f"patch of {where}: {name}", new, expected, "the list merges by this key")
    return _merged_list(kept, new, key, where)


def _merge_key(name: str, items: list[Any]) -> str | None:
    """The merge key of the items of a list; None for a list that does not merge."""
    wanting = [each for each in items if not _replaces(each)]
    for key in MERGE_KEYS.get(name, ()):
        if all(isinstance(each, dict) and key in each for each in wanting):
            return key
    return None


def _replaces(item: Any) -> bool:
    """Return whether an item only marks the list as replaced."""
    return isinstance(item, dict) and item.get(_PATCH) == "replace"


def _merged_list(old: list[Any], new: list[dict[str, Any]], key: str, where: str) -> list[Any]:
    """A list of objects, merged by key: existing ones keep their position, new ones come last."""
    if any(map(_replaces, new)):
        return [_without_directives(each) for each in new if key in each]
    merged = list(old)
    for change in new:
        place = next(
            (at for at, each in enumerate(merged) if _key_of(each, key) == change[key]), None
        )
        if change.get(_PATCH) == "delete":
            if place is not None:
                del merged[place]
        elif place is None:
            merged.append(strategic_merge({}, change, where))
        else:
            merged[place] = strategic_merge(merged[place], change, where)
    return merged


def _key_of(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _delete_primitives(merged: dict[str, Any], name: str, gone: Any, where: str) -> None:
    """``$deleteFromPrimitiveList/finalizers: [a]`` removes strings from a list."""
    if not isinstance(gone, list):
        raise InputError(f"patch of {where}: {_DELETE}{name}", gone, "a list")
    if isinstance(merged.get(name), list):
        merged[name] = [each for each in merged[name] if each not in gone]


def _reorder(merged: dict[str, Any], name: str, order: Any) -> None:
    """``$setElementOrder/conditions: [{type: A}, ...]``: named items in this order, then others."""
    items = merged.get(name)
    if not isinstance(items, list) or not isinstance(order, list) or not order:
        return
    key = _merge_key(name, order)
    wanted = [_key_of(each, key) if key else each for each in order]

    def rank(item: Any) -> int:
        mark = _key_of(item, key) if key else item
        return wanted.index(mark) if mark in wanted else len(wanted)

    merged[name] = sorted(items, key=rank)


def _without_directives(item: dict[str, Any]) -> dict[str, Any]:
    """A copy of an object without directives."""
    return {name: value for name, value in item.items() if not name.startswith("$")}
