"""The dialog around the form: validates while the user types, creates or saves the endpoint, and keeps the input if
that fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.errors import HooklineError, InvalidFieldsError
from app.core.events import EndpointSaved, Subscriptions
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import FieldError, endpoint_errors
from app.ui.deleting import confirm_storage_limit
from app.ui.endpoints.endpoint_form import EndpointForm
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.dialog import SubmitDialog
from app.ui.widgets.fields import CopyField
from app.ui.widgets.fit_screen import FormScroll, bounded, fit
from app.ui.widgets.labels import label, show_or_hide
from app.ui.widgets.layout import Stretch, fill, vbox

WIDTH = 600
RETENTION_WAITS = "Requests older than this are deleted once the clock is trusted; see Settings."


class EndpointDialog(SubmitDialog):
    """Creates an endpoint, or edits `endpoint`. `saved` carries the endpoint and whether it is new."""

    saved = Signal(object, bool)

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, endpoint: Endpoint | None = None
    ) -> None:
        super().__init__("Edit endpoint" if endpoint else "New endpoint", theme, tasks, parent)
        self._services, self._endpoint = services, endpoint
        self.form = EndpointForm(theme, tasks, self, with_slug=endpoint is None)
        if services.store.retention.problem is not None:
            days = self.form.declared("retention_days").bounds_text()
            self.form.fields["retention_days"].set_help(f"{days}. {RETENTION_WAITS}")
        if endpoint is not None:
            self.form.load(endpoint.draft())
        self._loaded = self.form.draft()
        changes = f"Your changes to “{endpoint.name}” have not been saved." if endpoint is not None else ""
        self.unsaved = changes or "The new endpoint has not been created."
        self.url = CopyField("", theme, self, what="capture URL")
        self.problem = label("", "error", self, wrap=True)
        self.cancel = self.make_close_button("Cancel")
        self.submit_button = self.make_submit_button("Save" if endpoint else "Create endpoint")
        self._lay_out()
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.follow_urls(self.refresh)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self.finished.connect(self._subscriptions.end)
        self.url.copied.connect(self._url_copied)
        self.form.more_button.toggled.connect(self._fit)
        self.form.changed.connect(self._changed)
        self.form.targets.clicked.connect(self.open_targets)
        self.refresh()
        self.resize(self.sizeHint())
        self.form["name"].setFocus()
        if services.read_only is not None:
            self.form.more_button.setChecked(True)
            self.form.setEnabled(False)
            self.cancel.setText("Close")

    def sizeHint(self) -> QSize:
        """Tall enough for the form, within the screen."""
        around = 188 if self._endpoint is not None else 136
        return bounded(self, QSize(WIDTH, self.form.sizeHint().height() + around))

    def has_changes(self) -> bool:
        """Whether the fields differ from their initial values, valid or not."""
        return not self.busy and (self.form.draft() != self._loaded or bool(self.form.problems()))

    def errors(self) -> list[FieldError]:
        """Everything that prevents the draft from being saved now, in edited fields and others."""
        draft = self.edited()
        errors = endpoint_errors(draft, self._services.own_bases())
        if self._endpoint is None and draft.slug and self._services.store.endpoints.by_slug(draft.slug):
            errors.append(FieldError(field="slug", message=f"Slug {draft.slug} is taken by another endpoint."))
        return self.form.errors_with(errors)

    def reveal_errors(self) -> bool:
        errors = self.errors()
        self.form.touched.update(error.field for error in errors)
        self.refresh()
        if errors:
            self.form.reveal(errors[0].field)
        return bool(errors)

    @Slot()
    def open_targets(self) -> None:
        """Open the dialog of all targets above this one."""
        current = self._services.store.endpoints.by_id(self._endpoint.id) if self._endpoint is not None else None
        if current is not None:
            dialog = TargetsDialog(self._services, self.theme, self._tasks, self, current)
            dialog.open()

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        """By others, or in the dialog of all targets."""
        if self._endpoint is not None and event.endpoint.id == self._endpoint.id and not self.busy:
            self._loaded = self.form.follow(self._loaded, event.endpoint.draft())
            self.refresh()

    @Slot()
    def _fit(self) -> None:
        """Resize with the form."""
        self.resize(self.sizeHint())
        fit(self)

    async def store(self) -> Callable[[], object] | None:
        endpoints, draft = self._services.store.endpoints, self.submitted
        if self._endpoint is None:
            storing = endpoints.create(draft)
        else:
            use = self._services.store.limits.use_of(self._endpoint.id)
            if not await confirm_storage_limit(self, self.theme, use, draft.storage_limit, draft.when_full):
                return None
            storing = endpoints.update(self._endpoint.id, draft)
        endpoint = await self._tasks.complete(storing, self)
        return partial(self.saved.emit, endpoint, self._endpoint is None)

    def show_failure(self, error: HooklineError) -> None:
        if isinstance(error, InvalidFieldsError):
            show_or_hide(self.problem, self.form.refuse(error.errors))
            self.refresh()
            self.form.reveal(error.errors[0].field)
        else:
            show_or_hide(self.problem, str(error))

    def edited(self) -> EndpointDraft:
        if self._endpoint is None:
            return self.form.draft()
        current = self._services.store.endpoints.by_id(self._endpoint.id) or self._endpoint
        return replace(self.form.draft(current.active), slug=self._endpoint.slug)

    @Slot()
    def _changed(self) -> None:
        if not self.busy:
            self.problem.hide()
        self.refresh()

    def refresh(self) -> None:
        errors = self.errors()
        self.form.show_errors(errors)
        refusal = self._services.no_endpoint() if self._endpoint is None else self._services.read_only
        if refusal:
            show_or_hide(self.problem, refusal)
        reason = refusal or (errors[0].message if errors else None)
        self.submit_button.set_busy("Saving…" if self.busy else None, reason)
        self._show_url(slug_is_valid=all(error.field != "slug" for error in errors))
        self._show_targets()

    def _show_targets(self) -> None:
        if self._endpoint is None:
            return
        current = self._services.store.endpoints.by_id(self._endpoint.id) or self._endpoint
        edited, loaded = self.form.draft(), self._loaded
        same = (edited.forward_url, edited.forward) == (loaded.forward_url, loaded.forward)
        valid = self.form["forward.timeout_ms"].problem() is None
        reason = None if same and valid else "Save the forward URL and its timeout first."
        self.form.show_targets(len(current.targets), reason)

    def _show_url(self, *, slug_is_valid: bool) -> None:
        endpoint, slug = self._endpoint, self.form.draft().slug
        if endpoint is None and slug is not None and slug_is_valid:
            endpoint = Endpoint(id=0, slug=slug, created_at=0, name="")
        self.url.setVisible(endpoint is not None)
        if endpoint is not None:
            self.url.set_text(self._services.capture_url(endpoint), self._services.url_mark)

    @Slot()
    def _url_copied(self) -> None:
        if self._endpoint is not None:
            self._tasks.start(self._services.tunnels.copied(self._endpoint.id), "note a copied URL")

    def set_busy(self, busy: bool) -> None:
        self.form.setEnabled(not busy)
        super().set_busy(busy)

    def _lay_out(self) -> None:
        scroll = FormScroll(self.form, self)
        self.fill_to_edges()
        if self._endpoint is not None:
            inset = vbox(self.url, margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_4))
            self.body.addLayout(inset)
        else:
            assert self.form.url_section is not None
            self.form.url_section.add(self.url)
        fill(self.body, line(self), (scroll, 1))
        self.problem.hide()
        fill(self.footer, (self.problem, 1), Stretch(0), self.cancel, self.submit_button)
