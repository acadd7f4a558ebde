"""Pages of lists: their continue tokens, and the states that they show."""

import base64
import posixpath
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.api.schema.golang import json_type
from stretto.api.wire.kinds import Kind
from stretto.api.wire.syntax import json_fault
from stretto.base.clock import Clock
from stretto.base.limited import LimitedMap
from stretto.stores.store import Record
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.storage import ObjectStorage

COMPACTION_S: Final = 300.0
"""Seconds between two compactions, as in kube-apiserver."""
_KEPT: Final = 256
"""Maximum number of kept lists."""
_TOKEN_VERSION: Final = "meta.k8s.io/v1"
_NOT_BASE64: Final = re.compile(rb"[^A-Za-z0-9_-]")
_MEMBERS: Final[dict[str, tuple[type, str]]] = {
    "v": (str, "string"),
    "rv": (int, "int64"),
    "start": (str, "string"),
}
"""Maps the members of a token to their types, here and in Go."""


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
    text = msgspec.json.encode(PageToken(_TOKEN_VERSION, version, f"/{start}"))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode_token(token: str) -> PageToken:
    """Decode a token.

    Raises:
        ApiError: the token is malformed.
    """
    found = _content(token)
    if found.v != _TOKEN_VERSION:
        raise _invalid(f"server does not recognize this encoded version {found.v}")
    if not found.rv:
        raise _invalid(f"incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not found.start:
        raise _invalid(f"encoded start key empty (version {_TOKEN_VERSION})")
    key = f"/{found.start.removeprefix('/')}"
    if key.startswith("//") or posixpath.normpath(key) != key:
        raise _invalid(found.start)
    return PageToken(found.v, found.rv, key[1:])


def _content(token: str) -> PageToken:
    text = token.encode("utf-8", "surrogatepass")
    strange = _NOT_BASE64.search(text)
    if strange is not None or len(text) % 4 == 1:
        offset = len(text) - 1 if strange is None else strange.start()
        raise _invalid(f"illegal base64 data at input byte {offset}")
    raw = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    fault = json_fault(raw)
    if fault:
        raise _invalid(fault)
    try:
        stated = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from error
    if stated is None:
        return PageToken()
    if not isinstance(stated, dict):
        target = "Go value of type storage.continueToken"
        raise _invalid(f"json: cannot unmarshal {json_type(stated)} into {target}")
    members = {name: value for name, value in stated.items() if value is not None}
    for name, (kind, type_name) in _MEMBERS.items():
        value = members.get(name, kind())
        if type(value) is not kind:
            what = json_type(value) + f" {value}" * isinstance(value, float)
            target = f"Go struct field continueToken.{name} of type {type_name}"
            raise _invalid(f"json: cannot unmarshal {what} into {target}")
    return msgspec.convert(members, PageToken)


def _invalid(problem: str) -> ApiError:
    prefix = "invalid continue token: continue key is not valid"
    return bad_request(f"{prefix}: {problem}")
