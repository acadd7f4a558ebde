"""Options of lists and watches, validated together as in kube-apiserver."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.api.wire.shards import ObjectShard
from stretto.stores.store import Record
from stretto.web.api import failures
from stretto.web.api.call import Call, integer_parameter, version_number
from stretto.web.api.failures import bad_request, internal
from stretto.web.api.selection.fields import FieldFilter, FieldTerm, check_fields, parse_fields
from stretto.web.api.selection.labels import LabelFilter, LabelTerm, parse_labels
from stretto.web.api.selection.parts import parse_part
from stretto.web.api.selection.shards import ShardSelector, parse_shards

Json = dict[str, Any]

EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"
_LIST_OPTIONS: Final = Kind("meta.k8s.io", "v1", "ListOptions", "")


@dataclass(frozen=True)
class Selection:
    """The selection of a list or a watch."""

    #: Namespace; empty for all.
    namespace: str = ""
    #: Label requirements.
    labels: tuple[LabelTerm, ...] = ()
    #: Field comparisons.
    fields: tuple[FieldTerm, ...] = ()
    #: Maximum number of items; 0 for all.
    limit: int = 0
    #: Token of the next page.
    token: str = ""
    #: Resource version, as text.
    version: str = ""
    #: ``resourceVersionMatch``: how the version is used.
    match: str = ""
    #: Seconds after which a watch ends; 0: no limit.
    timeout: float = 0.0
    #: True if a watch sends bookmarks.
    bookmarks: bool = False
    #: True if a watch begins with the current objects.
    initial_events: bool | None = None
    #: Ranges of hashes; ``None`` for all.
    shards: ShardSelector | None = None
    #: One of several equal parts of the objects; ``None`` for all.
    part: ObjectShard | None = None

    @property
    def is_everything(self) -> bool:
        """Return whether only the namespace selects."""
        is_whole = self.shards is None and self.part is None
        return is_whole and not self.labels and not self.fields

    @property
    def reads_content(self) -> bool:
        """Return whether labels or fields select, for which an object is decoded."""
        return bool(self.labels or self.fields)

    def matches(self, item: Json) -> bool:
        """Return whether the labels and the fields of an object are selected."""
        labels = item["metadata"].get("labels")
        return self._label_filter.matches(labels) and self._field_filter.matches(item)

    @cached_property
    def _label_filter(self) -> LabelFilter:
        return LabelFilter(self.labels)

    @cached_property
    def _field_filter(self) -> FieldFilter:
        return FieldFilter(self.fields)

    def has_in_part(self, item: Json) -> bool:
        """Return whether an object without a record is in the part."""
        metadata = item["metadata"]
        place = metadata.get("namespace", ""), metadata.get("name", "")
        return self.part is None or self.part.holds_labels(*place, metadata.get("labels"))

    def covers(self, record: Record) -> bool:
        """Return whether a record is in the namespace, in the shards and in the part."""
        if self.namespace and record.namespace != self.namespace:
            return False
        if self.shards is not None and not self.shards.selects(record.uid, record.namespace):
            return False
        part = self.part
        return part is None or part.holds(record.namespace, record.name, record.body)


def selection_of(call: Call) -> Selection:
    """Return the selection of a request.

    Raises:
        ApiError: an option is malformed, or two options contradict each other.
    """
    request = call.request
    labels = parse_labels(request.parameter("labelSelector"))
    found = Selection(
        call.route.namespace,
        labels,
        parse_fields(request.parameter("fieldSelector")),
        integer_parameter(request, "limit") or 0,
        request.parameter("continue"),
        request.parameter("resourceVersion"),
        request.parameter("resourceVersionMatch"),
        float(integer_parameter(request, "timeoutSeconds") or 0),
        bool(request.flag("allowWatchBookmarks")),
        request.flag("sendInitialEvents"),
        parse_shards(request.parameter("shardSelector")),
        parse_part(request),
    )
    if request.watches:
        found = _with_initial_events(found)
    _check(found, watches=request.watches)
    check_fields(found.fields, call.resource)
    return replace(found, fields=_with_name(found.fields, call.route.name))


def _with_initial_events(found: Selection) -> Selection:
    """Return the selection of a watch; without a version it begins with the current objects."""
    if found.initial_events is not None or found.match or found.version not in ("", "0"):
        return found
    return replace(found, initial_events=True, match=NOT_OLDER)


def _with_name(fields: tuple[FieldTerm, ...], name: str) -> tuple[FieldTerm, ...]:
    """Return field comparisons with the name in the path of a request.

    Raises:
        ApiError: the comparisons do not select this name.
    """
    if not name:
        return fields
    if not fields:
        return (FieldTerm("metadata.name", False, name),)
    names = [each.value for each in fields if each.field == "metadata.name" and not each.negated]
    if names[:1] != [name]:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return fields


def _check(found: Selection, *, watches: bool) -> None:
    causes = []
    if watches:
        causes += _watch_causes(found)
    elif found.match:
        causes += _match_causes(found)
    if found.initial_events is not None and not watches:
        text = "Forbidden: sendInitialEvents is forbidden for list"
        causes.append(("FieldValueForbidden", text, "sendInitialEvents"))
    if causes:
        raise failures.invalid(_LIST_OPTIONS, "", causes)


def _watch_causes(found: Selection) -> list[tuple[str, str, str]]:
    causes = []
    if found.initial_events is None and found.match:
        text = (
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
            "provided"
        )
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    if found.initial_events is not None and found.match != NOT_OLDER:
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    if found.match not in ("", NOT_OLDER):
        text = f'Unsupported value: "{found.match}": supported values: "{NOT_OLDER}"'
        causes.append(("FieldValueNotSupported", text, "resourceVersionMatch"))
    if found.match and found.token:
        text = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    return causes


def _match_causes(found: Selection) -> list[tuple[str, str, str]]:
    causes = []
    if not found.version:
        text = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    if found.token:
        text = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    if found.match not in (EXACT, NOT_OLDER):
        text = f'Unsupported value: "{found.match}": supported values: "{EXACT}", "{NOT_OLDER}", ""'
        causes.append(("FieldValueNotSupported", text, "resourceVersionMatch"))
    if found.match == EXACT and found.version == "0":
        text = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(("FieldValueForbidden", text, "resourceVersionMatch"))
    return causes


def selected_version(text: str, *, watches: bool = False) -> int:
    """Parse the resource version of a list or a watch; 0 without one.

    Raises:
        ApiError: the text is not a 64-bit number.
    """
    try:
        return version_number(text) if text else 0
    except ValueError as error:
        problem = f'resourceVersion: Invalid value: "{text}": {error}'
        if watches:
            raise internal(problem) from error
        raise bad_request(f"invalid resource version: {problem}") from error
