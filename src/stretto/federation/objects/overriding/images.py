"""Changes of image names, part by part."""

import re
from collections.abc import Iterable
from typing import Final

from stretto.api.types.federation.policies import (
    ImageComponent,
    ImageOperation,
    OverriderOperator,
)
from stretto.base.errors import InputError

_IMAGE: Final = re.compile(
    r"(?:(?P<registry>[^/]*[.:][^/]*|localhost)/)?(?P<repository>[^:@]+)"
    r"(?::(?P<tag>[^@]+))?(?:@(?P<digest>.+))?"
)
_PARTS: Final = {
    ImageComponent.REGISTRY: "registry",
    ImageComponent.REPOSITORY: "repository",
    ImageComponent.TAG: "tag",
    ImageComponent.DIGEST: "digest",
}
_RULES: Final = {
    "tag": (re.compile(r"\w[\w.-]{0,127}", re.ASCII), "a tag such as v1.2"),
    "digest": (re.compile(r"[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,}"), "a digest such as sha256:ab12…"),
}
"""Pattern of each part, with its description for messages."""


def changed_image(path: str, image: str, changes: Iterable[ImageOperation]) -> str:
    """An image name with some parts changed; ``path`` names it in messages.

    Raises:
        InputError: the name is malformed, a part to add exists already, or a value does not match
            its part.
    """
    match = _IMAGE.fullmatch(image)
    if match is None:
        raise InputError(path, image, "an image name")
    parts = match.groupdict()
    for change in changes:
        name = _PARTS[change.image_component]
        adds = change.operator is OverriderOperator.ADD_IF_ABSENT
        if adds and not change.value:
            raise InputError(path, change.value, f"a {name} to add")
        if adds and parts[name]:
            raise InputError(path, image, f"an image without {name}", "overwrite it instead")
        parts[name] = None if change.operator is OverriderOperator.DELETE else change.value
        _check(path, name, parts[name])
    made = f"{parts['registry']}/" if parts["registry"] else ""
    made += parts["repository"] or ""
    made += f":{parts['tag']}" if parts["tag"] else ""
    made += f"@{parts['digest']}" if parts["digest"] else ""
    return made


def _check(path: str, name: str, value: str | None) -> None:
    """Refuse a value that does not match the pattern of a part."""
    if value and name in _RULES:
        pattern, expected = _RULES[name]
        if not pattern.fullmatch(value):
            raise InputError(path, value, expected, "correct the overrider")
