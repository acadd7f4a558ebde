"""The versions of OpenAPI, and the references between their schemas."""

from enum import Enum
from typing import Any

Json = dict[str, Any]


class SchemaDialect(Enum):
    """A version of OpenAPI; the value is the prefix of references to its schemas."""

    #: Version 2.
    V2 = "#/definitions/"
    #: Version 3.
    V3 = "#/components/schemas/"

    def reference(self, name: str) -> Json:
        """Return a reference to a schema."""
        return {"$ref": self.value + name}

    def member(self, name: str) -> Json:
        """Return a reference next to which other keywords are allowed."""
        found = self.reference(name)
        return {"allOf": [found]} if self is SchemaDialect.V3 else found
