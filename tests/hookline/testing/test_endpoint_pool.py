"""Endpoints that are created ahead of the tests and deleted after many: no test can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.instance import MOST, Instance
from hookline.testing import Hookline
from tests.hookline.sending import send

pytestmark = pytest.mark.slow


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    started = Instance(tmp_path)
    yield started
    started.stop()


def slugs(instance: Instance) -> list[str]:
    return [endpoint.slug for endpoint in instance.client.endpoints.list()]


def test_each_test_has_an_endpoint_to_which_nothing_was_sent(instance: Instance) -> None:
    seen = set()
    for number in range(3 * MOST):
        hookline = Hookline(instance)
        endpoint = hookline.endpoint()
        endpoint.assert_none()
        send(f"{endpoint.url}/{number}")
        assert endpoint.wait_for().path == f"/{number}"
        seen.add(endpoint.slug)
        hookline.close()
    assert len(seen) == 3 * MOST


def test_a_test_that_looks_at_all_endpoints_sees_its_own_alone(instance: Instance) -> None:
    for _ in range(MOST // 2):
        before = Hookline(instance)
        before.endpoint()
        before.close()
    hookline = Hookline(instance)
    endpoint = hookline.endpoint()
    assert [one.slug for one in hookline.client.endpoints.list()] == [endpoint.slug]
    another = hookline.endpoint()
    assert [one.slug for one in hookline.client.endpoints.list()] == [endpoint.slug, another.slug]


def test_a_test_may_delete_all_endpoints(instance: Instance) -> None:
    for _ in range(MOST):
        hookline = Hookline(instance)
        hookline.endpoint()
        for one in hookline.client.endpoints.list():
            hookline.client.endpoints.delete(one.slug)
        hookline.close()
        assert slugs(instance) == []
    endpoint = Hookline(instance).endpoint()
    send(endpoint.url)
    assert endpoint.wait_for()


def test_endpoints_of_tests_that_ended_do_not_pile_up(instance: Instance) -> None:
    for _ in range(4 * MOST):
        hookline = Hookline(instance)
        hookline.endpoint()
        hookline.close()
    instance.endpoints.empty()
    assert slugs(instance) == []


def test_one_whose_responses_come_from_the_test_is_deleted_at_once(instance: Instance) -> None:
    hookline = Hookline(instance)
    endpoint = hookline.endpoint()
    endpoint.respond(503, path="/down")
    deletion = endpoint.close()
    assert deletion is not None
    deletion.result()
    assert endpoint.slug not in slugs(instance)
