"""Creates the tokens of service accounts, like a controller manager."""

import base64
from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache

_SECRET: Final = Kind("", "v1", "Secret", "secrets")
_TYPE: Final = "kubernetes.io/service-account-token"


class TokenController:
    """Gives each secret of a service account a token."""

    def __init__(self, cache: StoreCache) -> None:
        """Initialize for the secrets of one cluster."""
        #: Name in logs and messages.
        self.name = f"{cache.name}/tokens"
        self._cache = cache
        self._secrets = cache.follow(_SECRET)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of a secret of the token type."""
        if change.kind == _SECRET and change.object.fields.get("type") == _TYPE:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write the token of one secret."""
        assert isinstance(key, tuple)
        item = self._secrets.get(*key)
        if item is not None and not (item.fields.get("data") or {}).get("token"):
            token = base64.b64encode(f"token-{item.record.uid}".encode()).decode()
            writes.update(self._cache.store, item, {**item.fields, "data": {"token": token}})
        return None
