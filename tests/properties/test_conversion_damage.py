"""A damaged trace or dump is converted, or refused with a message; it never crashes the reader."""

import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from stretto.base.errors import StrettoError
from stretto.inputs.conversion.convert import timeline_of

SAMPLES = Path(__file__).resolve().parents[2] / "examples" / "traces"
WORDS = '|,|"|\n|\r\n|-1|nan|inf|1e999|{|}|[|]|null|true|\0|: |- |&a |*a |apiVersion: |>24|1_000'
PIECES = [word.encode() for word in WORDS.split("|")] + [b"\xff"]
DAMAGE = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(PIECES)), min_size=1, max_size=4
)


@given(
    name=st.sampled_from(["azure", "pai", "google", "cluster", "gpu-2023"]),
    which=st.integers(0, 20),
    damage=DAMAGE,
)
def test_a_damaged_file_is_converted_or_refused(
    name: str, which: int, damage: list[tuple[float, int, bytes]]
) -> None:
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(SAMPLES / name, Path(folder) / name))
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        hurt = files[which % len(files)]
        content = bytearray(hurt.read_bytes())
        for place, size, piece in damage:
            at = int(place * len(content))
            content[at : at + size] = piece
        hurt.write_bytes(bytes(content))
        with suppress(StrettoError):
            timeline = timeline_of(copy)
            list(timeline.objects)
            list(timeline.changes)
