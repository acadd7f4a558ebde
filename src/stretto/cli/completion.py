"""Completion values for shells: names of runs, pods, nodes, queues, policies and examples.

Names of objects come from the state of the command line if it is a run record, otherwise from the
latest record. Completion never fails: without a record the result is empty.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, Final

from click.shell_completion import CompletionItem

from stretto.base.errors import StrettoError

LIMIT: Final = 500
"""Maximum number of proposed names."""


def proposed(what: str, given: Mapping[str, Any], prefix: str) -> list[CompletionItem]:
    """Return the values of one kind that begin with a prefix.

    Args:
        what: the kind, a key of the table below.
        given: the parameters that are parsed so far.
        prefix: the typed text.
    """
    items = matching(lambda: _SORTS[what](given, prefix), prefix)
    return items if items or what not in _WITH_PATHS else [CompletionItem(prefix, type="file")]


def matching(read: Callable[[], Iterable[str]], prefix: str) -> list[CompletionItem]:
    """Return the names that begin with a prefix; none if they cannot be read."""
    found: list[str] = []
    with suppress(StrettoError, OSError, ValueError):
        for name in read():
            if name.startswith(prefix):
                found.append(name)
            if len(found) >= LIMIT:
                break
    return [CompletionItem(name) for name in dict.fromkeys(found)]


def states(_given: Mapping[str, Any], prefix: str) -> Iterable[str]:
    """Runs, and the word for a cluster."""
    return ["latest", "cluster", *runs(_given, prefix)]


def runs(_given: Mapping[str, Any], _prefix: str) -> Iterable[str]:
    """Names of run records."""
    from stretto.explain.records.records import RunRecords

    return RunRecords().names()


def pods(given: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Pods of a run: their names, or ``namespace/name`` if the prefix has a slash."""
    for namespace, name in _objects(given, "Pod", prefix):
        plain = "/" not in prefix and namespace == (given.get("namespace") or "default")
        yield name if plain else f"{namespace}/{name}"


def nodes(given: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Nodes of a run."""
    return (name for _, name in _objects(given, "Node", prefix))


def queues(given: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Queues of a run."""
    return (name for _, name in _objects(given, "Queue", prefix))


def subjects(given: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Arguments of ``explain``: pods, and other objects with their type."""
    yield from pods(given, prefix)
    yield from (f"node/{name}" for name in nodes(given, prefix.removeprefix("node/")))
    yield from (f"queue/{name}" for name in queues(given, prefix.removeprefix("queue/")))
    for _, name in _objects(given, "PodGroup", prefix.removeprefix("podgroup/")):
        yield f"podgroup/{name}"


def objects(given: Mapping[str, Any], prefix: str) -> Iterable[str]:
    """Names of objects of the resource given to ``get``."""
    resource = str(given.get("resource") or "")
    by_resource = {"pods": pods, "nodes": nodes, "queues": queues, "runs": runs}
    for plural, names in by_resource.items():
        if resource and plural.startswith(resource[:2]):
            return names(given, prefix)
    return ()


def profiles(_given: Mapping[str, Any], _prefix: str) -> Iterable[str]:
    """Built-in profiles and policies."""
    from stretto.framework.profile.named import PROFILES

    return PROFILES


def rules(_given: Mapping[str, Any], _prefix: str) -> Iterable[str]:
    """Rules of the default engine."""
    from stretto.framework.plugins.table import RULES

    return RULES


def examples(_given: Mapping[str, Any], _prefix: str) -> Iterable[str]:
    """Bundled examples."""
    from stretto.cli.bundled.examples import example_names

    return example_names()


def pages(_given: Mapping[str, Any], _prefix: str) -> Iterable[str]:
    """Pages of the documentation."""
    from stretto.cli.bundled.pages import page_names

    return page_names()


def _objects(given: Mapping[str, Any], kind: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Namespaces and names of the objects of one kind in a run."""
    from stretto.explain.records.record_file import RecordFile
    from stretto.sim.states.source import StateKind, referenced

    named = str(given.get("on") or given.get("old_state") or "")
    try:
        reference = referenced(named)
    except StrettoError:
        reference = referenced()
    if reference.kind is not StateKind.RUN:
        reference = referenced()
    namespace, slash, start = prefix.rpartition("/")
    with closing(RecordFile(reference.path)) as file:
        for found in file.names(kind, start):
            if not slash or found[0].startswith(namespace):
                yield found


_SORTS: Final[dict[str, Callable[[Mapping[str, Any], str], Iterable[str]]]] = {
    "states": states,
    "runs": runs,
    "pods": pods,
    "nodes": nodes,
    "queues": queues,
    "subjects": subjects,
    "objects": objects,
    "profiles": profiles,
    "rules": rules,
    "examples": examples,
    "pages": pages,
}
_WITH_PATHS: Final = frozenset({"states", "profiles", "examples"})
"""Kinds that accept a path too."""
