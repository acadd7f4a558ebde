"""Every JSON output of a verb has a published schema, and real output fits it."""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.cli.main import main as run_main
from stretto_lab.chaos.trace import ChaosFailure, save_failure
from tests.support.json_schema import violations

#: A name of a JSON form in the source of the product.
FORM = re.compile(r'"(stretto\.[a-z._-]+/v\d+)"')
#: Forms of files, not of an output of a verb.
FILES = {"stretto.recording/v1"}

SCENARIO = "examples/queues.yaml"
FLEET = "examples/federation.yaml"
#: One call for each form, without ``--json``; ``{}`` is a folder of the test.
CALLS = {
    "stretto.run/v1": f"run {SCENARIO} --speed 0 --no-plots -q",
    "stretto.explain/v1": f"explain train-0 --on {SCENARIO}",
    "stretto.explain.pending/v1": f"explain --pending --on {SCENARIO}",
    "stretto.explain.node/v1": f"explain node/gpu-0 --on {SCENARIO}",
    "stretto.explain/v1 (pod and node)": f"explain train-0 gpu-0 --on {SCENARIO}",
    "stretto.explain.queue/v1": f"explain queue/research --on {SCENARIO}",
    "stretto.queues/v1": f"queues --on {SCENARIO}",
    "stretto.shards/v1": f"shards --on {SCENARIO}",
    "stretto.federation.run/v1": f"run {FLEET}",
    "stretto.federation.clusters/v1": f"federation clusters --on {FLEET}",
    "stretto.federation.explain/v1": f"federation explain web --on {FLEET}",
    "stretto.federation.rollout/v1": f"federation rollout web --on {FLEET}",
    "stretto.federation.migrate/v1": f"federation migrate --from east --on {FLEET}",
    "stretto.federation.plan/v1": f"federation plan examples/federation --on {FLEET}",
    "stretto.federation.simulate/v1": f"federation simulate --on {FLEET} --policy stretto --at 0",
    "stretto.federation.story/v1": f"federation story web --on {FLEET}",
    "stretto.defragment/v1": f"defragment --on {SCENARIO}",
    "stretto.doctor/v1": f"doctor --on {SCENARIO}",
    "stretto.get.pods/v1": f"get pods --on {SCENARIO}",
    "stretto.get.nodes/v1": f"get nodes --on {SCENARIO}",
    "stretto.get.units/v1": f"get units --on {SCENARIO}",
    "stretto.get.queues/v1": f"get queues --on {SCENARIO}",
    "stretto.top.nodes/v1": f"top nodes --on {SCENARIO}",
    "stretto.top.pods/v1": f"top pods --on {SCENARIO}",
    "stretto.top.pools/v1": f"top pools --on {SCENARIO}",
    "stretto.scale/v1": "scale examples/scaling/web.yaml --on examples/scaling.yaml",
    "stretto.tides/v1": "tides examples/tides/morning.yaml --on examples/tides.yaml",
    "stretto.recommend/v1": "recommend --usage examples/vertical/use.csv",
    "stretto.capacity/v1": f"capacity examples/capacity/web.yaml --on {SCENARIO}",
    "stretto.plan/v1": "plan examples/plan --on examples/quickstart.yaml",
    "stretto.record/v1": f"record --on {SCENARIO} --out {{}}/state.jsonl --for 0",
    "stretto.convert/v1": f"convert {SCENARIO} {{}}/queues.jsonl.gz",
    "stretto.simulate.recording/v1": "simulate examples/recordings/monday.jsonl.gz",
    "stretto.compare.recording/v1": "compare examples/recordings/monday.jsonl.gz",
    "stretto.compare.trace/v1": "compare examples/traces/small.swf",
    "stretto.simulate.swf/v1": "simulate examples/traces/small.swf --queues-by user",
    "stretto.simulate.philly-log/v1": "simulate examples/traces/cluster_job_log --gpus 16",
    "stretto.validate/v1": f"validate {SCENARIO}",
    "stretto.profiles/v1": "profiles",
    "stretto.policies/v1": "policies",
    "stretto.rules/v1": "rules",
    "stretto.examples/v1": "examples",
    "stretto.examples/v1 (one scenario)": "examples quickstart",
    "stretto.docs/v1": "docs",
    "stretto.docs/v1 (one page)": "docs traces",
    "stretto.bench.engine/v1": "bench engine --nodes 64 --running 64 --pods 64 --rate 0 --rounds 1",
    "stretto.chaos/v1": "chaos --seeds 1 --steps 20",
    "stretto.chaos-offers/v1": "chaos --offers --seeds 1 --steps 10",
    "stretto.chaos-fleets/v1": "chaos --fleets --seeds 1 --steps 10",
    "stretto.study.five-questions/v1": "study five-questions --nodes 10",
    "stretto.study.omega/v1": "study omega --machines 50 --hours 0.01 --schedulers 1 --decisions 1",
    "stretto.study.reclaim/v1": "study reclaim --nodes 1 --hours 1 --limits 65",
    "stretto.study.reclaim-memory/v1": (
        "study reclaim --nodes 1 --hours 1 --memory tests/unit/lab/data"
    ),
    "stretto.study.seasonal/v1": "study seasonal --ahead 3600",
    "stretto.study.shards/v1": "study shards --nodes 20 --pods 50 --shards 1 --decisions-ms 0",
}


