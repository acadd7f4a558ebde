"""Tables and JSON Schemas of msgspec structs, with the ``#:`` comment of each field."""

import json
import types
import typing
from importlib import import_module
from typing import Any

import msgspec
from site_source import comments_of, first_sentence

#: JSON forms with a published schema: name of the form to ``module:Struct``.
FORMS = {
    "scenario": "stretto.inputs.scenario.schema:ScenarioFile",
    "stretto.run/v1": "stretto.sim.report:RunReport",
    "stretto.explain/v1": "stretto.explain.why.answers:Explanation",
    "stretto.explain/v1 (pod and node)": "stretto.explain.why.answers:NodeExplanation",
    "stretto.explain.pending/v1": "stretto.explain.inventory.overviews:PendingOverview",
    "stretto.explain.unit/v1": "stretto.explain.inventory.overviews:UnitOverview",
    "stretto.explain.queue/v1": "stretto.explain.inventory.overviews:QueueOverview",
    "stretto.explain.node/v1": "stretto.explain.inventory.node_overview:NodeOverview",
    "stretto.story/v1": "stretto.explain.story:Story",
    "stretto.capacity/v1": "stretto.sim.fitting.trials:FitReport",
    "stretto.scale/v1": "stretto.sim.fitting.scaling:ScaleReport",
    "stretto.tides/v1": "stretto.sim.fitting.tides:TideReport",
    "stretto.plan/v1": "stretto.sim.history.plan:PlanReport",
    "stretto.doctor/v1": "stretto.explain.doctor.doctor:Checkup",
    "stretto.get.pods/v1": "stretto.explain.inventory.lists:PodList",
    "stretto.get.nodes/v1": "stretto.explain.inventory.lists:NodeList",
    "stretto.get.units/v1": "stretto.explain.inventory.lists:UnitList",
    "stretto.get.queues/v1": "stretto.explain.inventory.lists:QueueList",
    "stretto.get.runs/v1": "stretto.explain.inventory.lists:RunList",
    "stretto.top.nodes/v1": "stretto.explain.inventory.lists:NodeUseList",
    "stretto.top.pods/v1": "stretto.explain.inventory.lists:PodUseList",
    "stretto.top.pools/v1": "stretto.explain.inventory.lists:PoolUseList",
    "stretto.recommend/v1": "stretto.explain.inventory.lists:RecommendedList",
    "stretto.validate/v1": "stretto.cli.commands.validate:ValidationReport",
    "stretto.profiles/v1": "stretto.explain.inventory.catalog:ProfileList",
    "stretto.policies/v1": "stretto.explain.inventory.catalog:PolicyList",
    "stretto.rules/v1": "stretto.explain.inventory.catalog:RuleList",
    "stretto.compare/v1": "stretto.sim.comparison.seeds:Comparison",
    "stretto.compare.recording/v1": "stretto.cli.output.documents:ReplayComparisonDocument",
    "stretto.simulate.recording/v1": "stretto.cli.output.documents:ReplayDocument",
    "stretto.simulate.openb/v1": "stretto.sim.traces.openb:ReplayReport",
    "stretto.simulate.philly/v1": "stretto.sim.traces.philly:PhillyReport",
    "stretto.simulate.azure-vm/v1": "stretto.sim.traces.hosts:HostsReport",
    **{
        f"stretto.simulate.{name}/v1": "stretto.sim.traces.hosts:HostsReport"
        for name in ("azure-vmtable", "pai-2020", "google-2019")
    },
    "stretto.compare.trace/v1": "stretto.cli.output.documents:TraceComparisonDocument",
    **{
        f"stretto.simulate.{name}/v1": "stretto.sim.traces.batch:BatchReport"
        for name in ("swf", "philly-log", "helios", "tiresias", "elasticflow", "csv")
    },
    "stretto.federation.clusters/v1": "stretto.cli.output.federation:ClusterListDocument",
    "stretto.federation.explain/v1": "stretto.cli.output.federation:FleetExplainDocument",
    "stretto.federation.migrate/v1": "stretto.cli.output.federation:MigrationDocument",
    "stretto.federation.plan/v1": "stretto.cli.output.federation:FleetPlanDocument",
    "stretto.federation.rollout/v1": "stretto.federation.answers.records:RolloutFacts",
    "stretto.federation.run/v1": "stretto.cli.output.federation:FleetRunDocument",
    "stretto.federation.simulate/v1": "stretto.cli.output.federation:FleetSimulateDocument",
    "stretto.federation.story/v1": "stretto.cli.output.federation:FleetStoryDocument",
    "stretto.offers/v1": "stretto.cli.output.documents:OffersDocument",
    "stretto.queues/v1": "stretto.cli.output.documents:QueueDocument",
    "stretto.shards/v1": "stretto.cli.output.documents:ShardDocument",
    "stretto.defragment/v1": "stretto.cli.output.documents:DefragmentDocument",
    "stretto.record/v1": "stretto.cli.output.documents:RecordDocument",
    "stretto.convert/v1": "stretto.inputs.conversion.convert:ConversionReport",
    "stretto.examples/v1": "stretto.cli.output.documents:ExampleListDocument",
    "stretto.examples/v1 (one scenario)": "stretto.cli.output.documents:ExampleDocument",
    "stretto.docs/v1": "stretto.cli.output.documents:DocsListDocument",
    "stretto.docs/v1 (one page)": "stretto.cli.output.documents:DocsDocument",
    "stretto.kernels/v1": "stretto.cli.output.documents:KernelDocument",
    "stretto.bench.engine/v1": "stretto_lab.bench.engine.bench:EngineResult",
    "stretto.bench.kube/v1 (one workload)": "stretto_lab.commands.documents:KubeWorkloadDocument",
    "stretto.bench.offers/v1": "stretto_lab.bench.offers.bench:OfferBenchResult",
    "stretto.chaos/v1": "stretto_lab.commands.documents:ChaosDocument",
    "stretto.chaos.replay/v1": "stretto_lab.commands.documents:ChaosReplayDocument",
    "stretto.chaos-offers/v1": "stretto_lab.commands.documents:OfferChaosDocument",
    "stretto.chaos-fleets/v1": "stretto_lab.commands.documents:FleetChaosDocument",
    "stretto.chaos.failure/v1": "stretto_lab.chaos.trace:ChaosFailure",
    "stretto.conformance/v1": "stretto_lab.conformance.report:ConformanceReport",
    "stretto.study.five-questions/v1": "stretto_lab.commands.documents:FiveQuestionsDocument",
    "stretto.study.forecast/v1": "stretto_lab.commands.documents:ForecastDocument",
    "stretto.study.offers/v1": "stretto_lab.commands.documents:OfferDesignDocument",
    "stretto.study.omega/v1": "stretto_lab.commands.documents:OmegaDocument",
    "stretto.study.one-pool/v1": "stretto_lab.studies.one_pool.report:OnePoolResult",
    "stretto.study.pool-use/v1": "stretto_lab.studies.one_pool.real_use:UseStudyResult",
    "stretto.study.reclaim/v1": "stretto_lab.commands.documents:ReclaimDocument",
    "stretto.study.reclaim-memory/v1": "stretto_lab.studies.reclaim.memory:MemoryStudyResult",
    "stretto.study.seasonal/v1": "stretto_lab.studies.seasonal:SeasonalResult",
    "stretto.study.shards/v1": "stretto_lab.commands.documents:ShardStudyDocument",
    "stretto.error/v1": "stretto.cli.output.documents:ErrorDocument",
}

