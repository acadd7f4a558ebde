"""RecordIO: framing of event streams."""

import pytest

from stretto.offers.messages.records import RecordReader, frame


@pytest.mark.parametrize("size", [1, 3, 100])
def test_records_are_found_in_pieces_of_any_size(size: int) -> None:
    records = [b"{}", b"", b"x" * 120]
    stream = b"".join(map(frame, records))
    reader = RecordReader()
    pieces = (stream[at : at + size] for at in range(0, len(stream), size))
    assert [record for piece in pieces for record in reader.feed(piece)] == records


@pytest.mark.parametrize("data", [b"abc\n", b"9999999999\n", b"123456789012"])
def test_a_length_that_is_no_number_or_too_large_is_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match="no length of a record"):
        list(RecordReader().feed(data))
