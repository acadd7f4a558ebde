"""View of the stored objects for admission."""

from collections.abc import Iterator
from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]


class StorageView:
    """View of the objects of a store for admission."""

    def __init__(self, storage: ObjectStorage) -> None:
        """View the objects of a server."""
        self._storage = storage

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """Return one object, or ``None``."""
        return self._storage.view(kind, namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Json]:
        """Return the objects of a kind; of all namespaces if ``namespace`` is empty."""
        return iter(self._storage.views_of(kind, namespace))
