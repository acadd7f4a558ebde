"""Pods of one template come as texts that differ in their names alone: each is decoded once.

A body is cut where its name stands. Whoever has been seen twice with the same text on both sides is
a pattern, and its further pods cost a search instead of a decoder. That the cut is really the name,
and nothing else depends on it, is proved when the pattern is made: the text is decoded again with
another name. A name of letters, digits, '-' and '.' cannot end the JSON string that it stands in,
so what holds for one such name holds for all.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from stretto.api.heads import PodHead, decode_pod_head
from stretto.api.limits import MAX_BYTES
from stretto.api.names import SUBDOMAIN_CHARS, is_dns_subdomain
from stretto.base.errors import InputError
from stretto.stores.admission import decode_pod

KEPT: Final = 12 << 20
"""Bytes of text after which all patterns are forgotten, to be learnt again: 4,000 usual pods."""
SAMPLE: Final = 96
"""Bytes behind the name by which a pattern is looked for: mostly namespace and first labels."""
ALIKE: Final = 8
"""Patterns of one sample that are kept, the newest: gangs of one job follow one another."""
SEEN: Final = 1 << 15
"""Texts of which is remembered that they were seen once; all are forgotten when there are more."""
_MARKS: Final = (b'"name":"', b'"name": "')
_OTHER: Final = "another-name"
"""The name that proves a cut: one that no text is likely to have there already."""


class Pattern(NamedTuple):
    """What pods of one template have in common."""

    #: The text up to the name.
    before: bytes
    #: The text from behind the name on.
    after: bytes
    #: The head that all of them share; it has no name.
    head: PodHead


class Patterns:
    """Reads new pods; one for each store."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._patterns: dict[bytes, deque[Pattern]] = {}
        self._learnt = 0
        self._seen: set[int] = set()
        self._last: Pattern | None = None

    def read(self, bodies: Iterable[bytes]) -> Iterator[tuple[str, PodHead]]:
        """New pods' names, empty where the store is to make one up, and their heads.

        A head that many pods share has no name; theirs are sound.

        Raises:
            InputError: a pod is too large, no JSON, or a field is not what its type says.
        """
        last = self._last
        for body in bodies:
            if last is None or not (body.startswith(last.before) and body.endswith(last.after)):
                last = self._last = self._find(body)
                if last is None:
                    yield self._decode(body)
                    continue
            name = str(body[len(last.before) : -len(last.after)], "ascii", "replace")
            if is_dns_subdomain(name):
                yield name, last.head
            else:
                own = decode_pod(body)
                yield own.metadata.name, own

    def read_one(self, body: bytes) -> tuple[str, PodHead]:
        """The same of one pod."""
        return next(self.read((body,)))

    def _find(self, body: bytes) -> Pattern | None:
        """The pattern of a body, if it has one."""
        _, end = _cut(body)
        for pattern in self._patterns.get(body[end : end + SAMPLE], ()):
            if body.endswith(pattern.after) and body.startswith(pattern.before):
                return pattern
        return None

    def _decode(self, body: bytes) -> tuple[str, PodHead]:
        """Read a pod of no pattern, and make one of it if its like was seen before."""
        head = decode_pod(body)
        name, (start, end) = head.metadata.name, _cut(body)
        if start and is_dns_subdomain(name) and name == str(body[start:end], "ascii", "replace"):
            text = hash(body[end:])
            if text in self._seen:
                head = self._learn(Pattern(body[:start], body[end:], head))
            else:
                if len(self._seen) >= SEEN:
                    self._seen.clear()
                self._seen.add(text)
        return name, head

    def _learn(self, seen: Pattern) -> PodHead:
        """Keep a pattern, if the cut is the name and no other part of the head follows it.

        Returns the head that its pods share, or the one that was seen where it is no pattern.
        """
        if len(seen.before) + SUBDOMAIN_CHARS + len(seen.after) > MAX_BYTES:
            return seen.head
        try:
            other = decode_pod_head(b"%b%b%b" % (seen.before, _OTHER.encode(), seen.after))
        except InputError:
            return seen.head
        nameless = [_named(head, "") for head in (seen.head, other)]
        if other.metadata.name != _OTHER or nameless[0] != nameless[1]:
            return seen.head
        if self._learnt >= KEPT:
            self._patterns.clear()
            self._learnt = 0
        self._learnt += len(seen.before) + len(seen.after)
        alike = self._patterns.setdefault(seen.after[:SAMPLE], deque(maxlen=ALIKE))
        alike.appendleft(Pattern(seen.before, seen.after, nameless[0]))
        return nameless[0]


def _cut(body: bytes) -> tuple[int, int]:
    """Where the first name begins and ends; zeros where there is none."""
    for mark in _MARKS:
        start = body.find(mark) + len(mark)
        if start >= len(mark):
            return start, body.find(b'"', start)
    return 0, 0


def _named(head: PodHead, name: str) -> PodHead:
    """A head with another name."""
    metadata = msgspec.structs.replace(head.metadata, name=name)
    return msgspec.structs.replace(head, metadata=metadata)
