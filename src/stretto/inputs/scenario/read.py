"""Reading a scenario file: YAML to structs, with all values checked before a run.

The schema is in ``schema`` and, in prose, in ``docs/reference/scenario.md``. Errors that are
visible without reading other files are refused here, with the path of the key.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.profile.profile import PROFILES
from stretto.inputs.neutral.files import read_text
from stretto.inputs.neutral.strict import strict
from stretto.inputs.scenario.checks import check_scenario
from stretto.inputs.scenario.format_keys import file_type
from stretto.inputs.scenario.schema import Scenario, ScenarioFile
from stretto.inputs.scenario.unnamed_traces import with_formats

MAX_SCENARIO_BYTES: Final = 8 << 20
"""Size of a scenario with ten thousand workloads; bulk data belongs in traces and manifests."""


def load_scenario(path: Path) -> Scenario:
    """The scenario in a YAML file.

    Raises:
        InputError: the file cannot be read, or a key or value in it cannot be used.
    """
    where = f"scenario {path}"
    data = _mapping(path, where)
    data = with_formats(data, path.parent, where)
    file = strict(file_type(data), data, where)
    scenario = Scenario(
        **{name: getattr(file, name) for name in ScenarioFile.__struct_fields__}, source=str(path)
    )
    profile = scenario.profile
    if isinstance(profile, str) and profile not in PROFILES:
        found = scenario.path(profile)
        if not found.exists() and not found.suffix:
            raise UnknownNameError("profile", profile, PROFILES, f"{where}: profile")
        profile = _mapping(found, str(found))
    check_scenario(scenario)
    return msgspec.structs.replace(scenario, name=scenario.name or path.stem, profile=profile)


def _mapping(path: Path, where: str) -> dict[str, Any]:
    """The one mapping of a YAML file."""
    documents = list(load_documents(read_text(path, MAX_SCENARIO_BYTES), where))
    if len(documents) != 1 or not isinstance(documents[0][1], dict):
        found = documents[0][1] if len(documents) == 1 else f"{len(documents)} documents"
        hint = "an example: stretto examples quickstart"
        raise InputError(where, found, "one mapping of keys to values", hint)
    return documents[0][1]
