"""What is asked before an endpoint or many requests are deleted: how many, from where, and which are marked; and before
a storage limit deletes requests."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.deletion import MarkedIds
from app.core.model import Endpoint, StorageUse, WhenFull
from app.core.sizes import exact_size
from app.core.text import count_of, size_text
from app.ui.tasks import cancel_unless_there
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import Question, QuestionText, ask

UNDO = "You can undo this for 10 seconds."
KEEP = "Keep starred requests and those with notes"
NAME_MAX = 80
"""Characters of a name or a filter."""


async def ask_keeping(plain: QuestionText, keeping: QuestionText | None, theme: Theme, over: QWidget) -> bool | None:
    """Whether to keep marked requests, an option unless `keeping`, its text then, is None. None: delete nothing. The
    waiting task is cancelled if `over` was closed meanwhile.
    """
    cancel_unless_there(over)
    question = Question(plain.title, plain.text, plain.confirm, theme, over)
    if keeping is not None:
        question.offer(KEEP, keeping)
    return question.option_checked if await question.answer() else None


def clear_question(endpoint: Endpoint, total: int, marked: MarkedIds, *, keep: bool = False) -> QuestionText:
    """For all requests of the endpoint."""
    more = "The endpoint and its URL are kept."
    return many_requests(total, marked, keep=keep, every=True, where=f"in “{shortened(endpoint.name)}”", more=more)


def endpoint_question(endpoint: Endpoint, total: int, marked: MarkedIds) -> tuple[str, str]:
    """Title and text for an endpoint with its requests."""
    requests = f" and its {count_of(total, 'request')}" if total else ""
    deletes = "This deletes the endpoint and its requests, with bodies and delivery results." if total else ""
    stops = "Its URL stops capturing at once." if endpoint.active else ""
    text = sentences([deletes, stops, marks_text(marked, total), UNDO])
    return f"Delete “{shortened(endpoint.name)}”{requests}?", text


def many_requests(count: int, marked: MarkedIds, *, keep: bool, every: bool, where: str, more: str) -> QuestionText:
    """`where` says which requests, `more` is a sentence about what is kept; `every` if they are all of a list."""
    left = max(0, count - len(marked.any)) if keep else count
    title = f"Delete {'all ' if every and count > 1 else ''}{count_of(count, 'request')}?"
    if keep:
        title = f"Delete {left:,} of {count_of(count, 'request')}?"
    deletes = f"This deletes {count_of(left, 'request')} {where}, with bodies and delivery results."
    text = sentences([deletes, marks_text(marked, count), more, UNDO])
    return QuestionText(title, text, f"Delete {count_of(left, 'request')}", possible=left > 0)


def marks_text(marked: MarkedIds, count: int) -> str:
    """`12 of 1,204 requests are starred and 3 have notes.`; empty where none is."""
    starred, noted = len(marked.starred), len(marked.noted)
    parts = [(starred, "is starred" if starred == 1 else "are starred")] if starred else []
    if noted:
        parts.append((noted, "has a note" if noted == 1 else "have notes"))
    if not parts:
        return ""
    if count == 1:
        return f"The request {' and '.join(verb for _, verb in parts)}."
    (first, verb), *others = parts
    more = "".join(f" and {number:,} {verb}" for number, verb in others)
    return f"{first:,} of {count_of(count, 'request')} {verb}{more}."


def sentences(parts: list[str]) -> str:
    return " ".join(part for part in parts if part)


def shortened(text: str) -> str:
    escaped = escape(text)
    return escaped if len(escaped) <= NAME_MAX else f"{escaped[: NAME_MAX - 1]}…"


async def confirm_storage_limit(
    parent: QWidget, theme: Theme, use: StorageUse, limit: int | None, when_full: WhenFull
) -> bool:
    """Whether the user agrees to what this limit deletes of what is stored now; True where that is nothing."""
    if limit is None or when_full != "delete_oldest" or use.used <= limit:
        return True
    stored, over = (size_text(size) for size in (use.used, use.used - limit))
    text = (
        f"A limit of {exact_size(limit)} deletes at least {over} of the {stored} stored: the oldest requests, starred"
        " ones too. This cannot be undone."
    )
    return await ask(parent, theme, "Delete the oldest requests?", text, "Delete oldest requests")
