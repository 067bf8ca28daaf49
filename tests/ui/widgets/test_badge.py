"""The labels of an endpoint's tags."""

from __future__ import annotations

import pytest

from app.ui.widgets.badge import GAP, WEIGHT, fitting_labels, pill_width, tags_text


def width_of(labels: list[str]) -> int:
    return sum(pill_width(one, WEIGHT) for one in labels) + GAP * (len(labels) - 1)


@pytest.mark.usefixtures("qapp")
def test_tags_are_shown_whole_or_counted() -> None:
    tags = ["shop", "x" * 32, "eu"]
    assert fitting_labels(tags, width_of(tags)) == tags
    assert fitting_labels(tags, width_of(tags) - 1) in (["shop", "x" * 32, "+1"], ["shop", "+2"])
    assert fitting_labels(tags, width_of(["shop", "+2"])) == ["shop", "+2"]
    assert fitting_labels(tags, width_of(["+3"])) == ["+3"]
    assert fitting_labels(tags, width_of(["+3"]) - 1) == []
    assert fitting_labels([], 500) == []


def test_tags_in_words() -> None:
    assert tags_text(("shop", "eu")) == "Tags: shop, eu"
    assert tags_text(()) == ""
