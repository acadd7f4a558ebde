"""Pods of one template come as texts that differ in their names alone: each is decoded once.

A body is cut where its name stands. Whoever has been seen twice with the same text on both sides,
or is followed by its like, is a pattern, and its further pods cost a search instead of a decoder.
That the cut is really the name, and nothing else depends on it, is proved when the pattern is made:
the text is decoded again without the name. A name of letters, digits, '-' and '.' cannot end the
JSON string that it stands in, so what holds for one such name holds for all.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.api.wire.limits import MAX_BYTES
from stretto.api.wire.names import SUBDOMAIN_CHARS, are_dns_subdomains, is_dns_subdomain
from stretto.base.errors import InputError
from stretto.stores.embedded.admission import decode_pod

KEPT: Final = 12 << 20
"""Bytes of text after which all patterns are forgotten, to be learnt again: 4,000 usual pods."""
SAMPLE: Final = 96
"""Bytes behind the name by which a pattern is looked for: mostly namespace and first labels."""
ALIKE: Final = 8
"""Patterns of one sample that are kept, the newest: gangs of one job follow one another."""
SEEN: Final = 1 << 15
"""Texts of which is remembered that they were seen once; all are forgotten when there are more."""
_MARKS: Final = (b'"name":"', b'"name": "')


class TemplateFacts(NamedTuple):
    """What pods of one template have in common."""

    #: The text up to the name.
    before: bytes
    #: The text from behind the name on.
    after: bytes
    #: The head that all of them share; it has no name.
    head: PodHead


class TemplateCache:
    """Reads new pods; one for each store."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._patterns: dict[bytes, deque[TemplateFacts]] = {}
        self._learnt = 0
        self._seen: set[int] = set()
        self._last: TemplateFacts | None = None

    def read(self, bodies: Sequence[bytes]) -> tuple[list[str], list[PodHead]]:
        """New pods' names, empty where the store is to make one up, and their heads.

        A head that many pods share has no name; theirs are sound.

        Raises:
            InputError: a pod is too large, no JSON, or a field is not what its type says.
        """
        names, heads = list[str](), list[PodHead]()
        last = self._last
        start, stop = _around(last)
        for at, body in enumerate(bodies):
            if last is None or not (body.startswith(last.before) and body.endswith(last.after)):
                last = self._last = self._find(body)
                if last is None:
                    name, head = self._decode(body, bodies[at + 1 : at + 2])
                    names.append(name)
                    heads.append(head)
                    last = self._last
                    start, stop = _around(last)
                    continue
                start, stop = _around(last)
            names.append(str(body[start:stop], "ascii", "replace"))
            heads.append(last.head)
        if not are_dns_subdomains(names):
            self._decode_named(bodies, names, heads)
        return names, heads

    def read_one(self, body: bytes) -> tuple[str, PodHead]:
        """The same of one pod."""
        (name,), (head,) = self.read((body,))
        return name, head

    def _decode_named(
        self, bodies: Sequence[bytes], names: list[str], heads: list[PodHead]
    ) -> None:
        """Decode those alone that have a name by which they cannot be told from their text."""
        for at, (name, head) in enumerate(zip(names, heads, strict=True)):
            if name and not head.metadata.name and not is_dns_subdomain(name):
                heads[at] = own = decode_pod(bodies[at])
                names[at] = own.metadata.name

    def _find(self, body: bytes) -> TemplateFacts | None:
        """The pattern of a body, if it has one."""
        _, end = _cut(body)
        for pattern in self._patterns.get(body[end : end + SAMPLE], ()):
            if body.endswith(pattern.after) and body.startswith(pattern.before):
                return pattern
        return None

    def _decode(self, body: bytes, following: Sequence[bytes]) -> tuple[str, PodHead]:
        """Read a pod of no pattern; its text is one if its like was seen before or follows."""
        head = decode_pod(body)
        name, (start, end) = head.metadata.name, _cut(body)
        if start and is_dns_subdomain(name) and name == str(body[start:end], "ascii", "replace"):
            before, after = body[:start], body[end:]
            text, alike = hash(after), [b for b in following if b.startswith(before)]
            if text in self._seen or any(each.endswith(after) for each in alike):
                head = self._learn(before, after, head)
            else:
                if len(self._seen) >= SEEN:
                    self._seen.clear()
                self._seen.add(text)
        return name, head

    def _learn(self, before: bytes, after: bytes, seen: PodHead) -> PodHead:
        """Keep a pattern, if the cut is the name and no other part of the head follows it.

        Returns the head that its pods share, or the one that was seen where it is no pattern.
        """
        if len(before) + SUBDOMAIN_CHARS + len(after) > MAX_BYTES:
            return seen
        try:
            nameless = decode_pod_head(before + after)
        except InputError:
            return seen
        shared = _without_name(seen)  # whose raw parts are of the pod's own text, that stays anyway
        if nameless.metadata.name or nameless != shared:
            return seen
        if self._learnt >= KEPT:
            self._patterns.clear()
            self._learnt = 0
        self._learnt += len(before) + len(after)
        self._last = TemplateFacts(before, after, shared)
        alike = self._patterns.setdefault(after[:SAMPLE], deque(maxlen=ALIKE))
        alike.appendleft(self._last)
        return shared


def _around(pattern: TemplateFacts | None) -> tuple[int, int]:
    """Where names begin and, counted from behind, end in texts of a pattern."""
    return (0, 0) if pattern is None else (len(pattern.before), -len(pattern.after))


def _cut(body: bytes) -> tuple[int, int]:
    """Where the first name begins and ends; zeros where there is none."""
    for mark in _MARKS:
        start = body.find(mark) + len(mark)
        if start >= len(mark):
            return start, body.find(b'"', start)
    return 0, 0


def _without_name(head: PodHead) -> PodHead:
    """The same head for all pods of a template."""
    metadata = msgspec.structs.replace(head.metadata, name="")
    return msgspec.structs.replace(head, metadata=metadata)
