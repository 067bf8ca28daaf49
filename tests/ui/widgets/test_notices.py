"""One line of a notice, and all of it by Details."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme.theme import Theme
from app.ui.widgets.labels import ElidedLabel, breakable
from app.ui.widgets.notices import NoticeText

LONG = " ".join(["The disk is full, and nothing is captured."] * 5)
ADVICE = "Free some space on the disk, then try again."


@pytest.fixture
def notice(qtbot: QtBot) -> NoticeText:
    notice = NoticeText(Theme(), None)
    qtbot.addWidget(notice)
    notice.resize(500, 24)
    notice.show()
    return notice


def shown(notice: NoticeText) -> list[str]:
    """The texts of its line."""
    return [one.shown_text() for one in notice.findChildren(ElidedLabel) if one.isVisible()]


def test_what_fits_is_one_line_without_details(notice: NoticeText) -> None:
    notice.say("The disk is full.", advice="Free some space.")
    assert shown(notice) == ["The disk is full.", "Free some space."]
    assert not notice.details.isVisible()


def test_what_does_not_fit_is_one_line_too_and_all_of_it_by_details(notice: NoticeText) -> None:
    notice.say("Short.")
    line = notice.sizeHint().height()
    notice.say(LONG, advice=ADVICE)
    assert notice.sizeHint().height() == max(line, notice.details.sizeHint().height())
    (text,) = shown(notice)
    assert text.endswith("…")
    notice.details.click()
    assert shown(notice) == []
    assert notice._all.text().replace("\u200b", "") == f"{LONG}\n{ADVICE}"
    assert notice._all.isVisible()
    assert notice.details.text() == "Less"
    notice.details.click()
    assert shown(notice) == [text]
    assert notice.details.text() == "Details"


def test_a_shorter_wording_comes_before_a_cut(notice: NoticeText) -> None:
    notice.say(LONG, "The disk is full.")
    assert shown(notice) == ["The disk is full."]
    assert notice.details.isVisible()
    assert notice.text() == LONG


def test_another_notice_begins_as_one_line_and_room_takes_details_away(notice: NoticeText) -> None:
    notice.say(LONG)
    notice.details.click()
    notice.say(LONG)
    assert notice._all.isVisible(), "the same one, said again"
    notice.say(LONG + "Now.")
    assert not notice._all.isVisible()
    notice.resize(4000, 24)
    assert not notice.details.isVisible()


def test_a_long_url_can_wrap_and_stays_the_same_otherwise() -> None:
    url = "https://" + "a" * 60 + "/hook?x=1"
    assert breakable(url).replace("\u200b", "") == url
    assert max(map(len, breakable(url).split("\u200b"))) <= 16
