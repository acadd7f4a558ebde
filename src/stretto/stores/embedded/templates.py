"""Cache of pod templates: pods of one template are decoded once.

Pods of one template are texts that differ only in their names. A body is split at its name. A text
is a template if it is seen twice with the same text on both sides, or followed by a similar one.
Further pods of the template cost a search instead of a decoding. When a template is learned, the
text is decoded again without the name; this proves that the split is at the name and that nothing
else depends on it. A name of letters, digits, '-' and '.' cannot end the JSON string that contains
it. Therefore what is true for one such name is true for all.
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
"""Bytes of text after which all templates are dropped and learned again: 4,000 typical pods."""
SAMPLE: Final = 96
"""Number of bytes after the name that identify a template: mostly namespace and first labels."""
ALIKE: Final = 8
"""Number of templates kept per sample, newest first: gangs of one job follow one another."""
SEEN: Final = 1 << 15
"""Number of texts stored as seen once; beyond it, all are dropped."""
_MARKS: Final = (b'"name":"', b'"name": "')


class TemplateFacts(NamedTuple):
    """Common parts of the pods of one template."""

    #: The text before the name.
    before: bytes
    #: The text after the name.
    after: bytes
    #: The common head, without a name.
    head: PodHead


class TemplateCache:
    """Decoder of new pods; one per store."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._patterns: dict[bytes, deque[TemplateFacts]] = {}
        self._learnt = 0
        self._seen: set[int] = set()
        self._last: TemplateFacts | None = None

    def read(self, bodies: Sequence[bytes]) -> tuple[list[str], list[PodHead]]:
        """Return the names of new pods, empty if the store generates them, and their heads.

        A common head has no name; the names of its pods are valid.

        Raises:
            InputError: a pod is too large, not JSON, or a field has the wrong type.
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
        """Return name and head of one pod, as ``read`` does."""
        (name,), (head,) = self.read((body,))
        return name, head

    def _decode_named(
        self, bodies: Sequence[bytes], names: list[str], heads: list[PodHead]
    ) -> None:
        """Decode only pods whose name cannot be separated from their text."""
        for at, (name, head) in enumerate(zip(names, heads, strict=True)):
            if name and not head.metadata.name and not is_dns_subdomain(name):
                heads[at] = own = decode_pod(bodies[at])
                names[at] = own.metadata.name

    def _find(self, body: bytes) -> TemplateFacts | None:
        """Return the template of a body, or ``None``."""
        _, end = _cut(body)
        for pattern in self._patterns.get(body[end : end + SAMPLE], ()):
            if body.endswith(pattern.after) and body.startswith(pattern.before):
                return pattern
        return None

    def _decode(self, body: bytes, following: Sequence[bytes]) -> tuple[str, PodHead]:
        """Decode a pod without a template; learn its text if a similar one was seen."""
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
        """Learn a template if the split is at the name and nothing else depends on the name.

        Returns the common head of its pods, or the given head if the text is not a template.
        """
        if len(before) + SUBDOMAIN_CHARS + len(after) > MAX_BYTES:
            return seen
        try:
            nameless = decode_pod_head(before + after)
        except InputError:
            return seen
        shared = _without_name(seen)  # its raw parts refer to the pod's own text
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
    """Start of names in texts of a template, and their end counted from the end."""
    return (0, 0) if pattern is None else (len(pattern.before), -len(pattern.after))


def _cut(body: bytes) -> tuple[int, int]:
    """Start and end of the first name in a body; zeros if there is none."""
    for mark in _MARKS:
        start = body.find(mark) + len(mark)
        if start >= len(mark):
            return start, body.find(b'"', start)
    return 0, 0


def _without_name(head: PodHead) -> PodHead:
    """The common head of a template."""
    metadata = msgspec.structs.replace(head.metadata, name="")
    return msgspec.structs.replace(head, metadata=metadata)
