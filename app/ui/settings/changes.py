"""Describes which settings a save changed."""

from __future__ import annotations

from app.core.model import Plan
from app.core.settings import Settings, is_size, meta
from app.core.sizes import exact_size
from app.ui.settings.storage_limit import WHEN_FULL

_LISTED = 2
"""Above this number of changes only names are listed."""


def changes_text(old: Settings, new: Settings, old_plan: Plan, new_plan: Plan) -> str:
    """`Saved. Capture port: 9000.`"""
    changed = {
        meta(key).title or key: _value(key, getattr(new, key))
        for key in Settings.__struct_fields__
        if getattr(old, key) != getattr(new, key)
    }
    if old_plan is not new_plan:
        changed["Plan"] = new_plan.value.capitalize()
    if len(changed) > _LISTED:
        return f"Saved {len(changed)} settings: {', '.join(changed)}."
    return " ".join(("Saved.", *(f"{title}: {value}." for title, value in changed.items())))


def _value(key: str, value: object) -> str:
    if value is None:
        return "none" if key == "base_url" else "no limit"
    if is_size(key):
        assert isinstance(value, int)
        return exact_size(value)
    return dict(WHEN_FULL)[value] if key == "when_full" else str(value)  # type: ignore[index]
