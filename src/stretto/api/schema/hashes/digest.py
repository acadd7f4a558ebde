"""The hashes of Kubernetes' controllers: FNV-1 and FNV-1a of 32 bits, as labels."""

import struct
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.schema.golang import html_escaped
from stretto.api.schema.hashes.dump import dumped_template
from stretto.api.wire.generated_names import safe_encoded

_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF


def template_hash(template: Mapping[str, Any], collisions: int | None = None) -> str:
    """The hash of a pod template as a label, such as ``6d4cf56db6`` (``ComputeHash``).

    Args:
        template: the template with its defaults.
        collisions: ``status.collisionCount`` of the workload; ``None`` without one.
    """
    text = dumped_template(template).encode()
    suffix = b"" if collisions is None else struct.pack("<Q", collisions)
    return safe_encoded(_fnv_1a(text + suffix))


def revision_hash(data: Mapping[str, Any], collisions: int = 0) -> str:
    """The hash of the data of a ControllerRevision as a label (``HashControllerRevision``)."""
    return safe_encoded(_fnv_1(sorted_json(data) + str(collisions).encode()))


def sorted_json(data: Mapping[str, Any]) -> bytes:
    """JSON as Go encodes a map: sorted and escaped."""
    return html_escaped(msgspec.json.encode(data, order="deterministic"))


def _fnv_1a(data: bytes) -> int:
    found = _OFFSET
    for each in data:
        found = ((found ^ each) * _PRIME) & _MASK
    return found


def _fnv_1(data: bytes) -> int:
    found = _OFFSET
    for each in data:
        found = ((found * _PRIME) & _MASK) ^ each
    return found
