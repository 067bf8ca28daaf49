"""The call that a command gets: its options, where it prints, and the API; and what it prints of the API's answers."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.identifiers import with_short_ids
from app.cli.options import CliServices
from app.cli.output import Column, JsonList, Output, ProgressLine, Table

if TYPE_CHECKING:
    from app.cli.client import Answer, ApiClient
    from hookline.calls import Call as ApiCall
    from hookline.calls import Pages

T = TypeVar("T")

FIRST_POLL_S, POLL_S = 0.02, 0.25


class Call(NamedTuple):
    """Its parsed options, where it prints, and the API."""

    options: Namespace
    out: Output
    api: ApiClient

    def show(self, answer: Answer[T], text: Callable[[Output, T], None], part: str = "") -> int:
        """Print what the API answered, with `text` unless as JSON, of which `part` names what is asked for; returns the
        exit code."""
        if self.out.as_json:
            self.out.json(answer.json[part] if part else answer.json)
        else:
            text(self.out, answer.value)
        return Exit.DONE

    def done(self, json: Any, text: str | None) -> int:
        """Print what a command has done, as JSON or in a sentence (None: nothing); returns the exit code."""
        if self.out.as_json:
            self.out.json(json)
        elif text is not None:
            self.out.line(text)
        return Exit.DONE

    def send(self, asked: ApiCall[T], text: Callable[[Output, T], None], part: str = "") -> int:
        """Make a call of the API and print what it answers, as `show` does."""
        return self.show(self.api.answer(asked), text, part)

    def until_ended(self, begun: Answer[T], asked: ApiCall[T], text: Callable[[T], str | None]) -> Answer[T]:
        """Make the call again and again until what has `begun` has ended, as `text` says: it is what to show meanwhile,
        None at the end."""
        answer, pause_s = begun, FIRST_POLL_S
        with ProgressLine(self.out) as line:
            while (shown := text(answer.value)) is not None:
                line.show(shown)
                time.sleep(pause_s)
                pause_s = min(pause_s * 2, POLL_S)
                answer = self.api.answer(asked)
        return answer

    def show_list(
        self,
        pages: Pages[T],
        columns: Sequence[Column[T]],
        nothing: str | CliError = "",
        unexamined: Callable[[int], None] | None = None,
        *,
        short_ids: bool = False,
    ) -> int:
        """Read a list and print it as it comes, because there may be a million: as a table or as JSON. Returns how many
        there are; `nothing` says that there are none, as an error also with JSON. `unexamined` gets each page's
        number. With `short_ids`, the first column has the records' IDs, which a terminal shows in part."""
        answers, count = self.api.answers(pages, unexamined), 0
        if self.out.as_json:
            array = JsonList(self.out)
            for answer in answers:
                array.add(answer.json)
                count += 1
            if not count and isinstance(nothing, CliError):
                raise nothing
            array.end()
            return count
        values: Iterator[Any] = (answer.value for answer in answers)
        rows = with_short_ids(self.out, values) if short_ids else ((None, one) for one in values)
        with Table(self.out, columns) as table:
            for identity, one in rows:
                table.add(one, identity)
                count += 1
        if count or not nothing:
            return count
        if isinstance(nothing, CliError):
            raise nothing
        self.out.message(nothing)
        return 0


class LocalCall(NamedTuple):
    """The call of a command that opens no store by itself: it follows a running program, reads files, or serves."""

    options: Namespace
    out: Output
    folder: Path
    services: CliServices
