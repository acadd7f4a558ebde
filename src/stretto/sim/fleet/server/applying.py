"""Server-side apply in an embedded member, as API servers perform it."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

import msgspec

from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.managers import (
    ManagerKey,
    Managers,
    WriteFrame,
    managed_apply,
    managed_update,
)
from stretto.api.edit.patch import PatchType
from stretto.api.schema.kubernetes import struct_of_kind
from stretto.api.wire.kinds import Kind
from stretto.stores.capabilities import Capabilities
from stretto.stores.immediate import answered
from stretto.stores.render import render
from stretto.stores.store import (
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    Update,
    Write,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper

_MANAGER: Final = "stretto-federation"
"""The field manager of all clients that apply."""
_NO_TIME: Final = "1970-01-01T00:00:00Z"
"""Time of an entry, which is irrelevant with one manager."""
_STATUS: Final[FieldSet] = {"f:status": {}}
"""Fields that an apply of an object never changes."""


class ApplyingStore(StoreWrapper):
    """Adds server-side apply by one field manager, which owns all objects, to a store."""

    def __init__(self, inner: Store) -> None:
        """Forward to ``inner``, which has no server-side apply."""
        super().__init__(inner)
        self._managers: dict[str, Managers] = {}

    @property
    def capabilities(self) -> Capabilities:
        """Those of the inner store, with apply."""
        return msgspec.structs.replace(self._inner.capabilities, applies=True)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; the status stays."""
        return [
            self._apply(kind, each) if each.applies else self._inner.patch(kind, [each])[0]
            for each in patches
        ]

    def begin(self, write: Write) -> Future[Replies]:
        """Perform a write; the returned future is finished."""
        return answered(self, write)

    # ---------------------------------------------------------------- inside

    def _apply(self, kind: Kind, patch: Patch) -> Reply:
        """Apply the fields of one existing object."""
        record = self._inner.get(kind, patch.namespace, patch.name)
        where = f"{kind.kind} {patch.name}"
        if record is None:
            text = f"{where} does not exist"
            return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, text)
        if patch.uid not in ("", record.uid) or patch.version not in (None, record.version):
            text = f"{where} has changed: it has version {record.version}"
            return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text, record)
        struct = struct_of_kind(kind.group, kind.version, kind.kind)
        if struct is None:  # without a schema, the fields are merged
            return self._inner.patch(kind, [msgspec.structs.replace(patch, type=PatchType.MERGE)])[
                0
            ]
        frame = WriteFrame(
            struct, ManagerKey(_MANAGER, "Apply", kind.api_version), _NO_TIME, _STATUS
        )
        return self._merged(record, patch, frame)

    def _merged(self, record: Record, patch: Patch, frame: WriteFrame) -> Reply:
        """Write the object with the applied fields, unless it is equal."""
        live = msgspec.json.decode(render(record))
        known = self._managers.get(record.uid)
        if known is None:
            known = managed_update({}, live, {}, frame)
        config = {key: value for key, value in patch.patch.items() if key != "status"}
        merged, after = managed_apply(live, config, known, frame, force=True)
        reply = Reply(WriteOutcome.OK, record=record)
        if merged != live:
            body = msgspec.json.encode(merged)
            change = Update(record.namespace, record.name, body, record.version)
            reply = self._inner.update(record.kind, [change])[0]
        if reply.outcome is WriteOutcome.OK:
            self._managers[record.uid] = after
        return reply
