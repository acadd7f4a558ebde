"""Caches of functions of texts: large texts of clients are not kept."""

import json
from collections.abc import Callable

import pytest

from stretto.api.wire.quantity import canonical
from stretto.stores.embedded.admission import are_labels
from tests.support.memory import bytes_kept

SIZE = 1 << 18


def padded(number: int) -> str:
    return f"{number}{' ' * SIZE}"


def labels(number: int) -> bytes:
    return json.dumps({f"key-{number}": "x" * SIZE}).encode()


@pytest.mark.parametrize(
    "call",
    [lambda n: canonical(padded(n)), lambda n: are_labels(labels(n))],
    ids=["amount", "labels"],
)
def test_large_texts_are_not_kept(call: Callable[[int], object]) -> None:
    assert bytes_kept(call) < SIZE