@pytest.fixture(scope="module")
def structs(repo_root: Path) -> Any:
    sys.path.insert(0, str(repo_root / "docs" / "_ext"))
    try:
        import site_structs
    finally:
        sys.path.pop(0)
    return site_structs


@pytest.fixture
def here(repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repo_root)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    return tmp_path


def faults(structs: Any, form: str, document: dict[str, Any]) -> list[str]:
    schema = json.loads(structs.schema(form))
    assert document["schema"] == form.split(" ", maxsplit=1)[0]
    return list(violations(document, schema, schema, "$"))


def test_every_form_in_the_source_is_published(structs: Any, repo_root: Path) -> None:
    sources = (repo_root / "src").rglob("*.py")
    published = {form.split(" ", maxsplit=1)[0] for form in structs.FORMS}
    named = {form for path in sources for form in FORM.findall(path.read_text(encoding="utf-8"))}
    assert named - FILES - published == set()


def test_every_trace_format_has_a_published_form(structs: Any) -> None:
    from stretto.inputs.traces.formats import TRACES

    assert {f"stretto.simulate.{name}/v1" for name in TRACES.built_in()} <= set(structs.FORMS)


@pytest.mark.parametrize("form", CALLS)
def test_real_output_fits_its_schema(form: str, structs: Any, here: Path) -> None:
    out = here / "out.json"
    words = CALLS[form].format(here).split()
    done = CliRunner().invoke(cli, [*words, "--json", str(out)])
    assert done.exit_code in (0, 1, 3), done.output
    assert faults(structs, form, json.loads(out.read_text(encoding="utf-8"))) == []


def test_a_conformance_report_fits_its_schema(structs: Any, here: Path) -> None:
    with gzip.open("tests/conformance/data/cases.jsonl.gz", "rt", encoding="utf-8") as cases:
        (here / "one.jsonl").write_text(next(cases), encoding="utf-8")
    words = ["conformance", "--cases", str(here / "one.jsonl"), "--json", str(here / "out.json")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    document = json.loads((here / "out.json").read_text(encoding="utf-8"))
    assert faults(structs, "stretto.conformance/v1", document) == []


def test_a_saved_failure_of_the_fault_simulator_and_its_replay_fit_their_schemas(
    structs: Any, here: Path
) -> None:
    save_failure(ChaosFailure(3, 5, ("law 1: none",), ()), here / "saved.json")
    words = ["chaos", "--replay", str(here / "saved.json"), "--json", str(here / "out.json")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    forms = {"saved.json": "stretto.chaos.failure/v1", "out.json": "stretto.chaos.replay/v1"}
    documents = {name: json.loads((here / name).read_text(encoding="utf-8")) for name in forms}
    assert [faults(structs, form, documents[name]) for name, form in forms.items()] == [[], []]


@pytest.mark.usefixtures("here")
def test_an_error_fits_its_schema(
    structs: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["stretto", "get", "pods", "--on", "none.yaml", "--json", "-"])
    with pytest.raises(SystemExit):
        run_main()
    assert faults(structs, "stretto.error/v1", json.loads(capsys.readouterr().err)) == []


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"goal": 1, "moves": [], "before": {}, "after": {}}, "$.goal: 1 is not of type string"),
        ({"moves": []}, "$.goal is missing"),
        ({"goal": "gpus", "moves": [{"pod": 3}]}, "$.moves[0].pod: 3 is not of type string"),
    ],
)
def test_a_wrong_document_is_found(structs: Any, document: dict[str, Any], fault: str) -> None:
    assert fault in faults(
        structs, "stretto.defragment/v1", {"schema": "stretto.defragment/v1", **document}
    )
