"""Light: a kind of example.com."""

from stretto.api.wire.meta import ObjectMeta, Wire


class LightSpec(Wire, frozen=True):
    """The settings of a light."""

    #: Brightness in percent.
    brightness: int = 100


class Light(Wire, frozen=True):
    """A light."""

    #: Identity.
    metadata: ObjectMeta
    #: Its settings.
    spec: LightSpec = LightSpec()
