"""The options of ``stretto get``."""

from dataclasses import dataclass
from pathlib import Path

from stretto.base.errors import NotFoundError
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions


@dataclass(frozen=True)
class GetOptions(StateOptions):
    """Options of ``get``."""

    #: The resource.
    resource: str
    #: Names; empty for all.
    names: tuple[str, ...]
    #: True if only pending pods, or objects with pending pods, are listed.
    pending: bool
    #: Node of the pods; empty for all nodes.
    node: str
    #: Label selector; empty for all objects.
    selector: str
    #: True if all namespaces are listed.
    all_namespaces: bool
    #: Output format.
    output: str
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]


def require_names(common: CommandContext, word: str, found: list[str], opts: GetOptions) -> None:
    """Write a note for an empty list; refuse names that are not in the list.

    Raises:
        NotFoundError: a name is missing; the message contains the nearest names.
    """
    ends = {part for each in found for part in (each, each.rpartition("/")[2])}
    for name in opts.names:
        if name.removeprefix(f"{word}/") not in ends and name not in ends:
            reason = "none matches the filters" if opts.pending or opts.node else "no such name"
            raise NotFoundError(f"{word} {name}", reason, f"list all: stretto get {word}s -A")
    if not found:
        common.console.note(f"no {word}s match")