Struct = type[msgspec.Struct]


def struct_of(place: str) -> Struct:
    """The struct of ``module:Name``."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, msgspec.Struct)):
        raise TypeError(f"{place} is no struct")
    return found


def comment(struct: Struct, field: str) -> str:
    """The comment of a field, from the class that declares it."""
    for base in struct.__mro__:
        found = comments_of(base.__module__).get((base.__name__, field)) if _ours(base) else None
        if found:
            return found
    return ""


def _ours(base: type) -> bool:
    return base.__module__.startswith(("stretto.", "stretto_lab."))


# ---------------------------------------------------------------- tables


def tables(place: str) -> list[str]:
    """A struct and all structs below it, one table each, the outermost first."""
    lines: list[str] = []
    for struct in _reachable(struct_of(place)):
        lines += [f"## {struct.__name__}", "", first_sentence(struct.__doc__), ""]
        lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        hints = typing.get_type_hints(struct)
        for field in msgspec.structs.fields(struct):
            kind = _spelt(hints[field.name])
            default = "required" if field.required else _default(field)
            cells = (f"`{field.encode_name}`", kind, default, comment(struct, field.name))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return lines


def _reachable(struct: Struct) -> list[Struct]:
    found = [struct]
    for each in found:
        for kind in typing.get_type_hints(each).values():
            found += [s for s in _structs(kind) if s not in found]
    return found


def _structs(kind: Any) -> list[Struct]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return list(dict.fromkeys(s for part in typing.get_args(kind) for s in _structs(part)))


def _spelt(kind: Any) -> str:
    """A type as a reader of YAML or JSON calls it."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_spelt(p) for p in parts if p is not type(None))
    if origin is typing.Literal:
        return ", ".join(f"`{p}`" if p != "" else "empty" for p in parts)
    if origin in (tuple, list):
        return f"list of {_spelt(parts[0])}"
    if origin is dict:
        return "mapping"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    names = {str: "string", int: "integer", float: "number", bool: "boolean", typing.Any: "any"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if value is msgspec.NODEFAULT or value is None or value in ("", (), {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# ---------------------------------------------------------------- schemas


def file_of(form: str) -> str:
    """The file name of a form's schema."""
    return form.replace("/", ".").replace(" (", ".").replace(")", "").replace(" ", "-") + ".json"


def schema(form: str) -> str:
    """The JSON Schema of a form, with the comments of fields as descriptions."""
    struct = struct_of(FORMS[form])
    (top,), parts = msgspec.json.schema_components(
        [struct], schema_hook=lambda _kind: {}, ref_template="#/$defs/{name}"
    )
    for each in _reachable(struct):
        properties = parts.get(each.__name__, {}).get("properties", {})
        for field in msgspec.structs.fields(each):
            if field.encode_name in properties:
                text = comment(each, field.name)
                properties[field.encode_name] = {**properties[field.encode_name]}
                if text:
                    properties[field.encode_name]["description"] = text
    dialect = "https://json-schema.org/draft/2020-12/schema"
    whole = {"$schema": dialect, "title": form, **top, "$defs": parts}
    return json.dumps(whole, indent=2, default=str)


def schemas() -> list[str]:
    """Every published form: a link to its schema, and the schema itself."""
    lines: list[str] = []
    for form, place in FORMS.items():
        name = file_of(form)
        lines += [f"## {form}", "", first_sentence(struct_of(place).__doc__), ""]
        lines += [f'<a href="../schemas/{name}">{name}</a>', ""]
        lines += ["<details><summary>Show the schema</summary>", "", "```json"]
        lines += [*schema(form).splitlines(), "```", "", "</details>", ""]
    return lines
