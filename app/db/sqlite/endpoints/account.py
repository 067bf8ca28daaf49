"""The one account of a data folder: its plan, and the name of this instance."""

from __future__ import annotations

from collections.abc import Callable

from peewee import IntegrityError, SqliteDatabase

from app.core.errors import PlanLimitError
from app.core.events import Event, PlanChanged
from app.core.model import Plan
from app.core.rules import plan_refusal
from app.db.sqlite.schema.schema import PLAN_LIMIT, AccountModel, EndpointModel
from app.db.sqlite.trash.trash import Trash
from app.db.sqlite.writer.writer import Writer


class Account:
    """All public methods are called on the loop's thread."""

    def __init__(self, writer: Writer, trash: Trash, publish: Callable[[Event], None]) -> None:
        self._writer, self._trash, self._publish = writer, trash, publish
        self._plan = Plan.FREE
        self.instance_id = ""

    async def load(self) -> None:
        """Read the account at start; StorageUnavailableError when it cannot be read."""

        def job(database: SqliteDatabase) -> tuple[str, str]:
            row = next(iter(AccountModel.select().execute(database)))
            return row.plan, row.instance_id

        plan, self.instance_id = await self._writer.run(job)
        self._plan = Plan(plan)

    @property
    def plan(self) -> Plan:
        return self._plan

    async def set_plan(self, plan: Plan) -> None:
        """Change the plan; PlanLimitError when more endpoints exist than it allows, or StorageUnavailableError."""

        def job(database: SqliteDatabase) -> None:
            try:
                AccountModel.update(plan=plan.value).execute(database)
            except IntegrityError as error:
                if PLAN_LIMIT not in str(error):
                    raise
                count = EndpointModel.select().where(EndpointModel.removed == False).count(database)  # noqa: E712
                raise PlanLimitError(plan_refusal(plan, count) or str(error)) from error

        def after(_: None) -> None:
            if plan is not self._plan:
                self._plan = plan
                self._publish(PlanChanged())

        try:
            await self._writer.run(job, after)
        except PlanLimitError:
            # Deleted endpoints that can be restored count, too.
            if not await self._trash.purge_endpoints(lambda endpoint: True):
                raise
            await self._writer.run(job, after)


def read_plan(database: SqliteDatabase) -> Plan:
    return Plan(next(iter(AccountModel.select().execute(database))).plan)
