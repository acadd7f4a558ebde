"""Checks across objects: unique names, existing owners, satisfiable gangs.

A store accepts objects one by one and cannot check them across objects; the scheduler would wait
indefinitely. Therefore an input is checked as a whole before creation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import msgspec

from stretto.api.codec import decode_as
from stretto.api.kinds.table import kind_with_word
from stretto.api.types.godel import PodGroup
from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.api.wire.meta import ObjectMeta, OwnerReference, Wire
from stretto.base.errors import InputError
from stretto.inputs.objects.objects import GROUP


class InputObject(msgspec.Struct, frozen=True):
    """One object of an input, with its location."""

    #: Its kind.
    kind: Kind
    #: Its namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Its name.
    name: str
    #: Its JSON.
    body: bytes
    #: The file, for messages.
    where: str

    @property
    def key(self) -> "Key":
        """Its unique key in the input."""
        return self.kind.kind, self.namespace, self.name

    @property
    def label(self) -> str:
        """Its kind and name: ``Pod default/web``."""
        return _title(self.key)

    @property
    def title(self) -> str:
        """Its name in messages: ``app.yaml: Pod default/web``."""
        return f"{self.where}: {self.label}"

    def meta(self) -> ObjectMeta:
        """Its metadata."""
        return decode_as(HeadedObject, self.body, self.title).metadata


Key = tuple[str, str, str]
"""Kind, namespace and name."""


class HeadedObject(Wire, frozen=True):
    """Any object, for its metadata."""

    #: Identity.
    metadata: ObjectMeta


def check_names(manifests: Iterable[InputObject]) -> None:
    """Refuse duplicate objects."""
    first: dict[Key, InputObject] = {}
    for each in manifests:
        other = first.setdefault(each.key, each)
        if other is not each:
            expected = f"a unique name ({other.where} has it already)"
            raise InputError(f"{each.title}: metadata.name", each.name, expected, "rename one")


def check_owners(manifests: Sequence[InputObject], *, keep_missing: bool = False) -> None:
    """Refuse cycles of owners, and missing owners unless they are allowed."""
    by_key = {each.key: each for each in manifests}
    owners: dict[Key, list[Key]] = {}
    for each in manifests:
        if b'"ownerReferences"' not in each.body:
            continue
        for index, reference in enumerate(each.meta().owner_references):
            where = f"{each.title}: metadata.ownerReferences[{index}]"
            key = owner_key(each, reference)
            if key in by_key:
                _check_uid(reference, by_key[key], where)
                owners.setdefault(each.key, []).append(key)
            elif not keep_missing:
                found = f"{reference.kind} {reference.name}"
                hint = "add the owner, drop the reference, or keep missing owners"
                raise InputError(where, found, "an owner that is in the input", hint)
    cycle = _cycle(owners)
    if cycle:
        found = " -> ".join(_title(key) for key in cycle)
        where = f"{by_key[cycle[0]].title}: metadata.ownerReferences"
        raise InputError(where, found, "owners without a cycle", "drop one of the references")


def check_groups(
    manifests: Sequence[InputObject],
    others: Iterable[tuple[Kind, bytes]] = (),
    *,
    may_be_empty: bool = False,
) -> None:
    """Refuse PodGroups with fewer pods than their minimum.

    Args:
        manifests: the objects of an input.
        others: the objects to which the input is added; their pods count too.
        may_be_empty: true if a PodGroup without pods is accepted, because its pods may follow.
    """
    if not any(each.kind is POD_GROUP for each in manifests):
        return
    known = {each.key for each in manifests}
    metas = [(each.namespace, each.meta()) for each in manifests if each.kind is POD]
    for kind, body in others:
        if kind is POD and GROUP.encode() in body:
            meta = decode_as(HeadedObject, body).metadata
            if (kind.kind, meta.namespace, meta.name) not in known:
                metas.append((meta.namespace, meta))
    sizes = Counter((space, group) for space, meta in metas if (group := group_of(meta)))
    for each in manifests:
        if each.kind is not POD_GROUP:
            continue
        found = decode_as(PodGroup, each.body).spec.min_member
        size = sizes[each.namespace, each.name]
        if found > size and not (may_be_empty and not size):
            expected = f"1..{size}, the number of its pods" if size else "pods of the group"
            hint = "add pods to the same input"
            raise InputError(f"{each.title}: spec.minMember", found, expected, hint)


def group_of(meta: ObjectMeta) -> str:
    """The PodGroup of a pod; empty for a single pod."""
    return meta.annotations.get(GROUP) or meta.labels.get(GROUP, "")


def owner_key(owned: InputObject, reference: OwnerReference) -> Key:
    """Key of the owner: in the same namespace, unless its kind is cluster-scoped."""
    kind = kind_with_word(reference.kind)
    namespace = owned.namespace if kind is None or kind.namespaced else ""
    return reference.kind, namespace, reference.name


def _check_uid(reference: OwnerReference, owner: InputObject, where: str) -> None:
    """Refuse a reference to an older object of the same name."""
    uid = owner.meta().uid
    if uid and reference.uid and uid != reference.uid:
        expected = f"the uid of {_title(owner.key)}, {uid!r}"
        raise InputError(f"{where}.uid", reference.uid, expected, "it refers to a deleted owner")


def _cycle(owners: Mapping[Key, Sequence[Key]]) -> list[Key]:
    """A cycle of owners, with its first member repeated at the end; empty if there is none."""
    try:
        TopologicalSorter(owners).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _title(key: Key) -> str:
    """``Pod default/web``."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
