"""Loads profiles: the rules with their weights, and the settings of shards, binder and queues.

A profile is a name (``default``, ``packing``, one for each policy of the openb study), a file, or a
mapping, in the form of KubeSchedulerConfiguration v1 with Stretto's settings under ``stretto``:

    profiles:
    - schedulerName: stretto
      plugins: {score: {disabled: [{name: "*"}], enabled: [{name: FGD, weight: 1}]}}
      pluginConfig: [{name: FGD, args: {typicalPods: learn}}]
      stretto:
        tieRule: rotate              # order, name, random
        devicePick: fullest          # scored, random
        gang: {minMember: {Job: all, ReplicaSet: 1}}
        backoff: {initialSeconds: 1, maxSeconds: 10}
        retry: true
        rules: fast                  # exact: kube-scheduler's own, pod by pod (kube-parity)
        conflicts: fit               # version, hosts
        hosts: {candidates: dynamic} # 1 to 16 hosts per claim; docs/concepts/hosts.md
        commit: incremental          # all-or-nothing
        preemption: {budgets: best-effort}   # hard; more in docs/concepts/preemption.md
        reschedule: {everySeconds: 600, goal: gpus, moves: 10}   # docs/concepts/topology.md
        overcommit: {pools: {online: {caps: {cpu: 3}}}}   # docs/concepts/overcommit.md
        nodesToScore: 500            # stop the search after so many feasible nodes; all
        schedulerNames: [other-name]
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.registry import Registry
from stretto.framework.contract.rule import FilterRule, Rule, ScoreRule
from stretto.framework.plugins.node_overcommitment import NAME as NODE_OVERCOMMITMENT
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.definition import Profile
from stretto.framework.profile.guard import guard
from stretto.framework.profile.kube_config import ProfileForm, read_forms
from stretto.framework.profile.named import PROFILES
from stretto.framework.profile.pod_constraints import PodConstraints
from stretto.framework.profile.settings import read_settings

__all__ = ["PROFILES", "Profile", "load_profile", "load_profiles"]

MAX_FILE: Final = 1 << 20
"""Largest profile file in bytes; a long profile has a few thousand."""


def load_profile(
    source: str | Path | Mapping[str, Any], rules: Registry[type[Rule]] = RULES
) -> Profile:
    """Load the profile of a name, a file (YAML or JSON) or a mapping.

    Raises:
        UnknownNameError: no profile, key or plugin has the name; the message contains the nearest
            one.
        InputError: a value has the wrong form; the message contains its path.
    """
    found = load_profiles(source, rules)
    if len(found) != 1:
        names = ", ".join(profile.scheduler_names[0] for profile in found)
        hint = "put each into a file of its own"
        raise InputError(_label(source), f"profiles {names}", "exactly one profile", hint)
    return found[0]


def load_profiles(
    source: str | Path | Mapping[str, Any], rules: Registry[type[Rule]] = RULES
) -> tuple[Profile, ...]:
    """Load all profiles of a configuration; see ``load_profile``."""
    label = _label(source)
    content = source if isinstance(source, Mapping) else _content(source)
    made = tuple(_profile(form, rules) for form in read_forms(content, label, rules))
    taken: set[str] = set()
    for profile in made:
        for name in profile.scheduler_names:
            if name in taken:
                raise InputError(f"{label}: profiles", name, "each scheduler name once")
            taken.add(name)
    if isinstance(source, str) and source in PROFILES:
        return tuple(msgspec.structs.replace(profile, name=source) for profile in made)
    return made


def _label(source: object) -> str:
    return "profile" if isinstance(source, Mapping) else f"profile {source}"


def _content(source: str | Path) -> Any:
    """Read the content of a named profile or a file."""
    if isinstance(source, str) and source in PROFILES:
        return PROFILES.get(source)
    path = Path(source)
    looks_like_file = path.suffix in {".yaml", ".yml", ".json"} or len(path.parts) > 1
    try:
        if not looks_like_file and not path.exists():
            raise UnknownNameError("profile", str(source), PROFILES)
        if path.stat().st_size > MAX_FILE:
            raise InputError(str(path), f"{path.stat().st_size} bytes", f"at most {MAX_FILE} bytes")
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        expected = f"a profile's name or a file that can be read ({reason})"
        raise InputError("profile", str(path)[:200], expected) from error
    documents = list(load_documents(content, str(path)))
    if len(documents) != 1:
        raise InputError(str(path), f"{len(documents)} documents", "one document")
    return documents[0][1]


def _profile(form: ProfileForm, rules: Registry[type[Rule]]) -> Profile:
    """Build the profile of a form: construct its rules and read its settings."""
    made: dict[str, Rule] = {}
    for name in dict.fromkeys((*form.filters, *(n for n, _ in form.scores), *form.arguments)):
        where, arguments = form.arguments.get(name, ("", {}))
        rule = _make(rules.get(name), arguments, where)
        made[name] = rule if name in RULES else guard(rule)
    chosen = PodConstraints.over(
        rules, {name: given for name, (_, given) in form.arguments.items()}, frozenset(form.filters)
    )
    settings = read_settings(form)
    names = [*form.filters]
    if settings["capacity"].overcommit is not None and NODE_OVERCOMMITMENT not in names:
        made.setdefault(NODE_OVERCOMMITMENT, rules.get(NODE_OVERCOMMITMENT)({}))
        names.append(NODE_OVERCOMMITMENT)
    filters = [made[name] for name in names]
    scores = [(made[name], weight) for name, weight in form.scores]
    if settings["exact"] and form.names_rules:
        expected = "neither plugins nor pluginConfig: these rules have their own weights"
        raise InputError(f"{form.where}.rules", "exact", expected)
    notes = list(form.notes)
    if settings["exact"] and (settings["percentage"] is not None or settings["quota"] is not None):
        notes.append(
            f"{form.percentage_at} has no effect: kube-scheduler's rules evaluate all nodes"
        )
    return Profile(
        name=form.scheduler_name,
        filters=tuple(rule for rule in filters if isinstance(rule, FilterRule)),
        scores=tuple((rule, w) for rule, w in scores if isinstance(rule, ScoreRule)),
        chosen=chosen,
        notes=tuple(notes),
        **settings,
    )


def _make(rule: type[Rule], arguments: Any, where: str) -> Rule:
    """Construct a rule with its arguments; errors in them contain their path."""
    try:
        return rule(arguments)
    except UnknownNameError as error:
        raise UnknownNameError(f"{error.kind} ({where})", error.name, error.known) from error
    except InputError as error:
        where = f"{where}: {error.where}" if where else error.where
        raise InputError(where, error.value, error.expected, error.hint) from error
    except Exception as error:
        if rule.NAME in RULES:
            raise
        message = f"{type(error).__name__}: {error}"
        expected = f"a rule {rule.NAME} that can be made of its arguments"
        raise InputError(where or f"rule {rule.NAME}", message, expected) from error
