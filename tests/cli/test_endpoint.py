"""`hookline endpoint` on a store that it opens itself."""

from __future__ import annotations

import io
from itertools import product

import pytest

from tests.cli.conftest import Run


@pytest.mark.usefixtures("empty_store")
def test_a_new_data_folder_has_no_endpoints(run: Run) -> None:
    done = run("endpoint", "list")
    assert (done.code, done.out) == (0, "")
    assert "hookline endpoint add NAME" in done.err


def test_add_prints_the_endpoint_with_its_slug_and_url(run: Run) -> None:
    made = run("endpoint", "add", "Orders", "--json").json
    assert made["name"] == "Orders"
    assert made["retention_days"] == 7
    assert made["url"].endswith(f"/catch/{made['slug']}")
    assert len(made["slug"]) == 24


def test_add_takes_every_field(run: Run) -> None:
    done = run(
        *("endpoint", "add", "Pay", "--slug", "pay-in", "--description", "for the tills"),
        *("--retention-days", "30", "--forward-url", "http://127.0.0.1:9/x"),
    )
    assert done.code == 0
    shown = run("endpoint", "show", "pay-in", "--json").json
    assert {key: shown[key] for key in ("name", "slug", "description", "retention_days", "forward_url")} == {
        "name": "Pay",
        "slug": "pay-in",
        "description": "for the tills",
        "retention_days": 30,
        "forward_url": "http://127.0.0.1:9/x",
    }


def test_add_says_that_nothing_is_captured_while_nothing_runs(run: Run) -> None:
    assert "hookline serve" in run("endpoint", "add", "Orders").err


def test_list_elsewhere_than_on_a_terminal_is_tab_separated(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    run("endpoint", "add", "Pay", "--slug", "pay")
    run("endpoint", "off", "pay")
    rows = [line.split("\t") for line in run("endpoint", "list").out.splitlines()]
    assert [row[2:6] for row in rows] == [["on", "-", "0", "-"], ["off", "-", "0", "-"]]
    assert rows[0][6].endswith("/catch/orders")


def test_list_as_json_holds_all_in_order_of_creation(run: Run) -> None:
    for name in ("b", "a", "c"):
        run("endpoint", "add", name)
    assert [item["name"] for item in run("endpoint", "list", "--json").json] == ["b", "a", "c"]


def test_edit_changes_what_is_named_and_nothing_else(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders", "--description", "d", "--forward-url", "http://127.0.0.1:9")
    run("endpoint", "off", "orders")
    changed = run("endpoint", "edit", "orders", "--retention-days", "90", "--name", "All orders", "--json").json
    assert (changed["name"], changed["retention_days"]) == ("All orders", 90)
    assert (changed["description"], changed["forward_url"]) == ("d", "http://127.0.0.1:9")
    assert changed["active"] is False


def test_edit_can_end_the_forwarding(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders", "--forward-url", "http://127.0.0.1:9")
    assert run("endpoint", "edit", "orders", "--no-forward-url", "--json").json["forward_url"] is None


def test_edit_without_anything_to_change_is_wrong_use(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    done = run("endpoint", "edit", "orders")
    assert done.code == 2
    assert "--help" in done.err


def test_on_and_off(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    assert "off (senders get 503)" in run("endpoint", "off", "orders").out
    assert run("endpoint", "show", "orders", "--json").json["active"] is False
    assert run("endpoint", "on", "orders").code == 0
    assert run("endpoint", "show", "orders", "--json").json["active"] is True


@pytest.mark.usefixtures("empty_store")
def test_an_unknown_slug_ends_with_1(run: Run) -> None:
    for verb, slug in product(("show", "on", "rm"), ("no-such", "..", "NOT A SLUG", "a/b", "%2e%2e")):
        done = run("endpoint", verb, slug)
        assert (done.code, done.out) == (1, ""), (verb, slug)
        assert slug in done.err, (verb, slug)
        assert done.err.count("\n") == 1, (verb, slug)


def test_a_broken_rule_ends_with_2_and_names_it(run: Run) -> None:
    run("endpoint", "add", "First", "--slug", "taken")
    for arguments, said in (
        (["x" * 101], "NAME can have at most 100 characters, not 101."),
        (["x", "--retention-days", "91"], "--retention-days must be 1 to 90 days, not 91."),
        (["x", "--slug", "ab-"], "--slug can contain only"),
        (["x", "--forward-url", "ftp://x"], "--forward-url must start with http:// or https://"),
        (["x", "--slug", "taken"], "taken"),
    ):
        done = run("endpoint", "add", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert said in done.err, arguments
        assert len(run("endpoint", "list", "--json").json) == 1, arguments


def test_the_plans_limit_ends_with_3(run: Run) -> None:
    for number in range(10):
        assert run("endpoint", "add", f"Endpoint {number}").code == 0
    done = run("endpoint", "add", "One more")
    assert done.code == 3
    assert "Free plan includes up to 10 endpoints" in done.err


def test_rm_needs_yes_where_nobody_can_be_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    done = run("endpoint", "rm", "orders")
    assert done.code == 2
    assert "--yes" in done.err
    assert run("endpoint", "show", "orders").code == 0


def test_rm_with_yes_deletes(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    done = run("endpoint", "rm", "orders", "--yes")
    assert (done.code, done.out) == (0, "Deleted Orders with 0 requests.\n")
    assert run("endpoint", "show", "orders").code == 1


def test_rm_as_json(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    assert run("endpoint", "rm", "orders", "--yes", "--json").json == {"deleted": "orders"}


def test_an_endpoint_can_be_moved_in_the_list(run: Run) -> None:
    for name in ("a", "b", "c"):
        run("endpoint", "add", name, "--slug", f"slug-{name}")
    assert run("endpoint", "edit", "slug-c", "--position", "1", "--json").json["position"] == 1
    assert [item["name"] for item in run("endpoint", "list", "--json").json] == ["c", "a", "b"]
    wrong = run("endpoint", "edit", "slug-c", "--position", "9")
    assert wrong.code == 2
    assert "from 1 to 3" in wrong.err


def test_tags_are_set_shown_listed_searched_and_unset(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders", "--tag", "shop", "--tag", "Test_1")
    run("endpoint", "add", "Other", "--slug", "other")
    shown = run("endpoint", "show", "orders")
    assert "Tags: shop, Test_1\n" in shown.out
    assert [one["slug"] for one in run("endpoint", "list", "--tag", "SHOP", "--json").json] == ["orders"]
    assert run("endpoint", "list", "--tag", "none").err.endswith("No endpoint has the tag none.\n")
    assert run("requests", "-q", "tag:shop", "--json").json == []
    again = run("endpoint", "add", "Orders", "--slug", "orders", "--ensure", "--tag", "shop", "--tag", "Test_1")
    assert "Nothing to change" in again.err
    assert run("endpoint", "edit", "orders", "--no-tags", "--json").json["tags"] == []
