"""Scores by images: the cached values equal kube-scheduler's formula after any events."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE, POD
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod

MB = 1 << 20
SIZES = {"small:1": 9 * MB, "web:1": 150 * MB, "db:latest": 900 * MB, "ml:2": 4000 * MB}
IMAGES = "ImageLocality"
ALONE = {
    "profiles": [
        {
            "plugins": {
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}
            }
        }
    ]
}

images = st.lists(st.sampled_from(sorted(SIZES)), unique=True, max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 5), images),
        st.tuples(st.just("gone"), st.integers(0, 5), st.just([])),
        st.tuples(st.just("pod"), st.integers(0, 5), images),
        st.tuples(st.just("look"), st.just(0), st.just([])),
    ),
    min_size=3,
    max_size=14,
)


def node_with(name: str, names: list[str]) -> bytes:
    body = msgspec.json.decode(make_node(name, zone=f"z{name[1:]}"))  # a block of slots of its own
    body["status"]["images"] = [{"names": [n], "sizeBytes": SIZES[n]} for n in names]
    return msgspec.json.encode(body)


def report(harness: Harness, node: str, names: list[str], **more: object) -> None:
    found = [{"names": [n], "sizeBytes": SIZES[n]} for n in names]
    harness.store.patch_status(NODE, [Patch("", node, {"status": {"images": found, **more}})])


def pod_with(name: str, names: list[str], **more: Any) -> bytes:
    """A pod whose containers have these images; ``mounts`` are images that are its volumes."""
    mounts = more.pop("mounts", [])
    body = msgspec.json.decode(make_pod(name, **more))
    body["spec"]["volumes"] = [
        {"name": f"v{i}", "image": {"reference": n}} for i, n in enumerate(mounts)
    ]
    (container,) = body["spec"]["containers"]
    written = [n.removesuffix(":latest") for n in names] or ["other:1"]
    body["spec"]["containers"] = [
        container | {"name": f"c{i}", "image": image} for i, image in enumerate(written)
    ]
    return msgspec.json.encode(body)


def act(harness: Harness, what: str, number: int, names: list[str]) -> None:
    if what == "node":
        body = node_with(f"n{number}", names)
        known = harness.store.get(NODE, "", f"n{number}") is not None
        if known:
            report(harness, f"n{number}", names)
        else:
            harness.create(NODE, body)
    elif what == "gone":
        harness.store.delete(NODE, [Deletion("", f"n{number}")])
    elif what == "pod" and harness.store.get(POD, "default", f"p{number}") is None:
        # Too big to be placed: it stays pending and is evaluated again and again.
        harness.submit(pod_with(f"p{number}", names, cpu="100", mounts=names[:1] * (number % 2)))
    else:
        harness.plane.run_until_idle()


def exact_scores(harness: Harness, names: list[str], mounts: list[str]) -> dict[str, int]:
    """kube-scheduler's formula in plain Python."""
    records = sorted(harness.store.list(NODE).records, key=lambda record: record.version)
    nodes = [decode_as(Node, record.body, "node") for record in records]
    images = {n.metadata.name: {k for i in n.status.images for k in i.names} for n in nodes}
    least, most = 23 * MB, 1000 * MB * len(names)
    found = {}
    for node, has in images.items():
        there = sum(
            int(float(SIZES[name]) * (sum(name in each for each in images.values()) / len(images)))
            for name in (*names, *mounts)
            if name in has
        )
        found[node] = 100 * (min(max(there, least), most) - least) // (most - least) if names else 0
    return found


@settings(max_examples=25)
@given(done=steps)
def test_rows_equal_the_exact_path_after_any_changes(
    done: list[tuple[str, int, list[str]]],
) -> None:
    harness = Harness(profile=load_profile(ALONE), config={"tier": "numpy"})
    harness.plane.run_until_idle()
    requested: dict[str, list[str]] = {}
    for what, number, names in done:
        if what == "pod":
            requested.setdefault(f"p{number}", names or ["other:1"])
        act(harness, what, number, names)
    harness.plane.run_until_idle()
    cluster, runtime = harness.plane.cluster, harness.plane.shards[0].default.runtime
    assert isinstance(runtime, Runtime)
    runtime.sync()
    for row in range(cluster.pods.length):
        name = cluster.pods.name[row]
        mounts = [n for n in requested[name][:1] if n in SIZES] * (int(name[1:]) % 2)
        want = exact_scores(harness, requested[name], mounts)
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        kept = runtime.engine.eligibility.scores[runtime.engine.eligibility.score_row(pod)]
        assert {name: int(kept[slot]) for name, slot in cluster.nodes.by_name.items()} == want


@settings(max_examples=25)
@given(done=steps)
def test_the_best_node_is_found_under_the_default_profile_after_any_changes(
    done: list[tuple[str, int, list[str]]],
) -> None:
    harness = Harness([node_with(f"m{i}", ["web:1"] * (i == 1)) for i in range(3)])
    harness.submit(*(pod_with(f"seen-{name[:2]}", [name], cpu="10m") for name in SIZES))
    for what, number, names in done:
        act(harness, what, number, names)
        harness.plane.run_until_idle()
        runtime = harness.plane.shards[0].default.runtime
        assert isinstance(runtime, Runtime)
        runtime.sync()
        pods = harness.plane.cluster.pods
        for class_id in sorted({int(c) for c in pods.class_id[pods.rows()]}):
            row = runtime.reference_row(class_id)
            slot = int(runtime.place(PlacementRequest([class_id], [0, 1], [1])).slots[0])
            assert (row[slot] if slot >= 0 else 0) == row.max()


def test_a_pod_goes_where_its_image_is() -> None:
    harness = Harness(config={"tier": "numpy"})
    harness.create_nodes(*(node_with(f"n{i}", ["db:latest"] if i == 3 else []) for i in range(5)))
    harness.submit(pod_with("web", ["db:latest"]))
    harness.settle()
    assert harness.node_of("web") == "n3"


def test_a_pod_goes_where_the_image_is_that_it_mounts() -> None:
    harness = Harness(config={"tier": "numpy"})
    harness.create_nodes(*(node_with(f"n{i}", ["db:latest"] if i == 3 else []) for i in range(5)))
    harness.submit(pod_with("web", ["other:1"], mounts=["db"]))
    harness.settle()
    assert harness.node_of("web") == "n3"


def test_a_pod_that_came_before_the_first_report_is_scored_too() -> None:
    harness = Harness(
        [make_node("n0", cpu="1"), make_node("n1", cpu="1")], config={"tier": "numpy"}
    )
    harness.submit(pod_with("web", ["db:latest"], cpu="2"))
    harness.settle()
    report(harness, "n1", ["db:latest"], allocatable={"cpu": "8", "memory": "9Gi", "pods": "9"})
    harness.settle(5)
    cluster = harness.plane.cluster
    assert (harness.node_of("web"), cluster.classes[int(cluster.pods.class_id[0])].images) == (
        "n1",
        ("db:latest",),
    )


def test_images_are_no_part_of_a_class_while_no_node_reports_any() -> None:
    harness = Harness([make_node("n0")], config={"tier": "numpy"})
    harness.submit(pod_with("a", ["web:1"]), pod_with("b", ["ml:2"]))
    harness.settle()
    assert len({int(c) for c in harness.plane.cluster.pods.class_id[:2]}) == 1
