"""Selections of a list or a watch."""

from stretto.api.wire.fields import parse_fields
from stretto.api.wire.selectors import parse_labels
from stretto.stores.store import ListOptions


def check_selection(selection: ListOptions) -> None:
    """Reject a malformed selector before it is sent.

    Raises:
        InputError: a selector is malformed.
    """
    parse_labels(selection.labels)
    parse_fields(selection.fields)
