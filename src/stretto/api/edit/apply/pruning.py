"""Removal of fields that the applier owned before and that now have no owner.

The steps are those of structured-merge-diff 6.3.3: the fields are removed in the version in which
the applier owned them; then fields with an owner in any version are restored, and so are fields
that the applier did not own. A container whose last member is removed becomes null.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import owned_fields
from stretto.api.edit.apply.fieldset import SELF, FieldSet
from stretto.api.edit.apply.walking import atom, elements, is_field, is_leaf, member_type
from stretto.api.schema.types import ANY, ValueType

Json = dict[str, Any]

InVersion = Callable[[Sequence[Json], str], tuple[Sequence[Json], ValueType] | None]
"""Converts objects to another API version, with its type.

``None`` if the version does not exist.
"""


def pruned(
    merged: Json,
    last: tuple[str, FieldSet],
    named: FieldSet,
    held: Mapping[str, FieldSet],
    in_version: InVersion,
) -> tuple[Json, str]:
    """Return a merged object without fields that lost their last owner, and its version.

    Args:
        merged: the object.
        last: the version and the fields of the applier's last configuration.
        named: the fields in the applier's configuration now.
        held: the fields that have owners now, by version.
        in_version: converts objects to other versions.

    Raises:
        ApplyError: a conversion fails.
    """
    version, fields = last
    shown = in_version([merged], version)
    if shown is None:
        return merged, version
    (before,), kind = shown
    if held.keys() == {version} and not fieldset.difference(fields, named):
        unowned = fieldset.difference(owned_fields(before, kind), held[version])
        if _are_apart(unowned, named):
            return before, version  # the steps would restore all that they remove
    removed, found = _with_named(fields, kind), _NamedFields()
    pair = before, _without(before, removed, kind)
    for each in sorted(held, key=lambda name: name != version):
        both = in_version(pair, each)
        if both is not None:
            pair = _owned_restored(both, held[each], found)
    both = in_version([before, pair[1]], version)
    if both is None:
        return before, version
    return _unowned_restored(both, removed, found), version


class _NamedFields:
    """The fields of objects, with the declared fields above them; collected once for each."""

    def __init__(self) -> None:
        # By the identity of an object, which is kept so that its identity stays unique.
        self._known: dict[int, tuple[Json, ValueType, FieldSet]] = {}

    def of(self, item: Json, kind: ValueType) -> FieldSet:
        """Return the fields of an object of a type."""
        known = self._known.get(id(item))
        if known is None or known[1] is not kind:
            known = item, kind, _with_named(owned_fields(item, kind), kind)
            self._known[id(item)] = known
        return known[2]


_Shown = tuple[Sequence[Json], ValueType]
"""An object before and after a removal, in one version."""


def _owned_restored(shown: _Shown, held: FieldSet, found: _NamedFields) -> tuple[Json, Json]:
    """Return an object before and after a removal, in which fields with owners are restored."""
    (before, after), kind = shown
    left = fieldset.union(found.of(after, kind), _with_named(held, kind))
    return before, _without(before, fieldset.difference(found.of(before, kind), left), kind)


def _unowned_restored(shown: _Shown, removed: FieldSet, found: _NamedFields) -> Json:
    """Return an object after a removal, with the fields that its applier did not own."""
    (before, after), kind = shown
    gone = fieldset.difference(found.of(before, kind), found.of(after, kind))
    return _without(before, fieldset.intersection(gone, removed), kind)


def _are_apart(unowned: FieldSet, named: FieldSet) -> bool:
    """Return whether a removal of fields without an owner keeps those of a configuration.

    It must keep the keys of the items of lists too, so other items must have all their fields.
    """
    for key, node in unowned.items():
        inner = named.get(key)
        if inner is None:
            if not key.startswith("f:") or _has_items(node):
                return False
        elif not (node and inner and _are_apart(node, inner)):
            return False
    return True


def _has_items(fields: FieldSet) -> bool:
    """Return whether a set contains items of lists, or fields in them."""
    nested = ((key, node) for key, node in fields.items() if key != SELF)
    return any(not key.startswith("f:") or _has_items(node) for key, node in nested)


def _with_named(fields: FieldSet, kind: ValueType) -> FieldSet:
    """Return a set of fields with the declared fields above its members."""
    kind = atom(kind, {})
    found: FieldSet = {}
    for key, node in fields.items():
        if not node or key == SELF or (SELF in node and not any(node.values())):
            found[key] = node
            continue
        name, is_name = key[2:], key.startswith("f:")
        below = fieldset.children(node)
        inner = (member_type(kind, name) if is_name else kind.item) or ANY
        is_member = fieldset.is_member(node) or (is_name and is_field(kind, name))
        found[key] = {**({SELF: {}} if is_member else {}), **_with_named(below, inner)}
    return found


def _without(item: Json, gone: FieldSet, kind: ValueType) -> Json:
    """Return an object without the fields of a set."""
    return _left(item, gone, kind) or {}


def _left(value: Any, gone: FieldSet, kind: ValueType) -> Any:
    """Return a value without the fields of a set; ``None`` if nothing is left of a container."""
    kind = atom(kind, value)
    if not isinstance(value, dict | list):
        return value
    if is_leaf(kind) or not value:
        return None
    if isinstance(value, list):
        inner = kind.item or ANY
        items = []
        for element, each in zip(elements(kind, value), value, strict=True):
            node = gone.get(element)
            if node is None:
                items.append(each)
            elif not fieldset.is_member(node):
                items.append(_left(each, node, inner))
        return items or None
    members = {}
    for name, each in value.items():
        node = gone.get(f"f:{name}")
        if node is None:
            members[name] = each
        elif not fieldset.is_member(node):
            members[name] = _left(each, node, member_type(kind, name) or ANY)
    return members or None
