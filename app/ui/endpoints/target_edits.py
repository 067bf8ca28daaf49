"""An endpoint's targets while they are being edited: nothing is stored until `save`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.core.errors import NotFoundError
from app.core.model import Endpoint
from app.core.rules import FieldError, target_errors
from app.core.target import Target, TargetDraft

if TYPE_CHECKING:
    from app.db.deliveries.targets import Targets


@dataclass(eq=False)
class TargetEdit:
    """One target. `stored` is None until it is created; `problems` are errors that a draft cannot represent. `paths`
    are the fields of its form, in their order, once it was edited there.
    """

    draft: TargetDraft
    stored: Target | None = None
    problems: list[FieldError] = field(default_factory=list)
    paths: Sequence[str] = ()

    @property
    def changed(self) -> bool:
        return self.stored is None or bool(self.problems) or self.draft != self.stored.draft()


class TargetEdits:
    """`items` are in their order. Saving again after an error continues where it stopped."""

    def __init__(self, endpoint: Endpoint, own_bases: Callable[[], Sequence[str]]) -> None:
        self.endpoint, self._own_bases = endpoint, own_bases
        self.items = [TargetEdit(target.draft(), target) for target in endpoint.targets]
        self.removed: list[tuple[int, TargetEdit]] = []
        """With their places, the last removed last."""
        self.saving: TargetEdit | None = None
        """The one that is created or changed by `save`; after an error, the one it is about."""
        self._saving = False

    def add(self, draft: TargetDraft, place: int | None = None) -> TargetEdit:
        """Add a target at `place`, or as the last one."""
        item = TargetEdit(draft)
        self.items.insert(len(self.items) if place is None else place, item)
        return item

    def remove(self, item: TargetEdit) -> None:
        place = self.items.index(item)
        self.items.remove(item)
        self.removed.append((place, item))

    def restore(self) -> TargetEdit | None:
        """Undo the last removal."""
        if not self.removed:
            return None
        place, item = self.removed.pop()
        self.items.insert(min(place, len(self.items)), item)
        return item

    def move(self, item: TargetEdit, place: int) -> None:
        """To this place, from 0."""
        self.items.remove(item)
        self.items.insert(place, item)

    def errors_of(self, item: TargetEdit) -> list[FieldError]:
        """Everything that prevents it from being saved, in the order of the form's fields."""
        places = {path: place for place, path in enumerate(item.paths)}
        own = {error.field for error in item.problems}
        others = [error for error in target_errors(item.draft, self._own_bases()) if error.field not in own]
        return sorted([*item.problems, *others], key=lambda error: places.get(error.field, len(places)))

    def errors(self) -> list[tuple[TargetEdit, FieldError]]:
        return [(item, error) for item in self.items for error in self.errors_of(item)]

    def refusal(self) -> str | None:
        """Why nothing can be saved now; None if it can."""
        errors = self.errors()
        if errors:
            return errors[0][1].message
        return None if self.has_changes() else "Nothing has changed."

    def removals(self) -> list[Target]:
        """Stored targets that saving deletes."""
        return [item.stored for _, item in self.removed if item.stored is not None]

    def has_changes(self) -> bool:
        """Whether saving would change anything."""
        order = [item.stored.id for item in self.items if item.stored is not None]
        kept = [target.id for target in self.endpoint.targets if target.id in order]
        return bool(self.removals()) or any(item.changed for item in self.items) or order != kept

    def follow(self, endpoint: Endpoint) -> list[TargetEdit]:
        """The endpoint was saved, here or elsewhere; returns the items whose drafts changed.

        What the user has changed stays as it is: a target that is gone would be created again.
        """
        self.endpoint = endpoint
        if self._saving:
            return []
        targets = {target.id: target for target in endpoint.targets}
        known = {one.stored.id for one in (*self.items, *(item for _, item in self.removed)) if one.stored is not None}
        changed = []
        for item in list(self.items):
            if item.stored is None:
                continue
            now = targets.get(item.stored.id)
            if now is None and not item.changed:
                self.items.remove(item)
            elif now is None or item.changed:
                item.stored = now
            else:
                if now.draft() != item.draft:
                    item.draft = now.draft()
                    changed.append(item)
                item.stored = now
        self.removed = [(place, one) for place, one in self.removed if one.stored is None or one.stored.id in targets]
        self.items += [TargetEdit(target.draft(), target) for target in endpoint.targets if target.id not in known]
        return changed

    async def save(self, targets: Targets) -> None:
        """Delete, create and change what differs, then put all into their order.

        `follow` must be called with each change meanwhile. Raises as `Targets` does.
        """
        self._saving, self.saving = True, None
        try:
            for target in self.removals():
                with suppress(NotFoundError):  # deleted elsewhere meanwhile
                    await targets.delete(target.id)
            self.removed.clear()
            for item in list(self.items):
                self.saving = item
                if item.stored is None:
                    item.stored = await targets.create(self.endpoint.id, item.draft)
                elif item.changed:
                    item.stored = await targets.update(item.stored.id, item.draft)
            self.saving = None
            for place, item in enumerate(self.items):
                there = [target.id for target in self.endpoint.targets[place : place + 1]]
                if item.stored is not None and there != [item.stored.id]:
                    await targets.move(item.stored.id, place + 1)
        finally:
            self._saving = False
