"""Pages of lists: their continue tokens, and the states that they show."""

import base64
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.syntax import json_fault
from stretto.base.clock import Clock
from stretto.base.limited import LimitedMap
from stretto.stores.store import Record
from stretto.web.api.failures import bad_request
from stretto.web.api.storage import ObjectStorage

COMPACTION_S: Final = 300.0
"""Seconds between two compactions, as in kube-apiserver."""
_KEPT: Final = 256
"""Maximum number of kept lists."""
_TOKEN_VERSION: Final = "meta.k8s.io/v1"


class Snapshots:
    """Older states of kinds: recent lists, so that later pages show the state of the first page.

    As in kube-apiserver, a compaction drops the states that the previous compaction had seen as
    current, so a continue token expires 5 to 10 minutes after its list if anything has changed
    since. It expires earlier if 256 later lists are kept and the store has dropped the changes
    since.
    """

    def __init__(self, storage: ObjectStorage, clock: Clock) -> None:
        """Read older states from a storage.

        Args:
            storage: the objects.
            clock: determines when compactions are due.
        """
        self._storage = storage
        self._clock = clock
        self._lists = LimitedMap[tuple[Kind, int], Sequence[Record]](_KEPT)
        self._due = clock.monotonic() + COMPACTION_S
        self._oldest = self._next_oldest = 0

    def keep(self, kind: Kind, version: int, records: Sequence[Record]) -> None:
        """Keep all objects of a kind at a version."""
        self._lists[kind, version] = records

    def at(self, kind: Kind, version: int) -> Sequence[Record] | None:
        """Return all objects of a kind at a version; ``None`` if they are not kept."""
        if version < self._oldest:
            return None
        kept = self._lists.get((kind, version))
        return self._storage.records_at(kind, version) if kept is None else kept

    def move(self) -> None:
        """Run the compaction if it is due."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + COMPACTION_S
        self._oldest, self._next_oldest = self._next_oldest, self._storage.version
        for key in [each for each in self._lists if each[1] < self._oldest]:
            del self._lists[key]

    def forget(self, kinds: Sequence[Kind] = ()) -> None:
        """Drop the lists of some kinds, or all; later pages are then expired."""
        for key in list(self._lists):
            if not kinds or key[0] in kinds:
                del self._lists[key]


class PageToken(msgspec.Struct):
    """The content of a continue token."""

    #: Version of the format.
    v: str = ""
    #: Version of the list.
    rv: int = 0
    #: First key of the page.
    start: str = ""


def encode_token(version: int, start: str) -> str:
    """Encode the token of a page: version of the list and first key."""
    text = msgspec.json.encode(PageToken(_TOKEN_VERSION, version, start))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode_token(token: str) -> PageToken:
    """Decode a token.

    Raises:
        ApiError: the token is malformed.
    """
    prefix = "invalid continue token: continue key is not valid: "
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
    except ValueError as error:
        raise bad_request(f"{prefix}illegal base64 data at input byte 0") from error
    try:
        found = msgspec.json.decode(raw, type=PageToken)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"{prefix}{json_fault(raw) or error}") from error
    if found.v != _TOKEN_VERSION or not found.rv:
        text = f"incorrect encoded start resourceVersion (version {found.v})"
        raise bad_request(prefix + text)
    if ".." in found.start.split("/"):
        raise bad_request(prefix + found.start)
    return found
