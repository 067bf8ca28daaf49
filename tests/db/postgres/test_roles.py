"""The roles of a team's store: what each may do through Hookline, and with psql."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from app.core.errors import NotAllowedError, StorageUnavailableError, StoreAddressError
from app.core.events import (
    DeliveriesQueued,
    DeliveryChanged,
    Event,
    NodesChanged,
    PlanChanged,
    RequestsUpdated,
    StorageTrouble,
)
from app.core.model import PART_SIZE, Capture, DeliveryState, Endpoint
from app.core.replay import ChosenRequests, Replay, ReplaySpec
from app.core.target import TargetDraft
from app.core.team import OtherNodes, Role
from app.db.postgres import nodes
from app.db.postgres.roles import init
from app.db.postgres.schema import PARTITION
from app.db.postgres.store import Store
from tests import factories
from tests.db.helpers import add_many, of_kind, query
from tests.postgres import PostgresServer
from tests.stored import store_request
from tests.support import until
from tests.team import OUTSIDER, USERS, as_user, roles_dropped, team_store

Open = Callable[..., Awaitable[Store]]


async def add(store: Store, endpoint_id: int) -> Capture:
    return await store_request(store.captures, factories.capture(endpoint_id=endpoint_id), b'{"hello":"world"}')


@pytest.fixture
def team(postgres_server: PostgresServer) -> Iterator[str]:
    with team_store(postgres_server) as address:
        yield address


@pytest.fixture
async def open_as(team: str) -> AsyncIterator[Open]:
    """Opens the store as a user; `works` and the events' receiver can be given."""
    opened: list[Store] = []

    async def open_it(role: Role, publish: Callable[[Event], None] = lambda _: None, **options: Any) -> Store:
        opened.append(await Store.open(as_user(team, USERS[role]), publish, **options))
        return opened[-1]

    yield open_it
    for store in opened:
        await store.close()


@pytest.fixture
async def member(open_as: Open) -> Store:
    return await open_as(Role.MEMBER)


@pytest.fixture
async def endpoint(member: Store) -> Endpoint:
    return await member.endpoints.create(factories.draft())


# -- capture ---------------------------------------------------------------------------------------------------------


