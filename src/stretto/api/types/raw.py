"""Objects of kinds for which Stretto has no struct."""

from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import ObjectMeta, Wire


class MetadataOnly(Wire, frozen=True):
    """The part of an object that every kind has."""

    #: Identity and bookkeeping.
    metadata: ObjectMeta = ObjectMeta()


class RawObject(Wire, frozen=True):
    """An object whose metadata is decoded and whose other fields stay JSON."""

    #: Its kind.
    of: Kind
    #: Identity and bookkeeping.
    metadata: ObjectMeta
    #: The whole object as JSON.
    body: bytes
