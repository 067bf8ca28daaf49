"""The number of requests in a list that is limited to a time range."""

from __future__ import annotations

from app.core.text import count_of
from app.ui.requests.activity.strip import ActivityStrip
from app.ui.requests.list.feed import RequestFeed


def listed(feed: RequestFeed, activity: ActivityStrip, total: int) -> str | None:
    """`3 of 303 requests in this range`; None while `feed` lists those of all times, `total` of them."""
    if feed.pager.time_range is None:
        return None
    model = feed.model
    counted = activity.source.total_of(activity.times) if activity.times else None
    if not feed.pager.jumping and model.at_head and model.at_tail and not feed.new_count:
        number = f"{model.rowCount():,}"
    else:
        number = f"{counted.total:,}" if counted else f"{model.rowCount():,}+"
    return f"{number} of {count_of(total, 'request')} in this range"
