"""Parts of Kubernetes' schemas besides their types: descriptions of metadata, and marks.

``data/words.json`` contains merge patches of schemas by name, in the dialect of version 3.
``kubectl explain`` prints the descriptions of metadata.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from stretto.api.edit.patch import merge_patch
from stretto.web.api.discovery.openapi.dialects import SchemaDialect

Json = dict[str, Any]

_DATA: Final = "data/words.json"
_NEW: Final = frozenset({"default", "allOf", "$ref"})
"""Members that differ in schemas of version 2, or do not exist there."""


def with_words(schema: Json, name: str, dialect: SchemaDialect) -> Json:
    """Return a schema with the additional parts for its name."""
    found: Json = merge_patch(schema, _words(dialect).get(name, {}))
    return found


@cache
def _words(dialect: SchemaDialect) -> Mapping[str, Json]:
    text = resources.files("stretto.web.api.discovery.openapi").joinpath(_DATA).read_bytes()
    found: dict[str, Json] = msgspec.json.decode(text)
    return (
        found if dialect is SchemaDialect.V3 else {key: _older(each) for key, each in found.items()}
    )


def _older(words: Json) -> Json:
    """Convert the parts to version 2."""
    return {
        key: _older(each) if isinstance(each, dict) else each
        for key, each in words.items()
        if key not in _NEW
    }
