"""A recording taken from a living plane, and played again: as it was, and otherwise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import (
    NODE,
    PERSISTENT_VOLUME,
    POD,
    QUEUE,
    RESERVATION,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    Kind,
)
from stretto.base.errors import InputError, NotFoundError, UnknownNameError
from stretto.inputs.objects.recordings import (
    FORMAT,
    Recording,
    RecordingHeader,
    RecordingWriter,
    load_recording,
)
from stretto.inputs.objects.redaction import redacted
from stretto.plane.copy import PlaneSettings, SchedulingRules
from stretto.sim.history.histories import ReplayHistory, history_of
from stretto.sim.history.recording import RecordingSession, recorded_words
from stretto.sim.history.replay import Replay, ReplayResult, recorded_waits
from stretto.sim.history.what_if import Variation, queues_of, read_variation
from stretto.stores.store import Deletion, Patch, Update
from stretto.testing import Harness, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


class Tape:
    """A plane on two nodes whose every change is recorded."""

    def __init__(self, path: Path, *objects: tuple[Kind, bytes]) -> None:
        self.path = path
        nodes = [make_node("a", cpu="4", zone="z1"), make_node("b", cpu="4", zone="z2")]
        self.harness = Harness(nodes)
        for kind, body in objects:
            self.harness.store.create(kind, [body])
        self.harness.submit(make_pod("before", cpu="3"))
        self.harness.settle()
        self.writer = RecordingWriter(path, RecordingHeader(FORMAT, "", recorded_words()))
        self.session = RecordingSession(self.harness.store, self.writer, self.harness.clock)

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        """An event this number of seconds after the start."""
        self.harness.clock.advance(seconds - self.session.seconds)
        act()
        self.harness.settle()
        self.session.poll()

    def submit(self, *pods: bytes) -> Callable[[], object]:
        return lambda: self.harness.submit(*pods)

    def delete(self, name: str) -> Callable[[], object]:
        return lambda: self.harness.store.delete(POD, [Deletion("default", name)])

    def write(self, kind: Kind, space: str, name: str, body: bytes) -> Callable[[], object]:
        return lambda: self.harness.store.update(kind, [Update(space, name, body)])

    def end(self, seconds: float) -> Recording:
        self.harness.clock.advance(seconds - self.session.seconds)
        self.session.run(0.0, lambda *_: None)
        return load_recording(self.path)


@pytest.fixture(params=["tape.jsonl", "tape.jsonl.gz"])
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    """Ten seconds: one pod runs 4 s, one waits for it, one never fits and is deleted."""
    tape = Tape(tmp_path / str(request.param))
    tape.at(1, tape.submit(make_pod("short", cpu="3")))
    tape.at(2, tape.submit(make_pod("waits", cpu="3"), make_pod("huge", cpu="64")))
    tape.at(5, tape.delete("short"))
    tape.at(6, tape.delete("huge"))
    return tape.end(10)


@pytest.fixture
def history(recording: Recording) -> ReplayHistory:
    return history_of(recording)


def replayed(history: ReplayHistory, variation: Variation | None = None) -> ReplayResult:
    variation = variation or Variation()
    return Replay(
        variation.applied(history), variation.drains, SchedulingRules("default"), PlaneSettings()
    ).run()


def vary(**words: str) -> Variation:
    kinds = ("nodes", "drains", "bursts", "queues")
    return read_variation(*([words[kind]] if kind in words else [] for kind in kinds))


def test_a_recording_has_the_times_of_each_pod(history: ReplayHistory) -> None:
    found = {pod.name: (pod.arrived, pod.bound, pod.ended) for pod in history.pods}
    assert found["before"] == (0.0, 0.0, float("inf"))
    assert found["short"] == (1.0, 1.0, 5.0)
    assert found["waits"] == (2.0, 5.0, float("inf"))
    assert found["huge"][2] == 6.0


def test_a_replay_of_the_own_decisions_gives_the_recorded_waits(history: ReplayHistory) -> None:
    done = replayed(history)
    assert sorted(done.waits.values()) == recorded_waits(history) == [0.0, 3.0]
    assert (done.outcomes.pods, done.outcomes.placed, done.outcomes.left_waiting) == (3, 2, 1)


def test_the_same_seed_replays_to_the_same_outcome(history: ReplayHistory) -> None:
    assert msgspec.json.encode(replayed(history)) == msgspec.json.encode(replayed(history))


def test_with_more_nodes_no_pod_is_pending(history: ReplayHistory) -> None:
    assert replayed(history, vary(nodes="a:1")).outcomes.max_wait_s == 0.0


def test_a_node_of_a_shape_takes_what_fitted_nowhere(history: ReplayHistory) -> None:
    done = replayed(history, vary(nodes="96cpu-256gib:1"))
    assert done.outcomes.placed == 3


def test_a_drained_zone_sends_its_pods_to_wait(history: ReplayHistory) -> None:
    zone = next(pod.node for pod in history.pods if pod.name == "before")
    label = {"a": "z1", "b": "z2"}[zone]
    done = replayed(history, vary(drains=f"{ZONE}={label}"))
    assert done.outcomes.evicted == 1
    assert done.outcomes.placed < 2 or done.outcomes.pending > 0


def test_a_burst_brings_pods_like_the_recorded_one(history: ReplayHistory) -> None:
    done = replayed(history, vary(bursts="default/waits:5@3"))
    assert (done.outcomes.pods, done.outcomes.pending) == (8, 5)


def test_pods_wait_from_when_they_come_and_curves_go_to_the_end(history: ReplayHistory) -> None:
    levels = replayed(history).levels
    assert {level.pending for level in levels if level.time_s < 2} == {0}
    assert max(level.pending for level in levels) == 2
    assert levels[-1].time_s == history.seconds


def test_a_variation_that_is_stated_twice_applies_twice(history: ReplayHistory) -> None:
    words: tuple[list[str], ...] = (
        ["a:1", "a:2", "96cpu-256gib:1", "96cpu-256gib:1"],
        [],
        ["waits:1@3", "waits:2@4"],
        [],
    )
    done = replayed(history, read_variation(*words))
    assert (done.outcomes.refused, done.outcomes.pods) == (0, 6)
    varied = read_variation(*words).applied(history)
    assert len([each for each in varied.objects if each.kind is NODE]) == 7


def test_nodes_that_come_later_help_from_then_on(history: ReplayHistory) -> None:
    assert replayed(history, vary(nodes="a:1@3")).outcomes.max_wait_s == 1.0


def test_a_burst_comes_to_a_recording_of_one_moment(history: ReplayHistory) -> None:
    now = msgspec.structs.replace(history, pods=history.pods[:1], changes=[], seconds=0.0)
    done = replayed(now, vary(bursts="default/before:2"))
    assert (done.outcomes.pods, done.outcomes.placed) == (2, 1)


@pytest.mark.parametrize(("cpu", "gpus", "placed"), [("4", 0, 0), ("32", 0, 1), ("32", 2, 1)])
def test_a_node_that_grows_does_so_in_a_replay_too(
    tmp_path: Path, cpu: str, gpus: int, placed: int
) -> None:
    tape = Tape(tmp_path / "node.jsonl")
    tape.at(1, tape.submit(make_pod("late", cpu="16")))
    new = msgspec.json.decode(make_node("a", cpu=cpu, gpus=gpus, zone="z1"))["status"]
    tape.at(2, lambda: tape.harness.store.patch_status(NODE, [Patch("", "a", {"status": new})]))
    assert replayed(history_of(tape.end(5))).outcomes.placed == placed


def test_what_a_node_has_no_longer_is_gone_in_a_replay_too(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "node.jsonl", (NODE, make_node("g", cpu="4", gpus=2)))
    gone = {"allocatable": {"nvidia.com/gpu": None}, "capacity": {"nvidia.com/gpu": None}}
    tape.at(1, lambda: tape.harness.store.patch_status(NODE, [Patch("", "g", {"status": gone})]))
    tape.at(2, tape.submit(make_pod("late", gpus=1)))
    assert replayed(history_of(tape.end(3))).outcomes.placed == 0


def queue(weight: int = 1) -> bytes:
    body = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": "small"}}
    return msgspec.json.encode({**body, "spec": {"weight": weight}})


def in_small(name: str) -> bytes:
    return make_pod(name, cpu="1", annotations={"stretto.dev/queue": "small"})


def test_later_changes_of_a_queue_do_not_undo_its_requests(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "queue.jsonl", (QUEUE, queue()))
    tape.at(1, tape.write(QUEUE, "", "small", queue(weight=2)))
    tape.at(2, tape.submit(in_small("one"), in_small("two")))
    history = history_of(tape.end(3))
    assert replayed(history).outcomes.placed == 2
    assert replayed(history, vary(queues="small:limit.cpu=1")).outcomes.placed == 1


def test_a_queue_that_comes_later_is_changed_when_it_comes(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "late.jsonl")
    tape.at(1, lambda: tape.harness.store.create(QUEUE, [queue(weight=2)]))
    tape.at(2, tape.submit(in_small("one"), in_small("two")))
    history, words = history_of(tape.end(3)), vary(queues="small:limit.cpu=1")
    assert words.new_queues(history) == []
    assert replayed(history, words).outcomes.placed == 1


def test_a_queue_may_get_another_weight(history: ReplayHistory) -> None:
    varied = vary(queues="batch:weight=3,limit.cpu=100").applied(history)
    (queue,) = queues_of(varied)
    assert (queue.metadata.name, queue.spec.weight) == ("batch", 3)


def test_a_pod_of_a_used_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "names.jsonl")
    tape.at(1, tape.submit(make_pod("web-0")))
    tape.at(2, tape.delete("web-0"))
    tape.at(3, tape.submit(make_pod("web-0")))
    names = [pod.name for pod in history_of(tape.end(4)).pods]
    assert names == ["before", "web-0", "web-0-again-2"]


def test_secrets_environment_and_foreign_annotations_are_left_out(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "secret.jsonl")
    container = {"name": "m", "image": "i", "env": [{"name": "TOKEN", "value": "hush"}]}
    spec = {
        "containers": [{**container, "command": ["hush"]}],
        "volumes": [{"name": "s", "secret": {"secretName": "hush"}}],
    }
    tape.at(1, tape.submit(make_pod("web", spec=spec, annotations={"company/note": "hush"})))
    tape.end(2)
    assert b"hush" not in tape.path.read_bytes()
    assert b'"web"' in tape.path.read_bytes()


def test_what_storage_drivers_and_templates_are_handed_is_left_out() -> None:
    pod = {"containers": [{"name": "c", "env": [{"name": "TOKEN", "value": "hush"}]}]}
    foreign = {"annotations": {"company/note": "hush"}}
    csi = {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "hush"}}
    claim = {"volumeClaimTemplate": {"metadata": foreign, "spec": {}}}
    rbd = {"image": "disk", "secretRef": {"name": "hush"}}
    volumes = [{"name": "e", "ephemeral": claim}, {"name": "r", "rbd": rbd}]
    bodies: list[tuple[Kind, dict[str, Any]]] = [
        (STORAGE_CLASS, {"provisioner": "d", "parameters": {"restuserkey": "hush"}}),
        (PERSISTENT_VOLUME, {"spec": {"csi": {**csi, "volumeAttributes": {"token": "hush"}}}}),
        (RESERVATION, {"spec": {"template": {"metadata": foreign, "spec": pod}}}),
        (VOLUME_ATTACHMENT, {"spec": {"source": {"inlineVolumeSpec": {"csi": csi}}}}),
        (STATEFUL_SET, {"spec": {"selector": {}, "template": {"spec": pod}}}),
        (POD, {"spec": {**pod, "volumes": volumes}}),
    ]
    kept = [redacted(kind, body) for kind, body in bodies]
    assert b"hush" not in msgspec.json.encode(kept)
    assert kept[1]["spec"]["csi"] == {"driver": "d", "volumeHandle": "h"}
    assert kept[-1]["spec"]["volumes"][1] == {"name": "r", "rbd": {"image": "disk"}}


def test_a_pod_that_requests_devices_by_claim_gets_no_node_in_a_replay_either(
    tmp_path: Path,
) -> None:
    tape = Tape(tmp_path / "claims.jsonl")
    claims = [{"name": "gpu", "resourceClaimName": "mine"}]
    tape.at(1, tape.submit(make_pod("dra", cpu="1", spec={"resourceClaims": claims})))
    assert replayed(history_of(tape.end(2))).outcomes.pending == 1


def test_a_recording_that_never_began_leaves_the_old_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text("precious")
    with RecordingWriter(path, RecordingHeader(FORMAT, "", [])) as writer:
        writer.there([])
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_watch_missed_is_found_by_a_fresh_list(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "missed.jsonl")
    tape.harness.store._table(POD).history.forget(tape.harness.store.version)
    tape.harness.store._notify(POD)
    tape.at(1, tape.submit(make_pod("late")))
    assert [pod.name for pod in history_of(tape.end(2)).pods] == ["before", "late"]


def test_a_recording_that_was_cut_off_is_good_up_to_its_last_whole_line(
    recording: Recording, tmp_path: Path
) -> None:
    whole = Path(recording.where)
    cut = tmp_path / f"cut-{whole.name}"
    cut.write_bytes(whole.read_bytes()[:-30])
    found = load_recording(cut)
    assert found.cut_off
    assert found.start == recording.start


def test_a_node_that_comes_later_is_there_from_then_on(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "node.jsonl")
    tape.at(1, tape.submit(make_pod("big", cpu="16")))
    tape.at(4, lambda: tape.harness.store.create(NODE, [make_node("c", cpu="16")]))
    done = replayed(history_of(tape.end(6)))
    assert done.waits["default/big"] == 3.0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"recording":"stretto.recording/v9"}', "stretto.recording/v9"),
        ("not json", "first line of a recording"),
        (f'{{"recording":"{FORMAT}"}}\n{{"kind":"Pot","object":{{}}}}', "line 2: kind"),
        (f'{{"recording":"{FORMAT}"}}\n{{"kind":"Pod","object":{{}}}}', "metadata.name"),
        (f'{{"recording":"{FORMAT}"}}\n{{"kind":"Pod","type":"CAME","object":{{}}}}', "type"),
        (f'{{"recording":"{FORMAT}"}}\nrubbish\n', "line 2"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_line(
    line: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=complaint):
        load_recording(path)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"nodes": "a"}, "--add-nodes"),
        ({"nodes": "a:0"}, "--add-nodes"),
        ({"drains": "zone"}, "--drain"),
        ({"bursts": "web"}, "--burst"),
        ({"queues": "batch"}, "--queue-share"),
        ({"queues": "batch:weight=much"}, "weight"),
    ],
)
def test_a_word_that_makes_no_sense_names_its_option(words: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        vary(**words)


def test_what_a_variation_names_must_be_in_the_recording(history: ReplayHistory) -> None:
    for words in ({"nodes": "zz:1"}, {"bursts": "default/zz:1"}, {"drains": f"{ZONE}=zz"}):
        with pytest.raises(NotFoundError, match="zz"):
            vary(**words).applied(history)
    with pytest.raises(UnknownNameError, match="wait"):
        vary(queues="batch:wait=1")
