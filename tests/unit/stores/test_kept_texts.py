"""Caches of functions of texts: large texts of clients are not kept."""

import json
import tracemalloc
from collections.abc import Callable

import pytest

from stretto.api.wire.quantity import canonical
from stretto.stores.embedded.admission import are_labels

SIZE = 1 << 18


def padded(number: int) -> str:
    return f"{number}{' ' * SIZE}"


def labels(number: int) -> bytes:
    return json.dumps({f"key-{number}": "x" * SIZE}).encode()


def bytes_kept(call: Callable[[int], object]) -> int:
    """Return the bytes that remain after calls with several numbers."""
    tracemalloc.start()
    for number in range(1, 9):
        call(number)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept


@pytest.mark.parametrize(
    "call",
    [lambda n: canonical(padded(n)), lambda n: are_labels(labels(n))],
    ids=["amount", "labels"],
)
def test_large_texts_are_not_kept(call: Callable[[int], object]) -> None:
    assert bytes_kept(call) < SIZE
