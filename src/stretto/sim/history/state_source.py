"""The state that a command line names, for a sandbox (``stretto.plane.copy``).

A state is the end of a recorded run, a durable store, or the end of a scenario that runs in virtual
time first.
"""

from contextlib import closing
from pathlib import Path
from typing import Final

from stretto.api.kinds.table import all_kinds
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords
from stretto.plane.copy import PlaneSettings, SchedulingRules, StoreState
from stretto.sim.history.scenario_end import end_of_scenario
from stretto.stores.embedded.sqlite import read_store

SQLITE: Final = "sqlite:"
"""Prefix that names a durable store."""
OWN_RULES: Final = SchedulingRules("")
"""A scenario's own profile, with the installed kernels."""
_SCENARIOS: Final = (".yaml", ".yml")


def state_of(spelled: str = "", rules: SchedulingRules = OWN_RULES) -> StoreState:
    """The state that a command line names.

    Args:
        spelled: ``sqlite:PATH``, the path of a scenario, or a run record by its name, the end of
            its name or its path; empty for the latest record.
        rules: kernels and plugins for a scenario that runs first with its own profile.

    Raises:
        NotFoundError: no record has that name.
        InputError: a file cannot be used.
        UnreachableError: another process has the store open.
    """
    if spelled.startswith(SQLITE):
        path = Path(spelled.removeprefix(SQLITE))
        return StoreState(f"store {path}", read_store(path))
    if spelled.endswith(_SCENARIOS):
        return end_of_scenario(Path(spelled), rules)
    return _recorded(RunRecords().find(spelled))


def _recorded(path: Path) -> StoreState:
    """The final state of a recorded run."""
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in all_kinds() for record in file.objects(kind)]
    settings = PlaneSettings(facts.shards, facts.seed, frozenset(facts.scheduler_names))
    return StoreState(f"run {facts.name}", records, facts.profile, settings)
