"""Pages of lists: their continue tokens, and the states that they show."""

import base64
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.syntax import json_fault
from stretto.stores.store import Record
from stretto.web.api.failures import bad_request

_KEPT: Final = 256
_TOKEN_VERSION: Final = "meta.k8s.io/v1"


class Snapshots:
    """Recent lists, so that later pages show the state of the first page."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._lists: OrderedDict[tuple[Kind, int], Sequence[Record]] = OrderedDict()

    def keep(self, kind: Kind, version: int, records: Sequence[Record]) -> None:
        """Keep all objects of a kind at a version."""
        self._lists[kind, version] = records
        self._lists.move_to_end((kind, version))
        while len(self._lists) > _KEPT:
            self._lists.popitem(last=False)

    def at(self, kind: Kind, version: int) -> Sequence[Record] | None:
        """Return all objects of a kind at a version; ``None`` if they are not kept."""
        return self._lists.get((kind, version))

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
