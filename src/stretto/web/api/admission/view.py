"""The stored objects as admission reads them."""

from collections.abc import Iterator
from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]


class StorageView:
    """The objects of a store, as admission reads them."""

    def __init__(self, storage: ObjectStorage) -> None:
        """Over the objects of a server."""
        self._storage = storage

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """One object, or ``None``."""
        return self._storage.view(kind, namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Json]:
        """The objects of a kind; of one namespace unless it is empty."""
        return iter(self._storage.views_of(kind, namespace))
