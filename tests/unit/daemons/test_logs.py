"""The log of a daemon: lines for people, or JSON; troubles once a minute."""

import contextlib
import io
import json

from stretto.base.clock import ManualClock
from stretto.daemons.logs import Log, LogFormat


class Desk:
    """A log into memory."""

    def __init__(self, form: LogFormat = LogFormat.JSON) -> None:
        self.clock = ManualClock(100.0)
        self.stream = io.StringIO()
        self.log = Log(self.clock, form, self.stream)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_a_json_line_has_time_level_message_and_fields() -> None:
    desk = Desk()
    desk.log.info("synced", nodes=5)
    said = json.loads(desk.lines[0])
    assert said == {
        "time": "1970-01-01T00:01:40Z",
        "level": "info",
        "message": "synced",
        "nodes": 5,
    }


def test_a_text_line_reads_the_same() -> None:
    desk = Desk(LogFormat.TEXT)
    desk.log.warning("odd", about="nodes")
    assert desk.lines == ["1970-01-01T00:01:40Z warning: odd about=nodes"]


def test_texts_of_others_do_not_break_a_line() -> None:
    for form in LogFormat:
        desk = Desk(form)
        desk.log.error("one\ntwo\r")
        assert len(desk.stream.getvalue().splitlines()) == 1


def test_the_same_trouble_is_logged_once_a_minute_and_so_is_its_end() -> None:
    desk = Desk()
    for _ in range(3):
        desk.log.trouble("watch pods", "cut")
    desk.clock.advance(61)
    desk.log.trouble("watch pods", "cut")
    desk.log.trouble("watch pods", "")
    desk.log.trouble("watch pods", "")
    assert [json.loads(line)["message"] for line in desk.lines] == ["cut", "cut", "recovered"]


def test_an_unwritable_log_stops_no_daemon() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        for _ in range(3):
            Log(ManualClock(100.0), LogFormat.TEXT, full).info("x" * 9000)
        with contextlib.suppress(OSError):
            full.close()