async def test_a_capture_node_stores_what_it_may_not_read(open_as: Open, member: Store, endpoint: Endpoint) -> None:
    await member.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/"))
    node = await open_as(Role.CAPTURE)
    assert (node.role, node.works) == (Role.CAPTURE, False)
    known = node.endpoints.by_slug(endpoint.slug)
    assert known is not None
    small = factories.capture(endpoint_id=endpoint.id)
    seq = await node.captures.add(small, b'{"hello":"world"}', targets=known.targets, version=known.version)
    node.captures.responded(seq, 1.5)
    body = bytes(range(256)) * (PART_SIZE // 128) + b"end"
    key = None
    for offset in range(0, 2 * PART_SIZE, PART_SIZE):
        key = await node.captures.add_part(key, offset, body[offset : offset + PART_SIZE], endpoint_id=endpoint.id)
    long = factories.capture(body, endpoint_id=endpoint.id)
    await node.captures.add(long, body[2 * PART_SIZE :], key, version=known.version)
    given_up = await node.captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
    await node.captures.drop_parts(given_up)

    await until(lambda: member.captures.counts(endpoint.id).total == 2)
    assert await member.captures.body(small.id) == b'{"hello":"world"}'
    assert await member.captures.body(long.id) == body
    (delivery,) = await member.deliveries.of_capture(small.id)
    assert delivery.url == "http://127.0.0.1:9/"
    for read in (
        node.captures.page(endpoint.id),
        node.captures.get(small.id),
        node.captures.body(small.id),
        node.deliveries.of_capture(small.id),
    ):
        with pytest.raises(NotAllowedError, match="may only capture"):
            await read


async def test_a_body_whose_parts_are_short_is_completed_unread(
    open_as: Open, member: Store, endpoint: Endpoint
) -> None:
    node = await open_as(Role.CAPTURE)
    for size in (PART_SIZE - 10, PART_SIZE + 10, 2 * PART_SIZE):
        body = bytes(size % 251 + place % 5 for place in range(size))
        key = await node.captures.add_part(None, 0, body[:1000], endpoint_id=endpoint.id)
        await node.captures.add_part(key, 1000, body[1000 : PART_SIZE - 20], endpoint_id=endpoint.id)
        capture = factories.capture(body, endpoint_id=endpoint.id)
        await node.captures.add(capture, body[PART_SIZE - 20 :], key)
        assert await member.captures.body(capture.id) == body


async def test_a_capture_node_knows_of_changes_and_targets_without_their_secrets(
    open_as: Open, member: Store, endpoint: Endpoint
) -> None:
    node = await open_as(Role.CAPTURE)
    await member.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/", timeout_ms=1234))
    await until(lambda: node.endpoints.all()[0].targets)
    (target,) = node.endpoints.all()[0].targets
    assert target.url == "http://127.0.0.1:9/"
    assert target.timeout_ms == TargetDraft(url="").timeout_ms
    second = await member.endpoints.create(factories.draft())
    await member.endpoints.delete(endpoint.id)
    await until(lambda: [one.id for one in node.endpoints.all()] == [second.id])
    await add(node, second.id)
    with pytest.raises(NotAllowedError):
        await node.endpoints.delete(second.id)
    with pytest.raises(NotAllowedError):
        await node.endpoints.create(factories.draft())
    await add(node, second.id)


async def test_a_capture_node_goes_on_into_the_next_partition(
    open_as: Open, member: Store, endpoint: Endpoint, team: str
) -> None:
    query(team, f"SELECT setval('hookline.capture_seq_seq', {PARTITION - 2})")
    node = await open_as(Role.CAPTURE)
    for _ in range(4):
        await add(node, endpoint.id)
    assert query(team, "SELECT count(*) FROM hookline.capture WHERE seq >= ?", PARTITION) == [(3,)]


async def test_a_capture_node_that_left_is_cleared_away_by_a_member(open_as: Open, member: Store, team: str) -> None:
    node = await open_as(Role.CAPTURE)
    assert len(await member.nodes.all()) == 2
    await node.close()
    assert len(await member.nodes.all()) == 1


async def test_a_capture_node_that_was_refused_something_still_says_that_it_lives(
    open_as: Open, member: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Taken for dead, it would lose what it is receiving."""
    monkeypatch.setattr(nodes, "BEAT_S", 0.05)
    node = await open_as(Role.CAPTURE)
    with pytest.raises(NotAllowedError):
        await node.endpoints.delete(endpoint.id)
    (before,) = [one.seen_at for one in await member.nodes.all() if one.number == node.nodes.number]
    for _ in range(3):
        await asyncio.sleep(0.2)
        (seen_at,) = [one.seen_at for one in await member.nodes.all() if one.number == node.nodes.number]
        assert seen_at > before
        before = seen_at
    assert "leaves all work to others" not in caplog.text


READS = ("capture", "capture_body", "capture_note", "delivery", "attempt", "search_text", "replay", "deleted_delivery")
CHANGES = (
    "UPDATE endpoint SET active = 0",
    "DELETE FROM endpoint",
    "INSERT INTO endpoint (slug, name) VALUES ('x', 'x')",
    "UPDATE target SET url = 'http://evil.example/'",
    "SELECT settings FROM target",
    "INSERT INTO delivery (id, url) VALUES ('x', 'http://evil.example/')",
    "UPDATE capture SET is_read = 1",
    "DELETE FROM capture",
    "DELETE FROM node",
    "UPDATE account SET plan = 'pro'",
    "CREATE TABLE more ()",
    "DROP TABLE capture",
)


async def test_with_psql_the_capture_role_reads_no_request_and_changes_no_endpoint(
    member: Store, endpoint: Endpoint, team: str
) -> None:
    await add(member, endpoint.id)
    with psycopg.connect(as_user(team, USERS[Role.CAPTURE]), autocommit=True) as connection:
        connection.execute("SET search_path TO hookline")
        assert connection.execute("SELECT count(*) FROM endpoint").fetchone() == (1,)
        for statement in (*(f"SELECT * FROM {table}" for table in READS), *CHANGES):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


# -- reader ----------------------------------------------------------------------------------------------------------


async def test_a_reader_sees_all_live_and_changes_nothing(open_as: Open, member: Store, endpoint: Endpoint) -> None:
    seen: list[Event] = []
    reader = await open_as(Role.READER, seen.append)
    assert (reader.role, reader.works) == (Role.READER, False)
    capture = await add(member, endpoint.id)
    await until(lambda: reader.captures.counts(endpoint.id).total == 1)
    assert [one.id for one in await reader.captures.page(endpoint.id)] == [capture.id]
    assert await reader.captures.body(capture.id) == b'{"hello":"world"}'
    for change in (
        reader.captures.mark_read([capture.id]),
        reader.captures.star([capture.id]),
        reader.captures.set_note(capture.id, "mine"),
        reader.trash.delete([capture.id]),
        reader.endpoints.update(endpoint.id, factories.draft()),
        reader.endpoints.delete(endpoint.id),
        reader.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/")),
        reader.replays.save(Replay(id="x", created_at=1, spec=ReplaySpec(source=ChosenRequests(ids=(capture.id,))))),
    ):
        with pytest.raises(NotAllowedError, match="may only read"):
            await change
    assert not reader.trash._failed, "it does not try to restore what it has not hidden"
    assert len(await reader.nodes.all()) == 1, "a reader is no node"
    changed = await member.endpoints.update(endpoint.id, factories.draft(name="New"))
    await until(lambda: reader.endpoints.by_id(endpoint.id) == changed)


async def test_stars_and_notes_say_who_set_them(open_as: Open, member: Store, endpoint: Endpoint) -> None:
    seen: list[Event] = []
    reader = await open_as(Role.READER, seen.append)
    capture = await add(member, endpoint.id)
    await member.captures.star([capture.id])
    await member.captures.set_note(capture.id, "look")
    await until(lambda: len([event for event in seen if isinstance(event, RequestsUpdated)]) == 2)
    starred, noted = (event.changes[capture.id] for event in seen if isinstance(event, RequestsUpdated))
    assert (starred["starred_by"], noted["noted_by"]) == ("mona", "mona")
    for found in (await reader.captures.get(capture.id), *await reader.captures.page(endpoint.id)):
        assert found is not None
        assert (found.starred_by, found.noted_by) == ("mona", "mona")
    await member.captures.star([capture.id], False)
    await member.captures.set_note(capture.id, "")
    (found,) = await reader.captures.page(endpoint.id)
    assert (found.starred_by, found.noted_by) == (None, None)


async def test_a_reader_holds_up_nobody(open_as: Open, member: Store, endpoint: Endpoint) -> None:
    reader = await open_as(Role.READER)
    attempts = [asyncio.ensure_future(reader.captures.star(["none"])) for _ in range(20)]
    await add(member, endpoint.id)
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert all(result is None or isinstance(result, StorageUnavailableError) for result in results)


# -- member ----------------------------------------------------------------------------------------------------------


async def test_what_one_member_makes_is_everybodys(open_as: Open, member: Store, team: str) -> None:
    first = await member.endpoints.create(factories.draft())
    query(team, f"SELECT setval('hookline.capture_seq_seq', {PARTITION - 1})")
    await add(member, first.id)
    owners = query(team, "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'hookline'")
    assert len(owners) == 1
    assert str(owners[0][0]).endswith("_member")
    await member.captures.clear(first.id)


async def test_one_that_does_not_work_leaves_jobs_to_others(open_as: Open, team: str) -> None:
    idle = await open_as(Role.MEMBER, works=False)
    await idle.endpoints.create(factories.draft())
    idle.retention.start()
    assert not await idle.deliveries.claim(1)
    working = await open_as(Role.MEMBER)
    assert await working.deliveries.claim(1)
    jobs = {node.number: node.jobs for node in await working.nodes.all()}
    assert jobs[idle.nodes.number] == ()


def give(team: str, role: Role | None, *, login: bool = True) -> None:
    """To the member, instead of the role that it has; its connections are made again, as after some time."""
    database, user = team.split("///")[1].split("?", maxsplit=1)[0], USERS[Role.MEMBER]
    with psycopg.connect(team, autocommit=True) as connection:
        for old in (Role.MEMBER, Role.READER):
            connection.execute(f"REVOKE {database}_{old} FROM {user}")
        if role is not None:
            connection.execute(f"GRANT {database}_{role} TO {user}")
        connection.execute(f"ALTER ROLE {user} {'LOGIN' if login else 'NOLOGIN'}")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (user,))


@pytest.mark.parametrize("left", [Role.READER, None])
async def test_one_whose_role_is_taken_away_leaves_its_work_to_others_and_tries_nothing_for_ever(
    open_as: Open, team: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, left: Role | None
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.1)
    seen: list[Event] = []
    member = await open_as(Role.MEMBER, seen.append)
    endpoint = await member.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    capture = factories.capture(endpoint_id=endpoint.id)
    await store_request(member.captures, capture, b"{}", endpoint.targets)
    assert await member.deliveries.claim(endpoint.targets[0].id)
    give(team, left)
    for change in (add(member, endpoint.id), member.captures.star([capture.id]), member.trash.delete([capture.id])):
        with pytest.raises(NotAllowedError):
            await change
    member.captures.responded(1, 1.5)
    member.captures._response_times.flush()
    member._notices.add(PlanChanged())
    member._notices.flush()
    member._index._worker.wake()
    await until(lambda: "leaves all work to others" in caplog.text, 5)
    assert not await member.deliveries.claim(1)
    assert not member._notices._waiting
    assert not member.captures._response_times._waiting
    await until(lambda: member._index._worker.is_idle and member.trash._worker.is_idle, 5)
    assert caplog.text.count("leaves all work to others") == 1
    assert "ERROR" not in caplog.text
    seen.clear()  # a beat before the first claim may have found the target free
    give(team, Role.MEMBER)
    await until(lambda: DeliveriesQueued(target_ids=(1,), shown={}) in seen, 5)
    assert await member.deliveries.claim(1)
    await add(member, endpoint.id)


async def test_one_whose_role_is_back_before_it_says_again_that_it_lives_goes_on(open_as: Open, team: str) -> None:
    seen: list[Event] = []
    member = await open_as(Role.MEMBER, seen.append)
    endpoint = await member.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    capture = factories.capture(endpoint_id=endpoint.id)
    await store_request(member.captures, capture, b"{}", endpoint.targets)
    assert await member.deliveries.claim(1)
    (delivery,) = await member.deliveries.of_capture(capture.id)
    await member.deliveries.begin([delivery.id])
    give(team, Role.READER)
    with pytest.raises(NotAllowedError):
        await member.deliveries.finish(replace(delivery, state=DeliveryState.DELIVERED), [])
    give(team, Role.MEMBER)
    await until(lambda: DeliveriesQueued(target_ids=(1,), shown={}) in seen, 5)
    assert await member.deliveries.claim(1)
    assert of_kind(seen, DeliveryChanged)[-1].delivery.interrupted


async def test_what_a_deletion_hid_before_the_role_was_taken_away_is_back_with_the_role(
    open_as: Open, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.1)
    member = await open_as(Role.MEMBER)
    endpoint = await member.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(member, endpoint.id, 300)]
    between = member._writer.between

    async def then_refused(*args: Any) -> Any:
        done = await between(*args)
        give(team, Role.READER)
        return done

    monkeypatch.setattr(member._writer, "between", then_refused)
    with pytest.raises(NotAllowedError):
        await member.trash.delete(made)
    monkeypatch.setattr(member._writer, "between", between)
    await until(lambda: member.trash._worker.is_idle, 5)
    give(team, Role.MEMBER)
    await until(lambda: not member.trash._failed, 5)
    assert member.captures.counts(endpoint.id).total == 300


@pytest.mark.parametrize("whole", [False, True])
async def test_what_the_role_did_not_allow_to_be_purged_is_back_with_the_role(
    open_as: Open, team: str, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.1)
    member = await open_as(Role.MEMBER)
    endpoint = await member.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(member, endpoint.id, 3)]
    deletion = await (member.trash.delete_endpoint(endpoint.id) if whole else member.trash.delete(made))
    give(team, Role.READER)
    with pytest.raises(NotAllowedError):
        await member.trash.purge(deletion)
    assert not member.trash.can_undo(deletion)
    await until(lambda: member.trash._worker.is_idle, 5)
    give(team, Role.MEMBER)
    await until(lambda: not member.trash._failed, 5)
    assert member.endpoints.by_id(endpoint.id)
    assert member.captures.counts(endpoint.id).total == 3


async def test_deliveries_to_a_deleted_target_end_once_the_role_is_given_back(
    open_as: Open, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.1)
    member = await open_as(Role.MEMBER)
    endpoint = await member.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    capture = factories.capture(endpoint_id=endpoint.id)
    await store_request(member.captures, capture, b"{}", endpoint.targets)
    between = member._writer.between

    async def refused(*args: Any) -> Any:
        give(team, Role.READER)
        return await between(*args)

    monkeypatch.setattr(member._writer, "between", refused)
    await member.targets.delete(endpoint.targets[0].id)
    await until(lambda: member._removed_targets._worker.is_idle, 5)
    monkeypatch.setattr(member._writer, "between", between)
    give(team, Role.MEMBER)
    await until(lambda: query(team, "SELECT state FROM hookline.delivery") != [("queued",)], 5)


async def test_for_one_who_may_write_no_more_the_store_works_again(open_as: Open, team: str) -> None:
    seen: list[Event] = []
    member = await open_as(Role.MEMBER, seen.append)
    give(team, Role.READER, login=False)
    member._writer.follow()
    await until(lambda: of_kind(seen, StorageTrouble), 5)
    give(team, Role.READER)
    member._writer.follow()
    await until(lambda: of_kind(seen, StorageTrouble)[-1].reason is None, 5)


async def test_a_table_that_is_missing_is_named(open_as: Open, member: Store, endpoint: Endpoint, team: str) -> None:
    """For one who has no role any more none is there, so it counts as not allowed."""
    capture = await add(member, endpoint.id)
    with psycopg.connect(team, autocommit=True) as connection:
        connection.execute("ALTER TABLE hookline.capture_note RENAME TO gone")
    for call in (member.captures.set_note(capture.id, "look"), member.captures.page(endpoint.id)):
        with pytest.raises(NotAllowedError, match=r'or a table is missing there: .*"capture_note"'):
            await call


async def test_the_log_names_a_missing_table_once_for_which_work_is_given_up_and_taken_again(
    open_as: Open, team: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The node may say that it lives, so it takes the work again each time that it does."""
    monkeypatch.setattr(nodes, "BEAT_S", 0.05)
    tries: list[asyncio.Future[bool]] = []
    member: Store

    def publish(event: Event) -> None:
        if isinstance(event, DeliveriesQueued):
            tries.append(asyncio.ensure_future(member.deliveries.claim(1)))

    member = await open_as(Role.MEMBER, publish)
    endpoint = await member.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    capture = factories.capture(endpoint_id=endpoint.id)
    await store_request(member.captures, capture, b"{}", endpoint.targets)
    (delivery,) = await member.deliveries.of_capture(capture.id)
    assert await member.deliveries.claim(1)
    await member.deliveries.begin([delivery.id])
    made = factories.attempt(delivery)
    with psycopg.connect(team, autocommit=True) as connection:
        connection.execute("ALTER TABLE hookline.attempt RENAME TO gone")
        with pytest.raises(NotAllowedError):
            await member.deliveries.finish(factories.after(delivery, made, DeliveryState.FAILED), [(made, b"")])
        await until(lambda: len(tries) > 4, 5)
        connection.execute("ALTER TABLE hookline.gone RENAME TO attempt")
    await until(lambda: tries[-1].done() and not tries[-1].exception(), 5)
    failed = [one for one in tries if one.done() and isinstance(one.exception(), NotAllowedError)]
    assert len(failed) > 1
    assert caplog.text.count('relation "attempt" does not exist') == 1


# -- how roles are made ----------------------------------------------------------------------------------------------


async def test_a_user_without_a_role_is_refused(team: str) -> None:
    with pytest.raises(StoreAddressError, match=r"has no role in this team's store.*such as test_\d+_member"):
        await Store.open(as_user(team, OUTSIDER), lambda _: None)


async def test_a_store_in_use_gets_roles_and_keeps_what_it_has(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    store = await Store.open(postgres_url, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    with roles_dropped(postgres_server, postgres_url.split("///")[1].split("?", maxsplit=1)[0]):
        init(postgres_url)
        assert init(postgres_url), "again does no harm"
        capture = await add(store, endpoint.id)
        await store.close()
        again = await Store.open(postgres_url, lambda _: None)
        assert (await again.captures.get(capture.id)) is not None
        await again.close()


async def test_the_owner_of_the_database_may_make_them(postgres_server: PostgresServer) -> None:
    name = postgres_server.create()
    address, owner = postgres_server.url(name), as_user(postgres_server.url(name), OUTSIDER)
    with roles_dropped(postgres_server, name):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {OUTSIDER} LOGIN CREATEROLE")
            connection.execute(f"ALTER DATABASE {name} OWNER TO {OUTSIDER}")
            connection.execute(f"CREATE ROLE {USERS[Role.MEMBER]} LOGIN")
        roles = init(owner)
        assert init(owner) == roles
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(f"GRANT {roles[Role.MEMBER]} TO {USERS[Role.MEMBER]}")
        store = await Store.open(as_user(address, USERS[Role.MEMBER]), lambda _: None)
        try:
            await add(store, (await store.endpoints.create(factories.draft())).id)
        finally:
            await store.close()


def test_one_who_may_not_make_roles_is_told_so(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS plain")
        connection.execute("CREATE ROLE plain LOGIN")
        with pytest.raises(StoreAddressError, match="may not make roles"):
            init(as_user(postgres_url, "plain"))
        assert connection.execute("SELECT to_regnamespace('hookline')").fetchone() == (None,)
        connection.execute("DROP ROLE plain")


def test_a_role_of_others_is_not_taken(postgres_url: str) -> None:
    name = postgres_url.split("///")[1].split("?", maxsplit=1)[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}_reader")
        with pytest.raises(StoreAddressError, match=f"role {name}_reader that is not Hookline's"):
            init(postgres_url)
        assert connection.execute("SELECT to_regnamespace('hookline')").fetchone() == (None,)
        connection.execute(f"DROP ROLE {name}_reader")


# -- who captures where ----------------------------------------------------------------------------------------------


async def test_a_capture_node_cannot_say_where_requests_are_to_be_sent(open_as: Open, member: Store, team: str) -> None:
    await open_as(Role.CAPTURE, base_url=lambda: "https://other.example.com")
    await until(lambda: member.nodes.others.capturing == 1)
    assert member.nodes.others.base_url is None
    with psycopg.connect(as_user(team, USERS[Role.CAPTURE]), autocommit=True) as connection:
        for text in (
            "UPDATE hookline.node SET base_url = 'https://other.example.com'",
            "INSERT INTO hookline.node (version, captures, base_url) VALUES ('1', 1, 'https://other.example.com')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(text)


async def test_a_reader_knows_who_captures_and_where(open_as: Open, member: Store) -> None:
    changes: list[Event] = []
    reader = await open_as(Role.READER, changes.append)
    assert reader.nodes.others == OtherNodes(capturing=1)
    await open_as(Role.MEMBER, base_url=lambda: "https://hooks.example.com")
    await until(lambda: reader.nodes.others == OtherNodes(capturing=2, base_url="https://hooks.example.com"))
    assert NodesChanged() in changes
