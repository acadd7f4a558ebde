"""The stored objects as admission reads them."""

from collections.abc import Iterator
from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]


class StorageView:
    """The objects of a store, as admission reads them."""

    def __init__(self, storage: ObjectStorage) -> None:
        """Over the objects of a server."""
        self._storage = storage

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """One object, or ``None``."""
        found = self._storage.find(kind, namespace, name)
        return None if found is None else found.item

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Json]:
        """The objects of a kind; of one namespace unless it is empty."""
        return (rendered(each) for each in self._storage.listing(kind, namespace).records)
