"""Profiles: which rules judge, with what weights, and how a shard, a binder and a queue behave.

A profile is named (``default``, ``packing``, one for each policy of the openb study), a file, or a
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
        conflicts: fit               # version
        commit: incremental          # all-or-nothing
        preemption: {budgets: best-effort}   # hard; more in docs/concepts/preemption.md
        reschedule: {everySeconds: 600, goal: gpus, moves: 10}   # docs/concepts/topology.md
        nodesToScore: 500            # look no further than so many nodes that fit; all
        schedulerNames: [other-name]
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.api.wire.kinds import NAMESPACE, POD_DISRUPTION_BUDGET, Kind
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.registry import Registry
from stretto.framework.compiled.tables import DevicePick, TieBreak, TypicalPodTable
from stretto.framework.compiled.ties import PICKS, TieRule
from stretto.framework.contract.rule import FilterRule, Rule, Scope, ScoreRule
from stretto.framework.plugins.gpu_policies import FgdRule
from stretto.framework.plugins.image_locality import ImageLocalityRule
from stretto.framework.plugins.inter_pod_affinity import running_term_scoring_of
from stretto.framework.plugins.pod_topology_spread import default_spread
from stretto.framework.plugins.sub_cluster import SubClusterRule
from stretto.framework.plugins.table import RULES
from stretto.framework.plugins.volumes import BIND_TIMEOUT, VolumeBindingRule, VolumeRule
from stretto.framework.profile.guard import GuardedRule, guard
from stretto.framework.profile.kube_config import ProfileForm, read_forms
from stretto.framework.profile.pod_constraints import PodConstraints
from stretto.framework.profile.settings import read_settings
from stretto.state.classes.terms import DefaultSpread, RunningTermScoring
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.whole_objects import CURES, OWNER_KINDS, VOLUME_KINDS
from stretto.state.rows.devices import DeviceColumns
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto.state.work.rescheduling import ReschedulingRules

MAX_FILE: Final = 1 << 20
"""Bytes of a profile's file; a long one has a few thousand."""


def _policy(name: str, ties: str, devices: str) -> dict[str, Any]:
    """A profile that scores by one policy alone."""
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": name, "weight": 1}]}
    own = {"tieRule": ties, "devicePick": devices}
    return {"profiles": [{"plugins": {"score": score}, "stretto": own}]}


PROFILES: Final[Registry[Mapping[str, Any]]] = Registry(
    "profile",
    {
        "default": {},
        "packing": {
            "profiles": [
                {
                    "pluginConfig": [
                        {
                            "name": "NodeResourcesFit",
                            "args": {"scoringStrategy": {"type": "MostAllocated"}},
                        }
                    ]
                }
            ]
        },
        "kube-parity": {"profiles": [{"stretto": {"rules": "exact", "tieRule": "name"}}]},
        "fgd": _policy("FGD", "order", "scored"),
        "best-fit": _policy("BestFit", "order", "fullest"),
        "dot-prod": _policy("DotProd", "order", "fullest"),
        "gpu-packing": _policy("GpuPacking", "order", "fullest"),
        "gpu-clustering": _policy("GpuClustering", "order", "fullest"),
        "random": _policy("Random", "random", "random"),
    },
)
"""Profiles that have a name, in the form in which they would be written."""


