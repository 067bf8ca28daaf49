"""The call that a command gets."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.output import JsonList, Output
from app.cli.services import CliServices
from app.cli.table import Column, Row, Table

if TYPE_CHECKING:
    from app.cli.client import Answer, ApiClient
    from hookline.calls import Call as ApiCall
    from hookline.calls import Pages

T = TypeVar("T")


class Call(NamedTuple):
    """Its parsed options, where it prints, and the API."""

    options: Namespace
    out: Output
    api: ApiClient

    def show(self, answer: Answer[T], text: Callable[[Output, T], None]) -> int:
        """Print what the API answered, with `text` unless as JSON; returns the exit code."""
        if self.out.as_json:
            self.out.json(answer.json)
        else:
            text(self.out, answer.value)
        return Exit.DONE

    async def send(self, asked: ApiCall[T], text: Callable[[Output, T], None]) -> int:
        """Make a call of the API and print what it answers; returns the exit code."""
        return self.show(await self.api.answer(asked), text)

    async def show_list(
        self,
        pages: Pages[T],
        columns: Sequence[Column],
        rows: Callable[[AsyncIterator[T]], AsyncIterator[Row]],
        nothing: str | CliError = "",
        unexamined: Callable[[int], None] | None = None,
    ) -> int:
        """Read a list and print it as it comes, because there may be a million: as a table or as JSON. Returns how many
        there are; `nothing` says that there are none, as an error also with JSON. `unexamined` gets each page's
        number."""
        answers, count = self.api.answers(pages, unexamined), 0
        if self.out.as_json:
            array = JsonList(self.out)
            async for answer in answers:
                array.add(answer.json)
                count += 1
            if not count and isinstance(nothing, CliError):
                raise nothing
            array.end()
            return count
        with Table(self.out, columns) as table:
            async for cells, codes in rows(answer.value async for answer in answers):
                table.row(*cells, codes=codes)
                count += 1
        if count or not nothing:
            return count
        if isinstance(nothing, CliError):
            raise nothing
        self.out.message(nothing)
        return 0


Command = Callable[[Call], Awaitable[int]]


class LocalCall(NamedTuple):
    """The call of a command that opens no store by itself: it follows a running program, reads files, or serves."""

    options: Namespace
    out: Output
    folder: Path
    services: CliServices
