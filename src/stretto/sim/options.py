"""Command-line options of a run: the store to open and the source of the scheduling profile."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stretto.api.edit.yaml_text import load_documents
from stretto.base.clock import Clock
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.framework.profile.load import known_rules
from stretto.framework.profile.profile import PROFILES, load_profile
from stretto.inputs.scenario.schema import Scenario
from stretto.plane.copy import ProfileSource
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore

MEMORY: Final = "memory"
"""Name of the store that exists only in the process."""
STORES: Final = (MEMORY, "sqlite:PATH")
"""Values of ``--store``."""


def open_store(spelled: str, clock: Clock, rng: Rng) -> MemoryStore | SqliteStore:
    """Open the store that ``--store`` names.

    Raises:
        UnknownNameError: the type of store does not exist.
        InputError: the file cannot be used.
    """
    kind, _, path = spelled.partition(":")
    if spelled == MEMORY:
        return MemoryStore(clock, rng)
    if kind != "sqlite":
        raise UnknownNameError("store", spelled, STORES)
    if not path:
        raise InputError("--store", spelled, "sqlite: and the path of a file", "sqlite:run.db")
    return SqliteStore(Path(path), clock, rng)


def profile_source(
    scenario: Scenario, policy: str = "", profile: str = "", plugins: Sequence[Path] = ()
) -> ProfileSource:
    """The source of a run's profile.

    Args:
        scenario: the scenario.
        policy: a policy that replaces the scenario's; empty for none.
        profile: a profile (name or file) that replaces the scenario's; empty for none.
        plugins: files with rules that the profile may name.

    Raises:
        UnknownNameError: the policy or profile does not exist.
        InputError: the profile's file cannot be read.
    """
    own = scenario.policy if not policy and not profile else None
    if own and own not in PROFILES:
        raise UnknownNameError("policy", own, PROFILES, scenario.where)
    return chosen_source(scenario.profile or "default", policy or own or "", profile, plugins)


def chosen_source(
    own: ProfileSource, policy: str = "", profile: str = "", plugins: Sequence[Path] = ()
) -> ProfileSource:
    """A profile's source, replaced by another profile or policy if one is given.

    Raises:
        UnknownNameError: the policy or profile does not exist.
        InputError: the profile's file cannot be read.
    """
    given = _named(profile, plugins) if profile else own
    if not policy:
        return given
    if policy not in PROFILES:
        raise UnknownNameError("policy", policy, PROFILES)
    return policy if given == "default" else _scored_by(policy, given)


def _named(profile: str, plugins: Sequence[Path]) -> ProfileSource:
    """The name of a built-in profile, or the content of a profile's file.

    The content is used because a run record can outlive the file.
    """
    if profile in PROFILES:
        return profile
    if not Path(profile).exists() and not Path(profile).suffix:
        raise UnknownNameError("profile", profile, PROFILES)
    load_profile(profile, known_rules(plugins))
    documents = load_documents(Path(profile).read_bytes(), profile)
    return dict(next(iter(documents))[1])


def _scored_by(policy: str, given: str | Mapping[str, Any]) -> dict[str, Any]:
    """A profile with the scores, the tie rule and the device choice of a policy."""
    if isinstance(given, str):
        given = PROFILES.get(given)
    scoring = PROFILES.get(policy).get("profiles", [{}])[0]
    profiles = [dict(each) for each in given.get("profiles", [{}])]
    for each in profiles:
        each["plugins"] = {**(each.get("plugins") or {}), **(scoring.get("plugins") or {})}
        each["stretto"] = {**(each.get("stretto") or {}), **(scoring.get("stretto") or {})}
    return {**given, "profiles": profiles}
