"""Tags: interned namespaces, labels and controllers of pods.

Selectors of affinity, spread and budgets match pods by labels. A million pods have a few thousand
distinct label sets. Therefore each set (with its namespace) is a number, and a selector is
evaluated once per set, with the same label columns as nodes. A table maps the raw bytes of labels
to the number; another order of the same labels has the same number. The controller is part of a tag
only if the cluster's default spread needs it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.heads import NO_BYTES, PodHead, decode_pod_head
from stretto.api.wire.meta import OwnerReference
from stretto.api.wire.selectors import Selector
from stretto.base.errors import InputError
from stretto.state.classes.template_key import SHARED_BODIES
from stretto.state.nodes.labels import BoolArray, LabelColumns

TAG_LIMIT: Final = 50_000
"""Maximum number of unused tags; beyond it, the tag that was unused longest is dropped."""
FIRST_TAGS: Final = 64
"""Initial number of tags; columns double when they are full."""

Owner = tuple[str, str]
"""Kind and name of a controller."""
Form = tuple[str, tuple[tuple[str, str], ...], Owner | None]
"""Namespace, sorted labels and controller."""

_LABELS: Final = msgspec.json.Decoder(dict[str, str] | None)
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...] | None)


class PodTags:
    """The table of tags."""

    def __init__(self) -> None:
        """Start with tag 0 for rows without a tag: no namespace, no labels."""
        #: True if controllers are part of tags.
        self.with_owners: bool = False
        #: Label columns, by tag.
        self.labels = LabelColumns()
        #: Namespaces by tag.
        self.namespaces: list[str] = []
        #: Controllers by tag, if recorded.
        self.owners: list[Owner | None] = []
        #: int32[tag]: number of pods.
        self.users: npt.NDArray[np.int32] = np.zeros(FIRST_TAGS, np.int32)
        self._namespace: npt.NDArray[np.int32] = np.zeros(FIRST_TAGS, np.int32)
        self._numbers: dict[str, int] = {}
        self._by_bytes: dict[str, dict[bytes, int]] = {}
        self._by_form: dict[Form, int] = {}
        self._forms: list[Form] = []
        self._shared: dict[bytes, tuple[msgspec.Raw, ...]] = {}
        self._spellings: list[list[bytes]] = []
        #: Number of dropped tags so far; their numbers may have been reused.
        self.forgotten: int = 0
        self._unused: dict[int, None] = {}
        self._free: list[int] = []
        self.labels.grow(FIRST_TAGS)
        self.intern("", b"")

    def include_owners(self, *, wanted: bool) -> None:
        """Set whether controllers are part of tags; before the first pod."""
        self.with_owners = wanted

    def __len__(self) -> int:
        """Number of numbers ever assigned; some may be free now."""
        return len(self.namespaces)

    def intern(
        self, namespace: str, raw: bytes | msgspec.Raw, owners: bytes | msgspec.Raw = b""
    ) -> int:
        """The tag of a pod, from its namespace and its raw labels and owners.

        Raises:
            InputError: the labels are not a map of strings.
        """
        spelt = b"" if raw is NO_BYTES else bytes(raw)
        if owners:
            spelt = b"\0".join((spelt, owners))
        known = self._by_bytes.get(namespace)
        if known is None:
            known = self._by_bytes[namespace] = {}
        found = known.get(spelt)
        if found is None:
            labels = tuple(sorted(_labels(b"" if raw is NO_BYTES else raw).items()))
            found = self._intern_form((namespace, labels, _controller(owners)))
            self._spellings[found].append(spelt)
            known[spelt] = found
        return found

    def intern_head(self, namespace: str, head: PodHead) -> int:
        """The tag of a pod, from its head.

        Raises:
            InputError: the labels are not a map of strings.
        """
        meta = head.metadata
        if self.with_owners and meta.owner_references is not NO_BYTES:
            return self.intern(namespace, meta.labels, meta.owner_references)
        return self.intern(namespace, meta.labels)

    def intern_shared(self, namespace: str, body: bytes) -> tuple[int, PodHead | None]:
        """Return the tag of a pod whose body many pods share.

        Also its head if it had to be decoded.
        """
        known = self._shared.get(body)
        if known is not None:
            return self.intern(namespace, *known), None
        head = decode_pod_head(body)
        if len(self._shared) >= SHARED_BODIES:
            self._shared.clear()
        meta = head.metadata
        self._shared[body] = (
            (meta.labels, meta.owner_references) if self.with_owners else (meta.labels,)
        )
        return self.intern_head(namespace, head), head

    def labels_of(self, tag: int) -> dict[str, str]:
        """The labels as a new dictionary."""
        return self.labels.of(tag)

    def use(self, tags: npt.NDArray[np.int32]) -> None:
        """Count new pods."""
        np.add.at(self.users, tags, 1)
        for tag in self._unused.keys() & tags.tolist():
            del self._unused[tag]

    def release(self, tag: int) -> int:
        """Count a removed pod; returns a tag that is dropped because of this, or -1."""
        self.users[tag] -= 1
        if self.users[tag] == 0 and tag:
            self._unused[tag] = None
            if len(self._unused) > TAG_LIMIT:
                return self._forget(next(iter(self._unused)))
        return -1

    def matching(self, selector: Selector) -> BoolArray:
        """bool[tag]: tags whose labels match a selector."""
        every_row = np.arange(len(self), dtype=np.int64)
        if selector.nothing:
            return np.zeros(len(self), np.bool_)
        return self.labels.all_match(selector.rules, every_row)

    def within(self, namespaces: Iterable[str]) -> BoolArray:
        """bool[tag]: tags of some namespaces."""
        numbers = [self._numbers[name] for name in namespaces if name in self._numbers]
        mask = np.zeros(len(self), np.bool_)
        for number in numbers:
            mask |= self._namespace[: len(self)] == number
        return mask

    def _intern_form(self, form: Form) -> int:
        found = self._by_form.get(form)
        if found is not None:
            return found
        tag = self._free.pop() if self._free else self._extend()
        namespace, labels, owner = form
        self.namespaces[tag], self.owners[tag], self._forms[tag] = namespace, owner, form
        self._namespace[tag] = self._numbers.setdefault(namespace, len(self._numbers))
        self.labels.put(tag, dict(labels))
        self._by_form[form] = tag
        return tag

    def _extend(self) -> int:
        tag = len(self.namespaces)
        if tag == len(self.users):
            self.users = np.concatenate([self.users, np.zeros(tag, np.int32)])
            self._namespace = np.concatenate([self._namespace, np.zeros(tag, np.int32)])
            self.labels.grow(2 * tag)
        self.namespaces.append("")
        self.owners.append(None)
        self._forms.append(("", (), None))
        self._spellings.append([])
        return tag

    def _forget(self, tag: int) -> int:
        del self._unused[tag]
        self.forgotten += 1
        known = self._by_bytes[self.namespaces[tag]]
        for spelt in self._spellings[tag]:
            del known[spelt]
        self._spellings[tag].clear()
        del self._by_form[self._forms[tag]]
        self.labels.remove(tag)
        self.namespaces[tag], self.owners[tag], self._forms[tag] = "", None, ("", (), None)
        self._free.append(tag)
        return tag


def _labels(raw: bytes | msgspec.Raw) -> Mapping[str, str]:
    try:
        return (_LABELS.decode(raw) or {}) if raw else {}
    except msgspec.DecodeError as error:
        raise InputError("metadata.labels", None, f"texts by name: {error}") from error


def _controller(raw: bytes | msgspec.Raw) -> Owner | None:
    """The owner that is the controller; ``None`` if the owners are unreadable."""
    try:
        owners = (_OWNERS.decode(raw) or ()) if raw else ()
    except msgspec.DecodeError:
        return None
    return next(((each.kind, each.name) for each in owners if each.controller), None)
