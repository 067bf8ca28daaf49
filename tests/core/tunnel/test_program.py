"""The files of the catalogue have no errors, and those that they could have are found. Of options' values some are
refused, and some are kept from view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.core.errors import InvalidFieldsError
from app.core.files import resource
from app.core.tunnel_program import (
    COMMAND,
    HIDDEN,
    LineRule,
    ProgramSpec,
    TunnelProgram,
    address_header_of,
    arguments_of,
    command_words,
    read_folder,
    read_spec,
    saved_after,
    secrets_of,
    shown_values,
    split_command,
    values_to_run,
    without_secrets,
)
from app.server.tunnel.session import restart_delay_s

VALID = """
name = "Some"
summary = "A program."
website = "https://example.com/"
executables = ["some"]
install = { linux = "a", macos = "b", windows = "c" }
[run]
arguments = ["{port}"]
[[urls]]
pattern = '(https://\\S+)'
"""


SYSTEMS = ("linux", "macos", "windows")
GIVEN = ("port", "local_host", "target", "folder", "data")
"""Names that have a value in every template: the capture port, its host, both (`127.0.0.1:8787`), a folder that is
deleted when the program ends, and one that stays."""
NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def error_in(spec: ProgramSpec) -> str | None:
    """What is wrong with a file of the catalogue."""
    return program_error(spec.program) or names_error(spec) or rules_error(spec)


def program_error(program: TunnelProgram) -> str | None:
    options = {option.name: option for option in program.options}
    if not program.executables and COMMAND not in options:
        return f"executables: one is required, or an option {COMMAND}"
    if missing := [system for system in SYSTEMS if not program.install.get(system)]:
        return f"install.{missing[0]} is missing"
    if unknown := [name for name in program.fixed_url_with if name not in options]:
        return f"fixed_url_with: there is no option {unknown[0]}"
    for option in program.options:
        if option.name in GIVEN or option.name == "found":
            return f"options: {option.name} has a value already"
        if not compiles(option.pattern):
            return f"options: the pattern of {option.name} is invalid"
        if option.choices and option.default and option.default not in option.choices:
            return f"options: the default of {option.name} is not one of its choices"
    return None


def names_error(spec: ProgramSpec) -> str | None:
    run, known = spec.run, {*GIVEN, *(option.name for option in spec.program.options)}
    groups = [(one,) if isinstance(one, str) else one for one in run.arguments]
    conditions = [group[0][1:] for group in groups if group and group[0][:1] in ("?", "!")]
    texts = [*(text for group in groups for text in group), *run.files.values(), *run.set.values(), *run.known_urls]
    rules: list[LineRule] = [*spec.urls, *spec.up, *spec.failures]
    texts += [text for rule in rules for text in (rule.pattern, rule.after)]
    filled_in = [*(rule.url for rule in spec.urls), *(rule.message for rule in spec.failures)]
    texts += [text.replace("{found}", "") for text in filled_in]
    for name in (*conditions, *(name for text in texts for name in NAME.findall(text))):
        if name not in known:
            return f"{{{name}}} has no value"
    return None


def rules_error(spec: ProgramSpec) -> str | None:
    if not spec.urls and not spec.run.known_urls:
        return "urls: nothing tells the public URL"
    rules: list[LineRule] = [*spec.urls, *spec.up, *spec.failures]
    if any(bool(rule.pattern) is bool(rule.where) for rule in rules):
        return "a rule needs a pattern, or where"
    for pattern in (*(rule.pattern for rule in rules), *spec.not_hosts, spec.hidden):
        if not compiles(pattern):
            return f"pattern {pattern!r} is invalid"
    with_group = [url.pattern for url in spec.urls if url.pattern]
    with_group += [failure.pattern for failure in spec.failures if "{found}" in failure.message]
    for pattern in with_group:
        if re.compile(pattern).groups != 1:
            return f"pattern {pattern!r} needs one group"
    return "urls: where needs a key" if any(url.where and not url.key for url in spec.urls) else None


def compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def test_the_files_that_are_shipped() -> None:
    specs = read_folder(resource("tunnels"))
    assert len(specs) >= 12
    for name, spec in specs.items():
        program = spec.program
        assert program.id == name
        assert error_in(spec) is None, name
        assert program.website.startswith("https://"), name
        assert program.summary.endswith("."), name
        assert all(text.endswith(".") for text in program.warnings), name
        assert all(rule.message.endswith((".", ". See https://ngrok.com/docs/errors.")) for rule in spec.failures), name
        assert spec.stop.grace_s <= 2, f"{name}: Hookline ends within three seconds"
        # RE2 has neither looking around nor references back.
        patterns = [rule.pattern for rule in (*spec.urls, *spec.up, *spec.failures)]
        assert not any(re.search(r"\(\?[=!<]|\\[1-9]", pattern) for pattern in patterns), name


@pytest.mark.parametrize(
    ("name", "fixing"),
    [("ssh", "remote_port"), ("ssh", "url"), ("bore", "remote_port"), ("devtunnel", "tunnel"), ("own", "url")],
)
def test_a_url_stays_with_the_option_that_fixes_it(name: str, fixing: str) -> None:
    program = read_folder(resource("tunnels"))[name].program
    assert not program.keeps_url({})
    assert not program.keeps_url({"host": "example.com", fixing: " "})
    assert program.keeps_url({fixing: "9001"})


def test_a_url_that_stays_or_changes_in_any_case() -> None:
    programs = {name: spec.program for name, spec in read_folder(resource("tunnels")).items()}
    always = {"cloudflared-named", "ngrok", "tailscale-funnel"}
    assert {name for name, program in programs.items() if program.keeps_url({})} == always
    assert not programs["localtunnel"].keeps_url({"subdomain": "mine"}), "it may be taken the next time"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('executables = ["some"]', "executables = []"), "executables"),
        ((', windows = "c"', ""), "install.windows"),
        (("{port}", "{porto}"), "{porto}"),
        (("(https://", "((https://"), "pattern"),
        (("(https://\\S+)", "https://\\S+"), "one group"),
        (("pattern = '(https://\\S+)'", ""), "pattern, or where"),
        (("pattern = '(https://\\S+)'", 'where = { msg = "x" }'), "key"),
        (("[[urls]]\npattern = '(https://\\S+)'", ""), "public URL"),
        (("[run]", '[[options]]\nname = "port"\nlabel = "P"\n[run]'), "port"),
        (("[run]", 'failures = [{ pattern = "x", message = "{found}" }]\n[run]'), "one group"),
        (("[run]", 'fixed_url_with = ["host"]\n[run]'), "no option host"),
    ],
)
def test_an_error_in_a_file_is_found(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    text = VALID.replace(*change)
    assert text != VALID
    (tmp_path / "some.toml").write_text(text)
    assert re.search(re.escape(told), error_in(read_spec(tmp_path / "some.toml")) or "")


@pytest.mark.parametrize(("change", "told"), [(("name =", "title ="), "title"), (('name = "Some"', "name = "), "line")])
def test_a_file_that_is_none_of_a_program_is_named(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_text(VALID.replace(*change))
    with pytest.raises(ValueError, match=f"^some.toml: .*{told}"):
        read_spec(tmp_path / "some.toml")


def test_arguments() -> None:
    given = ("http", ("--url", "{domain}"), ("?token", "-F", "file"), ("!token", "-F", "none"), "{command}")
    words = {"command": ["a", "b"]}
    assert arguments_of(given, {"domain": "", "token": ""}, words) == ["http", "-F", "none", "a", "b"]
    values = {"domain": "x.dev", "token": "t"}
    assert arguments_of(given, values, words) == ["http", "--url", "x.dev", "-F", "file", "a", "b"]


SPECS = read_folder(resource("tunnels"))


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        ("ssh", "host", "-oProxyCommand=touch x"),
        ("ssh", "host", "a b"),
        ("ssh", "user", "-l"),
        ("ssh", "identity", "-i"),
        ("ssh", "remote_port", "0"),
        ("ssh", "remote_port", "9001:evil"),
        ("ssh", "nothing", "x"),
        ("ngrok", "domain", "https://x.ngrok-free.dev"),
        ("ngrok", "domain", "x\ny"),
        ("tailscale-funnel", "https_port", "80"),
        ("own", "command", "'unclosed"),
        ("own", "url", "ftp://x"),
        ("bore", "secret", "x" * 3000),
    ],
)
def test_an_invalid_value_is_refused_by_its_name(program: str, name: str, value: str) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        saved_after(SPECS[program].program, {}, {name: value})
    assert [error.field for error in caught.value.errors] == [name]


def test_values_are_kept_changed_and_removed() -> None:
    program = SPECS["ssh"].program
    saved = saved_after(program, {}, {"host": " example.com ", "user": "me"})
    assert saved == {"host": "example.com", "user": "me"}
    assert saved_after(program, saved, {"user": ""}) == {"host": "example.com"}
    assert saved_after(program, {"host": "example.com", "old": "x"}, {}) == {"host": "example.com"}


def test_what_a_program_needs_is_asked_for() -> None:
    with pytest.raises(InvalidFieldsError, match=r"needs host \(Server\)") as caught:
        values_to_run(SPECS["ssh"], {})
    assert [error.field for error in caught.value.errors] == ["host"]
    with pytest.raises(InvalidFieldsError, match=r"needs command \(Command\)"):
        values_to_run(SPECS["own"], {})
    assert values_to_run(SPECS["own"], {"command": "x"})["url"] == ""


def test_a_secret_is_never_shown() -> None:
    program = SPECS["ngrok"].program
    saved = {"authtoken": "2abcDEF", "domain": "x.ngrok-free.dev"}
    assert shown_values(program, saved) == ({"domain": "x.ngrok-free.dev"}, ("authtoken",))
    assert without_secrets("token=2abcDEF;", secrets_of(program, saved)) == f"token={HIDDEN};"
    with pytest.raises(InvalidFieldsError) as caught:
        saved_after(program, {}, {"authtoken": "not a token"})
    assert "not a token" not in str(caught.value)


def test_the_users_own_command() -> None:
    own = SPECS["own"].program
    assert command_words(own, {"command": "'my tool' --port={port}", "port": "8787"}) == ["my tool", "--port=8787"]
    assert saved_after(own, {}, {"command": "mytool"}) == {"command": "mytool"}
    assert address_header_of(own, {}) is None
    header = address_header_of(own, {"address_header": "X-Real-IP"})
    assert header is not None
    assert header.name == "X-Real-IP"


def test_a_path_of_windows_keeps_its_backslashes() -> None:
    command = r'"C:\Program Files\tmole.exe" {port} C:\x'
    assert split_command(command, windows=True) == [r"C:\Program Files\tmole.exe", "{port}", r"C:\x"]
    assert split_command(r"my\ tool # {port}", windows=False) == ["my tool", "#", "{port}"]


def test_the_waits_grow_up_to_a_minute() -> None:
    assert [restart_delay_s(count) for count in (1, 2, 3, 7, 8, 1000)] == [1, 2, 4, 60, 60, 60]