class Profile(msgspec.Struct, frozen=True, eq=False):
    """Rules with their weights, and settings."""

    #: What it is called in reports: its name, its file, or its scheduler's name.
    name: str
    #: Names in a pod's ``schedulerName`` that it answers to, its own first.
    scheduler_names: tuple[str, ...]
    #: Filters in order.
    filters: tuple[FilterRule, ...]
    #: Scores with their weights.
    scores: tuple[tuple[ScoreRule, int], ...]
    #: Rules that pods choose for themselves; ``None`` where they may not.
    chosen: PodConstraints | None = None
    #: How equal scores are told apart.
    ties: TieRule = TieRule.ROTATE
    #: Which devices of a node a pod gets.
    device_pick: DevicePick = DevicePick.FULLEST
    #: Pods that must fit together by the kind of their owner, beyond what the dispatcher knows.
    min_members: Mapping[str, int | str] = {}
    #: Seconds before the first retry after a refusal.
    first_delay: float = 1.0
    #: Longest delay between retries in seconds.
    longest_delay: float = 10.0
    #: Whether pods that fit nowhere are tried again; published protocols drop them.
    retry: bool = True
    #: By which measure the least loaded shard is given work next.
    dispatch: str = "least-loaded"
    #: When a claim conflicts.
    conflicts: ConflictMode = ConflictMode.FIT
    #: What a conflict does to the other claims of a unit.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: Whether kube-scheduler's own rules decide, pod by pod, and not the filters and scores above.
    exact: bool = False
    #: Percentage of the nodes that must be found fit for a pod before the search ends, 0 for
    #: kube-scheduler's own share by the size of the cluster; ``None`` looks at all.
    percentage: int | None = None
    #: The same as a number of nodes; it goes before the percentage.
    quota: int | None = None
    #: Who may push out whom.
    preemption: PreemptionRules = PreemptionRules()
    #: How pods are moved so that room comes free; ``None`` where nobody is.
    rescheduling: ReschedulingRules | None = None
    #: Seconds for which a node may give more than it has before pods that do not run yet are asked
    #: to leave it; infinity for never, ``None`` as the place wants (behind an API server 15 s).
    relief: float | None = None
    #: What was read and has no effect here, for those who ask.
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds that its rules read besides nodes, pods, groups and priorities."""
        if self.exact:
            return tuple(CURES)
        return (
            *((POD_DISRUPTION_BUDGET,) if self.preemption.enabled else ()),
            *(VOLUME_KINDS if self.needs_volumes else ()),
            NAMESPACE,
            *(OWNER_KINDS if self.default_spread else ()),
        )

    @property
    def default_spread(self) -> tuple[DefaultSpread, ...]:
        """Constraints of spreading for pods that state none, where anything comes of them."""
        return () if self.exact else default_spread(self.filters, self.scores)

    @property
    def running_term_scoring(self) -> RunningTermScoring:
        """How terms of running pods count in the scores of pods that they mean."""
        return running_term_scoring_of(self.scores)

    def shape(self, config: ClusterConfig) -> ClusterConfig:
        """How a cluster must be modelled for its rules.

        kube-scheduler counts devices like any other resource and reads pods and nodes in full.
        """
        if not self.exact:
            replace = msgspec.structs.replace
            return replace(config, volumes=self.needs_volumes, images=self.needs_images)
        return msgspec.structs.replace(config, whole=True, device_kinds={})

    @property
    def volume_patience(self) -> float:
        """Seconds that a pod waits for its volumes once it has a node."""
        found = (rule.bind_timeout for rule in self.filters if isinstance(rule, VolumeBindingRule))
        return next(found, BIND_TIMEOUT)

    @property
    def sub_cluster(self) -> SubClusterRule | None:
        """What tells sub-clusters apart; ``None`` where there are none."""
        found = (rule for rule in self.filters if isinstance(rule, SubClusterRule) and rule.key)
        return next(found, None)

    @property
    def tie_rule(self) -> TieBreak:
        """What the kernels do about equal scores."""
        return PICKS[self.ties]

    @property
    def draws(self) -> bool:
        """Whether placing needs random numbers."""
        return self.ties is TieRule.RANDOM or self.device_pick is DevicePick.RANDOM

    @property
    def every_filter(self) -> tuple[FilterRule, ...]:
        """The filters, and those that pods choose for themselves."""
        return self.filters if self.chosen is None else (*self.filters, self.chosen)

    @property
    def every_score(self) -> tuple[tuple[ScoreRule, int], ...]:
        """The scores, and those that pods choose for themselves."""
        return self.scores if self.chosen is None else (*self.scores, (self.chosen, 1))

    @property
    def static_filters(self) -> tuple[FilterRule, ...]:
        """Filters on the node object alone: kept as rows per signature."""
        return tuple(rule for rule in self.every_filter if rule.SCOPE is Scope.STATIC)

    @property
    def static_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores by the node object alone."""
        return tuple(each for each in self.every_score if each[0].SCOPE is Scope.STATIC)

    @property
    def slot_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores by what is on the slot, compiled or not."""
        return tuple(each for each in self.scores if each[0].SCOPE is Scope.SLOT)

    @property
    def needs_volumes(self) -> bool:
        """Whether some rule looks at the volumes of pods."""
        return any(isinstance(rule, VolumeRule) for rule in self.filters)

    @property
    def needs_images(self) -> bool:
        """Whether some rule looks at the images of nodes."""
        return any(isinstance(rule, ImageLocalityRule) for rule, _ in self.scores)

    @property
    def python_filters(self) -> tuple[FilterRule, ...]:
        """Filters that the kernels cannot check and that must be asked."""
        return tuple(r for r in self.filters if r.SCOPE is not Scope.STATIC and not r.FUSED)

    @property
    def outside(self) -> tuple[GuardedRule, ...]:
        """Rules that are not ours, each once."""
        every = (*self.filters, *(rule for rule, _ in self.scores))
        return tuple(dict.fromkeys(rule for rule in every if isinstance(rule, GuardedRule)))

    @property
    def learns(self) -> bool:
        """Whether a rule measures against typical pods that are to be learnt."""
        return any(isinstance(rule, FgdRule) and rule.kinds is None for rule, _ in self.scores)

    def typical_pods(self, devices: DeviceColumns) -> TypicalPodTable | None:
        """The typical pods that the profile itself gives; ``None`` when it gives none."""
        found = (rule.fixed(devices) for rule, _ in self.scores if isinstance(rule, FgdRule))
        return next(found, None)


def load_profile(
    source: str | Path | Mapping[str, Any], rules: Registry[type[Rule]] = RULES
) -> Profile:
    """The profile of a name, a file (YAML or JSON) or a mapping.

    Raises:
        UnknownNameError: no profile, key or plugin of that name; the nearest is named.
        InputError: something has the wrong form; the path says where.
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
    """All profiles of a configuration; see ``load_profile``."""
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
    """What a name or a file stands for."""
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
    """The profile of a form: its rules made, its settings read."""
    made: dict[str, Rule] = {}
    for name in dict.fromkeys((*form.filters, *(n for n, _ in form.scores), *form.arguments)):
        where, arguments = form.arguments.get(name, ("", {}))
        rule = _make(rules.get(name), arguments, where)
        made[name] = rule if name in RULES else guard(rule)
    chosen = PodConstraints.over(
        rules, {name: given for name, (_, given) in form.arguments.items()}, frozenset(form.filters)
    )
    filters = [made[name] for name in form.filters]
    scores = [(made[name], weight) for name, weight in form.scores]
    settings = read_settings(form)
    if settings["exact"] and form.names_rules:
        expected = "neither plugins nor pluginConfig: these rules come with their own weights"
        raise InputError(f"{form.where}.rules", "exact", expected)
    notes = list(form.notes)
    if settings["exact"] and (settings["percentage"] is not None or settings["quota"] is not None):
        notes.append(
            f"{form.percentage_at} has no effect: kube-scheduler's rules look at all nodes"
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
    """A rule with its arguments; what is wrong with them is told with their path."""
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
        told = f"{type(error).__name__}: {error}"
        expected = f"a rule {rule.NAME} that can be made of its arguments"
        raise InputError(where or f"rule {rule.NAME}", told, expected) from error
