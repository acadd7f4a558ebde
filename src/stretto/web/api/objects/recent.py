"""Answers about texts that recur: the objects of one template differ in their names only."""

from collections.abc import Callable
from functools import lru_cache
from typing import Concatenate, Final, ParamSpec, TypeVar

_KEPT: Final = 256
"""Answers that are kept."""
_LARGEST: Final = 16 << 10
"""Bytes of the largest text whose answer is kept: hostile texts use at most 4 MiB."""

Answer = TypeVar("Answer")
Rest = ParamSpec("Rest")


def recent(
    function: Callable[Concatenate[bytes, Rest], Answer],
) -> Callable[Concatenate[bytes, Rest], Answer]:
    """Keep the latest answers of a pure function of a text; callers do not change them."""
    kept = lru_cache(_KEPT)(function)

    def answered(text: bytes, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Answer:
        if len(text) > _LARGEST:
            return function(text, *args, **kwargs)
        return kept(text, *args, **kwargs)  # type: ignore[arg-type]

    return answered
