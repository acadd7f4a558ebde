"""The state that a command line names, for a sandbox (``stretto.plane.copy``).

A state is the end of a recorded run, a durable store, the end of a recording, the end of a
scenario that runs in virtual time first, or a number of empty nodes of a shape.
"""

from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from stretto.api.kinds.table import all_kinds
from stretto.base.errors import InputError, NotFoundError
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords
from stretto.inputs.neutral.files import check_regular
from stretto.inputs.neutral.shapes import (
    LIKE_EXAMPLE,
    check_nodes_like,
    is_nodes_like,
    seems_nodes_like,
    shapes_hint,
)
from stretto.plane.copy import PlaneSettings, SchedulingRules, StoreState
from stretto.sim.history.file_kinds import USES, FileKind, kind_of_file
from stretto.sim.states.empty_nodes import empty_nodes
from stretto.sim.states.recorded_end import end_of_recording
from stretto.sim.states.scenario_end import end_of_scenario
from stretto.stores.embedded.sqlite import read_store

SQLITE: Final = "sqlite:"
"""Prefix that names a durable store."""
OWN_RULES: Final = SchedulingRules("")
"""A scenario's own profile, with the installed kernels."""
OPTION: Final = "--on"
"""The option that names a state, for messages."""
EXPECTED: Final = (
    "a run, a scenario, a recording, sqlite: and the path of a store, or nodes such as "
    "64cpu-256gib-8gpu:4"
)
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".gz", ".db", ".sqlite")
"""Suffixes of names that can only be paths."""


class StateKind(Enum):
    """Source of a state."""

    #: A run record.
    RUN = "run"
    #: A scenario, which runs in virtual time first.
    SCENARIO = "scenario"
    #: A durable store.
    STORE = "store"
    #: A recording of a cluster; its end is the state.
    RECORDING = "recording"
    #: Empty nodes, stated by their shapes; no file.
    NODES = "nodes"


class StateReference(NamedTuple):
    """A state that was named but is not read yet."""

    #: Its source.
    kind: StateKind
    #: The file; for nodes, their shapes.
    path: Path


_KINDS: Final = {
    FileKind.RUN: StateKind.RUN,
    FileKind.SCENARIO: StateKind.SCENARIO,
    FileKind.STORE: StateKind.STORE,
    FileKind.RECORDING: StateKind.RECORDING,
}


def referenced(spelled: str = "") -> StateReference:
    """The source that a state's name refers to.

    Args:
        spelled: ``sqlite:PATH``; the path of a scenario, a recording, a store or a run record; or a
            run record by its name or the end of its name; empty or ``latest`` for the latest; or
            shapes and counts of nodes such as ``64cpu-256gib-8gpu:4``.

    Raises:
        NotFoundError: no record has that name.
        InputError: the file is not a state.
    """
    if spelled.startswith(SQLITE):
        return StateReference(StateKind.STORE, Path(spelled.removeprefix(SQLITE)))
    path = Path(spelled)
    if not (spelled and path.is_file()):
        if spelled and path.exists():
            check_regular(path)
        if is_nodes_like(spelled):
            check_nodes_like(spelled, OPTION)
            return StateReference(StateKind.NODES, path)
        if spelled.endswith((".yaml", ".yml")):
            return StateReference(StateKind.SCENARIO, path)
        if spelled and (spelled.endswith(_SUFFIXES) or path.is_dir()):
            found = "a folder" if path.is_dir() else "no file of that name"
            raise InputError(f"{OPTION} {spelled}", found, EXPECTED, "check the path")
        return StateReference(StateKind.RUN, _recorded_run(spelled))
    kind = kind_of_file(path)
    if kind is None and spelled.endswith((".yaml", ".yml")):
        kind = FileKind.SCENARIO
    if kind not in _KINDS:
        found = kind.value if kind is not None else "another kind of file"
        hint = f"such files are for: {USES[kind].format(path=path)}" if kind is not None else ""
        raise InputError(f"{OPTION} {spelled}", found, EXPECTED, hint)
    return StateReference(_KINDS[kind], path)


def _recorded_run(name: str) -> Path:
    """The record of a run; a name that looks like shapes of nodes is answered with their form."""
    try:
        return RunRecords().find(name)
    except NotFoundError:
        if name and seems_nodes_like(name):
            expected = f"a run, or {LIKE_EXAMPLE}"
            raise InputError(OPTION, name, expected, shapes_hint(name)) from None
        raise


def state_of(spelled: str = "", rules: SchedulingRules = OWN_RULES) -> StoreState:
    """The state of a name.

    Args:
        spelled: see ``referenced``.
        rules: kernels and plugins for a scenario that runs first with its own profile.

    Raises:
        NotFoundError: no record has that name.
        InputError: a file cannot be used.
        UnreachableError: another process has the store open.
    """
    kind, path = referenced(spelled)
    if kind is StateKind.STORE:
        return StoreState(f"store {path}", read_store(path))
    if kind is StateKind.SCENARIO:
        return end_of_scenario(path, rules)
    if kind is StateKind.RECORDING:
        return end_of_recording(path)
    if kind is StateKind.NODES:
        return empty_nodes(spelled, OPTION)
    return _recorded(path)


def _recorded(path: Path) -> StoreState:
    """The final state of a recorded run."""
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in all_kinds() for record in file.objects(kind)]
    settings = PlaneSettings(facts.shards, facts.seed, frozenset(facts.scheduler_names))
    return StoreState(f"run {facts.name}", records, facts.profile, settings)
