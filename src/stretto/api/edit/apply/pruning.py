"""Removal of fields that the applier owned before and that now have no owner.

The steps are those of structured-merge-diff 6.3.3: the fields are removed in the version in which
the applier owned them; then fields with an owner in any version are restored, and so are fields
that the applier did not own. A container whose last member is removed becomes null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
        if not _has_items(unowned) and not fieldset.only_prefix(unowned, named):
            return before, version  # the steps would restore all that they remove
    after = _without(before, _with_named(fields, kind), kind)
    pair = before, after
    for each in sorted(held, key=lambda name: name != version):
        pair = _owned_restored(pair, each, held[each], in_version)
    both = in_version([before, pair[1]], version)
    if both is None:
        return before, version
    return _unowned_restored((both[0][0], both[0][1]), fields, both[1]), version


def _owned_restored(
    pair: tuple[Json, Json], version: str, held: FieldSet, in_version: InVersion
) -> tuple[Json, Json]:
    """Return an object before and after a removal, in which fields with owners are restored."""
    both = in_version(pair, version)
    if both is None:
        return pair
    (before, after), kind = both
    left = fieldset.union(_all_named(after, kind), _with_named(held, kind))
    gone = fieldset.difference(_all_named(before, kind), left)
    return before, _without(before, gone, kind)


def _unowned_restored(pair: tuple[Json, Json], last: FieldSet, kind: ValueType) -> Json:
    """Return an object after a removal, with the fields that its applier did not own."""
    before, after = pair
    gone = fieldset.difference(_all_named(before, kind), _all_named(after, kind))
    return _without(before, fieldset.intersection(gone, _with_named(last, kind)), kind)


def _has_items(fields: FieldSet) -> bool:
    """Return whether a set contains items of lists, or fields in them."""
    nested = ((key, node) for key, node in fields.items() if key != SELF)
    return any(not key.startswith("f:") or _has_items(node) for key, node in nested)


def _all_named(item: Json, kind: ValueType) -> FieldSet:
    """Return the fields of an object, with the declared fields above them."""
    return _with_named(owned_fields(item, kind), kind)


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
        found = zip(elements(kind, value), value, strict=True)
        pairs = [(element, each, kind.item or ANY) for element, each in found]
        return [each for _, each in _kept(pairs, gone)] or None
    members = [
        (fieldset.field(name), each, member_type(kind, name) or ANY) for name, each in value.items()
    ]
    return {element[2:]: each for element, each in _kept(members, gone)} or None


def _kept(
    values: Iterable[tuple[str, Any, ValueType]], gone: FieldSet
) -> Iterator[tuple[str, Any]]:
    """Yield the members of a container, or what is left of them, by their path elements."""
    for element, each, kind in values:
        node = gone.get(element)
        if node is None:
            yield element, each
        elif not fieldset.is_member(node):
            yield element, _left(each, fieldset.children(node), kind)
