"""The chart without a cluster: values and schema, the same rights, a board of real metrics."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.daemons.metrics import metrics_of
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.explain.metrics.tally import MetricKind
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore

CHART = Path(__file__).resolve().parents[3] / "deploy" / "helm" / "stretto"
DEPLOY = CHART.parents[1]


def values() -> dict[str, Any]:
    """The default values."""
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return found


def unknown(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Values that the schema does not know."""
    known = schema.get("properties")
    if (
        isinstance(value, dict)
        and known is not None
        and schema.get("additionalProperties") is False
    ):
        for name, each in value.items():
            if name not in known:
                yield f"{path}.{name}"
            else:
                yield from unknown(each, known[name], f"{path}.{name}")


def test_every_value_is_in_the_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert list(unknown(values(), schema, "values")) == []
    assert set(schema["properties"]) - set(values()) == {"global", "nameOverride"}


def test_a_value_that_the_templates_need_cannot_be_taken_away() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    free = {"schedulerNames", "extraArgs", "priorityClassName", "nodeSelector", "tolerations"}
    free |= {"affinity", "podAnnotations", "podLabels"}
    assert set(schema["required"]) == set(values()) - free


def test_every_value_is_used_and_no_other_is() -> None:
    text = "".join(each.read_text(encoding="utf-8") for each in CHART.glob("templates/*"))
    used = {each.split(".")[0] for each in re.findall(r"\.Values\.([\w.]+)", text)}
    assert used == {*values(), "nameOverride"}


def test_the_rights_are_those_of_the_manifest() -> None:
    text = (CHART / "templates" / "rbac.yaml").read_text(encoding="utf-8")
    rules = yaml.safe_load(text.split("rules:\n", 1)[1].split("\n---", 1)[0])
    manifest = (DEPLOY / "rbac-scheduler.yaml").read_text(encoding="utf-8")
    shipped = next(e for e in yaml.safe_load_all(manifest) if e["kind"] == "ClusterRole")
    assert rules == shipped["rules"]


def test_the_rights_of_the_scaler_are_the_shipped_file() -> None:
    assert (CHART / "rbac-scaler.yaml").resolve() == DEPLOY / "rbac-scaler.yaml"
    assert values()["scaler"]["enabled"] is False


def test_the_profile_schedules_for_stretto(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(yaml.safe_dump(values()["profile"]), encoding="utf-8")
    assert load_profile(str(path)).scheduler_names == ("stretto",)


def test_the_chart_brings_the_same_kinds() -> None:
    assert (CHART / "crds").resolve() == (DEPLOY / "crds").resolve()


def test_the_board_draws_metrics_that_there_are() -> None:
    board = json.loads((CHART / "dashboards" / "stretto.json").read_text(encoding="utf-8"))
    drawn = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:scheduler|stretto)_\w+", target["expr"])
    }
    assert drawn
    assert drawn <= set(served())


def served() -> Iterator[str]:
    """Names of all series that a scheduler serves."""
    clock = ManualClock()
    config = plane_config(load_profile("default"), (), 1, "numpy", REPORT)
    metrics = metrics_of(Plane(config, MemoryStore(clock, Rng(1)), clock))
    for family in metrics.families():
        if family.kind is MetricKind.COUNTER:
            yield f"{family.name}_total"
        elif family.kind is MetricKind.HISTOGRAM:
            yield f"{family.name}_bucket"
        else:
            yield family.name
