"""A store in a file of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.stores.embedded.sqlite import SqliteStore
from tests.unit.stores.contents import sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Path of the store's file."""
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """An empty store in that file."""
    opened = sqlite(path)
    yield opened
    opened.close()
