"""The plugin of pytest: fixtures. Until a test asks for one, it loads and starts nothing."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hookline.instance import Instance
    from hookline.testing.fixture import Hookline


GIVEN = pytest.StashKey["Hookline"]()
"""What the fixture `hookline` gave to a test."""


@pytest.fixture(scope="session")
def hookline_instance(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Instance]:
    """Hookline as a process, one for the session: all workers of pytest-xdist share it. Tests use `hookline`."""
    from hookline.instance import Instance  # only for those who ask for it

    own = tmp_path_factory.getbasetemp()
    session = own.parent if hasattr(pytestconfig, "workerinput") else own
    instance = Instance(session / "hookline")
    yield instance
    instance.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A function that responds for an endpoint runs in another thread: the test fails by what it raises there."""
    __tracebackhide__ = True
    try:
        yield
    finally:
        given = item.stash.get(GIVEN, None)
        if given is not None:
            given.raise_errors()


@pytest.fixture
def hookline(hookline_instance: Instance, request: pytest.FixtureRequest) -> Iterator[Hookline]:
    """Endpoints that capture what the tested code sends. They are this test's alone, and deleted after it; Hookline
    itself runs for the whole session, in a process of its own."""
    from hookline.testing.fixture import Hookline  # only for those who ask for it

    if not hookline_instance.running:
        pytest.fail(f"Hookline has ended. {hookline_instance.trouble()}", pytrace=False)
    given = Hookline(hookline_instance)
    request.node.stash[GIVEN] = given
    yield given
    given.close()
