"""The versions of OpenAPI and how their schemas refer to others."""

from enum import Enum
from typing import Any

Json = dict[str, Any]


class SchemaDialect(Enum):
    """A version of OpenAPI; the value is the place of its schemas."""

    #: Version 2.
    V2 = "#/definitions/"
    #: Version 3.
    V3 = "#/components/schemas/"

    def reference(self, name: str) -> Json:
        """A reference to a schema."""
        return {"$ref": self.value + name}

    def member(self, name: str) -> Json:
        """A reference that other words may stand next to."""
        found = self.reference(name)
        return {"allOf": [found]} if self is SchemaDialect.V3 else found
