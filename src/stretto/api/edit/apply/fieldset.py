"""Sets of field paths in the form of ``fieldsV1``, and their algebra.

A set is a tree of dictionaries whose keys are path elements: ``f:name`` for a field, ``k:{…}`` for
an item of a keyed list, ``v:…`` for an item of a set. A path is in the set if its node is empty or
contains ``.``; the root is in no set.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from stretto.api.wire.values import identities

FieldSet = dict[str, Any]
"""The tree; an empty dictionary is the empty set at the root, and a member below the root."""

_ENCODE: Final = msgspec.json.Encoder().encode
SELF: Final = "."
"""Key that makes a node with children a member of the set."""
LEAF: Final[FieldSet] = {}
"""A member without children. Trees share it: none changes after it is built."""


def is_member(node: Mapping[str, Any]) -> bool:
    """Return whether the path of a node below the root is in the set."""
    return not node or SELF in node


def children(node: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes below a node."""
    found = dict(node)
    found.pop(SELF, None)
    return found


def _node(member: bool, below: dict[str, Any]) -> FieldSet | None:
    """Build a node below the root; ``None`` if it would be empty."""
    if below:
        return {SELF: {}, **below} if member else below
    return {} if member else None


def union(one: FieldSet, two: FieldSet) -> FieldSet:
    """The paths in either set."""
    merged = dict(one)
    for key, node in two.items():
        other = merged.get(key)
        if other is None:
            merged[key] = node
        elif other or node:
            merged[key] = _union(other, node)
    return merged


def _union(one: FieldSet, two: FieldSet) -> FieldSet:
    both = union(one, two)
    if is_member(one) or is_member(two):
        both = {SELF: LEAF, **both}
    return _shortened(both)


def _shortened(node: FieldSet) -> FieldSet:
    """Return a node; without children it is empty."""
    return LEAF if len(node) == 1 and SELF in node else node


def difference(one: FieldSet, two: FieldSet) -> FieldSet:
    """The paths of the first set that are not in the second."""
    kept: FieldSet = {}
    for key, node in one.items():
        other = two.get(key)
        if other is None or (not node and not is_member(other)):
            kept[key] = node
        elif node and node != other:
            left = _difference(node, other)
            if left is not None:
                kept[key] = left
    return kept


def _difference(one: FieldSet, two: FieldSet) -> FieldSet | None:
    kept = difference(one, two)
    if not two:
        kept.pop(SELF, None)
    return _shortened(kept) if kept else None


def intersection(one: FieldSet, two: FieldSet) -> FieldSet:
    """The paths in both sets."""
    kept: FieldSet = {}
    for key, node in one.items():
        other = two.get(key)
        if other is None:
            continue
        below = intersection(children(node), children(other)) if node and other else {}
        both = _node(is_member(node) and is_member(other), below)
        if both is not None:
            kept[key] = both
    return kept


def without_prefix(one: FieldSet, prefixes: FieldSet) -> FieldSet:
    """The paths of a set that do not start with a path of another set: a reset of sub-trees."""
    kept: FieldSet = {}
    for key, node in one.items():
        other = prefixes.get(key)
        if other is None:
            kept[key] = node
        elif not is_member(other):
            below = _node(is_member(node), without_prefix(children(node), children(other)))
            if below is not None:
                kept[key] = below
    return kept


def only_prefix(one: FieldSet, prefixes: FieldSet) -> FieldSet:
    """The paths of a set that start with a path of another set."""
    kept: FieldSet = {}
    for key, node in one.items():
        other = prefixes.get(key)
        if other is None:
            continue
        if is_member(other):
            kept[key] = node
        else:
            below = _node(False, only_prefix(children(node), children(other)))
            if below is not None:
                kept[key] = below
    return kept


def paths(tree: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every path of a set; shorter paths come before longer ones."""
    nodes = sorted(tree.items())
    yield from ((*prefix, key) for key, node in nodes if is_member(node))
    for key, node in nodes:
        if node:
            yield from paths(children(node), (*prefix, key))


def leaves(tree: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a set that are not a prefix of another path of the set."""
    for key, node in sorted(tree.items()):
        here = (*prefix, key)
        below = children(node)
        if below:
            yield from leaves(below, here)
        elif is_member(node):
            yield here


def path_text(path: tuple[str, ...]) -> str:
    """Format a path as in messages: ``.spec.containers[name="app"].image``."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    sort, _, rest = element.partition(":")
    if sort == "k":
        keys = msgspec.json.decode(rest, type=dict[str, Any])
        inner = ",".join(f"{key}={_scalar(keys[key])}" for key in sorted(keys))
        return f"[{inner}]"
    if sort == "v":
        return f"[={_scalar(msgspec.json.decode(rest))}]"
    return f"[{rest}]"


def _scalar(value: Any) -> str:
    """Format a part of a path element; only scalars are valid, but messages show others too."""
    if isinstance(value, dict):
        return "".join(f"{key}={_scalar(value[key])}" for key in sorted(value))
    if isinstance(value, list):
        return f"[{','.join(map(_scalar, value))}]"
    return msgspec.json.encode(value).decode()


def field(name: str) -> str:
    """The path element of a field."""
    return f"f:{name}"


def keyed(keys: Mapping[str, Any]) -> str:
    """The path element of an item of a keyed list; its keys are in the order of their names."""
    return "k:" + _ENCODE(keys).decode()


def keyed_rows(keys: tuple[str, ...], columns: Sequence[Sequence[Any]]) -> list[str]:
    """The path elements of the items of a keyed list.

    Args:
        keys: the names of the keys, in their order.
        columns: for each key, its values in all items.
    """
    form = _row_form(keys)
    return [form % row for row in zip(*map(identities, columns), strict=True)]


@lru_cache(maxsize=256)
def _row_form(keys: tuple[str, ...]) -> str:
    """Return the path element of the items with some keys, with ``%s`` for each value."""
    heads = [f"{_ENCODE(key).decode()}:".replace("%", "%%") for key in keys]
    return "k:{" + ",".join(f"{head}%s" for head in heads) + "}"


def valued(value: Any) -> str:
    """The path element of an item of a set."""
    return "v:" + _ENCODE(value).decode()
