"""Cache for functions of recurring texts: objects of one template differ only in their names."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import msgspec

_KEPT: Final = 256
"""Number of cached results."""
LARGEST: Final = 16 << 10
"""Maximum size in bytes of a text whose result is cached: hostile texts use at most 4 MiB."""

_SEEN: Final = 1 << 14
"""Number of texts that are remembered as seen."""
_seen: Final[set[int]] = set()

Answer = TypeVar("Answer")
Rest = ParamSpec("Rest")


def recent(
    function: Callable[Concatenate[bytes, Rest], Answer],
) -> Callable[Concatenate[bytes, Rest], Answer]:
    """Cache the latest results of a pure function of a text; callers must not change them."""
    kept = lru_cache(_KEPT)(function)

    def answered(text: bytes, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Answer:
        if len(text) > LARGEST:
            return function(text, *args, **kwargs)
        return kept(text, *args, **kwargs)  # type: ignore[arg-type]

    return answered


def recurs(text: bytes) -> bool:
    """Return whether a text was seen before; then the results of functions of it are worth caching.

    Texts with the hash of another one count as seen; texts above ``LARGEST`` never do.
    """
    if len(text) > LARGEST:
        return False
    key = hash(text)
    if key in _seen:
        return True
    if len(_seen) >= _SEEN:
        _seen.clear()
    _seen.add(key)
    return False


def seen_text(value: Any, size: int) -> bytes:
    """Return a value as JSON if its text was seen before; empty otherwise.

    Args:
        value: a part of an object.
        size: bytes of the request of the object; the value of a large one gets no text.
    """
    if size > LARGEST:
        return b""
    text = msgspec.json.encode(value)
    return text if recurs(text) else b""
