"""The call that a command gets, and what the command line needs of the rest of the program."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.identifiers import with_short_ids
from app.cli.options import ListenToOptions, SelftestOptions, ServeOptions, WindowOptions
from app.cli.output import Column, JsonList, Output, ProgressLine, Table
from app.core.backup import BackupContents, CopiedStore, Report
from app.core.doctor import Finding
from app.core.record import Record
from app.core.team import Role
from hookline.running import ApiAddress

if TYPE_CHECKING:
    from app.cli.client import Answer, ApiClient
    from hookline.calls import Call as ApiCall
    from hookline.calls import Pages

T = TypeVar("T")

FIRST_POLL_S, POLL_S = 0.02, 0.25


class CliServices(Record, frozen=True):
    """`serve`, `listen`, `window` and `selftest` run until they end and return the exit code.

    `open_api` opens the store in a data folder and serves the local API for one command; used only when no program has
    that folder open. `names_team_store` says whether a folder's settings, or the environment, name a team's store in
    place of a file; `require_database` raises HooklineError for a folder whose database is missing. `restore` puts a
    backup in the place of a folder's database, once the last of its arguments has accepted what it holds; it returns
    where the old one is, None without one. `copy_store` copies the first store to the second, each a data folder or the
    address of a team's store. `doctor` checks a folder and the system, the whole database if the second argument says
    so. `init_team` makes the store at an address, and returns the names of its roles. `portable_folder` is the data
    folder of a portable program, None for any other. `is_bundle` says whether this is the packaged program, which
    nothing can be installed into.
    """

    serve: Callable[[ServeOptions], int]
    listen: Callable[[ListenToOptions], int]
    window: Callable[[WindowOptions], int]
    open_api: Callable[[Path], AbstractContextManager[ApiAddress]]
    selftest: Callable[[SelftestOptions], int]
    names_team_store: Callable[[Path], bool]
    require_database: Callable[[Path], None]
    restore: Callable[[Path, Path, Report, Callable[[BackupContents], None]], Path | None]
    copy_store: Callable[[str | Path, str | Path, Report], CopiedStore]
    doctor: Callable[[Path, bool], Iterable[Finding]]
    init_team: Callable[[str], Mapping[Role, str]]
    portable_folder: Path | None = None
    is_bundle: bool = False


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
