"""Objects with patches applied, and the refusals that quote them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.edit.strategic import unordered
from stretto.api.schema.golang import go_value
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.failures import ApiError
from stretto.web.api.patching.media import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from stretto.web.api.patching.quoting import json_of, written_merge, written_operations

Json = dict[str, Any]

_NO_KIND: Final = Kind("", "", "", "")


@dataclass(frozen=True)
class PatchResult:
    """A patched object that is not decoded by its kind yet."""

    #: The object.
    item: Json
    #: Duplicate and unknown members of the patch itself.
    problems: Sequence[str] = ()
    #: The object before the patch.
    before: Json = field(default_factory=dict)
    #: The decoded patch.
    change: Any = None
    #: The media type of the patch.
    media: str = MERGE_PATCH
    #: Type of the object; ``None`` for a custom resource.
    struct: StructType | None = None

    @property
    def is_strategic(self) -> bool:
        """Return whether the object is the result of a strategic merge."""
        return self.media == STRATEGIC_PATCH

    @cached_property
    def written(self) -> Any:
        """The object with its members in the order of the text that is decoded.

        The order is that of findings; it is not computed before there are any.
        """
        write = written_operations if self.media == JSON_PATCH else written_merge
        return write(self.before, self.change, self.struct)

    def refusal(self, why: str) -> ApiError:
        """422 about a patched object that does not match its kind.

        The message quotes the strategic patch, or the patched object.
        """
        text = go_value(unordered(self.change)) if self.is_strategic else json_of(self.written)
        cause = ("FieldValueInvalid", f"Invalid value: {quoted(text)}: {why}", "patch")
        return failures.invalid(_NO_KIND, "", [cause])
