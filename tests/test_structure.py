"""The rules of the code, read from it: which package may import what, and what no module may do."""

from __future__ import annotations

import ast
import builtins
import gc
import re
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for package in ("app", "hookline") for path in (ROOT / package).rglob("*.py"))

ALLOWED = {
    "core": {
        "hookline.decoding",
        "msgspec",
        "brotli",
        "backports",
        "pygments",
        "compression",
    },  # the last is the standard library's since 3.14
    "data_folder": {"filelock", "hookline.decoding", "msgspec"},
    "db": {"peewee", "psycopg", "hookline.decoding", "msgspec"},
    "server": {
        *(
            "aiohttp",
            "multidict",
            "yarl",
            "certifi",
            "httpx",
            "msgspec",
        ),  # the second and third make aiohttp's messages
        *("hookline.decoding", "hookline.headers", "hookline.records"),
    },
    "ui": {"PySide6", "shiboken6", "hookline.decoding", "msgspec", "segno"},
    "cli": {"hookline", "msgspec", "wcwidth"},
    "system": {"hookline", "msgspec", "platformdirs"},
    "top": {"hookline", "msgspec"},
    "hookline": {"hookline", "filelock", "httpx", "msgspec", "platformdirs", "pytest", "trustme"},
}
"""Libraries by package; `top` is the modules directly in `app/`, `hookline` what other programs import."""
STORE = (
    *("app.db.store", "app.db.captures", "app.db.deliveries", "app.db.endpoints", "app.db.part"),
    "app.db.sqlite.backups",
)
"""The store and its parts, which are the same in both engines, and what only a file has."""
FOR_TYPES = {
    "server": (*STORE, "app.current_settings", "app.troubles"),
    "ui": ("app.db", "app.server", "app.system"),
    "system": ("app.db.store", "app.current_settings", "app.server", "app.troubles"),
}
"""What these may import for the type checker alone: a part has one class, so who is handed it names that class."""
ON_DISK = "db", "data_folder"
"""The first keeps its files in the second."""
ASSEMBLING = ("top",)
"""These put the other packages together, so they may import them all."""
ALSO = {
    "app/ui/loop.py": {"qasync"},
    "app/server/api/exposition.py": {"prometheus_client"},  # an extra
    "app/start.py": {"aiohttp"},  # loads it without what it would do for its client
    "app/gui.py": {"PySide6"},  # makes the QApplication that the window lives in
    "app/window_probe.py": {"PySide6"},  # looks at the window from outside
    # The protocol's library, an extra, describes tools by pydantic's types.
    "app/cli/mcp_server.py": {"anyio", "httpx", "mcp", "mcp_types", "pydantic"},
}

Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def package_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "hookline":
        return "hookline"
    return parts[1] if len(parts) > 2 else "top"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), name(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of the file; a dozen tests look through it."""
    return tuple(ast.walk(tree(path)))


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Half a million objects would hold up each garbage collection, as they are made and in later tests."""
    gc.disable()
    yield
    for cached in (nodes, tree, names_in):
        cached.cache_clear()
    gc.enable()


def imported(node: ast.AST) -> list[str]:
    """The modules an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: write imports in full"
        # `from app import db` imports the package db as surely as `from app.db import store` does.
        if node.module in ("app", "hookline"):
            return [f"{node.module}.{alias.name}" for alias in node.names]
        return [node.module or ""]
    return []


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of each import anywhere in the file."""
    for node in nodes(path):
        for module in imported(node):
            yield node.lineno, module  # type: ignore[attr-defined]


def lines_for_types(path: Path) -> set[int]:
    """The lines that only the type checker reads."""
    blocks = (node for node in nodes(path) if isinstance(node, ast.If) and is_for_types(node))
    return {line for block in blocks for line in range(block.lineno, (block.end_lineno or block.lineno) + 1)}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def refusal(path: Path, module: str, *, for_types: bool = False) -> str | None:
    """Why the file may not import the module."""
    own, (package, *below) = package_of(path), module.split(".")
    if package == "app" and own == "hookline":
        if name(path) == "hookline/__main__.py":  # loaded only in Hookline's own processes
            return None
        return "hookline may not import app: the program that imports it may have a package of that name"
    if package == "app":
        other = below[0] if below and (ROOT / "app" / below[0]).is_dir() else "top"
        if own in ASSEMBLING or other in (own, "core") or (own, other) == ON_DISK or module == "app.__version__":
            return None
        if for_types and f"{module}.".startswith(tuple(f"{one}." for one in FOR_TYPES.get(own, ()))):
            return None
        return f"{own} may import core and itself, not {other}"
    if package in sys.stdlib_module_names or {package, module} & (
        ALLOWED.get(own, set()) | ALSO.get(name(path), set())
    ):
        return None
    return f"{own} may not import {package}"


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes(path) if isinstance(node, Function))


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 10
    assert {package_of(path) for path in MODULES} == set(ALLOWED)


@pytest.mark.parametrize(
    ("file", "module", "allowed"),
    [
        ("app/core/rules.py", "peewee", False),
        ("app/core/rules.py", "app.db.sqlite.store", False),
        ("app/db/sqlite/store.py", "peewee", True),
        ("app/db/sqlite/store.py", "app.core.model", True),
        ("app/db/sqlite/store.py", "app.data_folder.folder_lock", True),
        ("app/db/sqlite/store.py", "filelock", False),
        ("app/data_folder/folder_lock.py", "app.db.sqlite.store", False),
        ("app/server/api/server.py", "app.db", False),
        ("app/server/api/server.py", "app.application", False),
        ("app/ui/window.py", "PySide6.QtWidgets", True),
        ("app/ui/window.py", "qasync", False),
        ("app/ui/loop.py", "qasync", True),
        ("app/cli/main.py", "PySide6", False),
        ("app/cli/main.py", "app.server.api", False),
        ("app/application.py", "app.server.api", True),
        ("app/application.py", "PySide6", False),
        ("app/system/display.py", "app.core.text", True),
        ("app/system/display.py", "app.ui.loop", False),
        ("app/system/display.py", "PySide6", False),
        ("app/core/rules.py", "app.system", False),
        ("app/ui/window.py", "app.system", False),
        ("app/selftest.py", "app.application", True),
        ("app/selftest.py", "peewee", False),
        ("app/cli/main.py", "hookline.running", True),
        ("app/server/api/server.py", "hookline.client", False),
        ("app/server/api/server.py", "hookline.records", True),
        ("hookline/client/client.py", "hookline.running", True),
        ("hookline/client/client.py", "app.core.model", False),
        ("hookline/client/client.py", "aiohttp", False),
    ],
)
def test_the_rule_itself(file: str, module: str, allowed: bool) -> None:
    assert (refusal(ROOT / file, module) is None) is allowed


@pytest.mark.parametrize(
    ("file", "module", "allowed"),
    [
        ("app/ui/services.py", "app.server.replay_service", True),
        ("app/ui/services.py", "app.db.sqlite.restore", True),
        ("app/ui/services.py", "app.cli.main", False),
        ("app/server/refused.py", "app.db.store", True),
        ("app/server/refused.py", "app.db.sqlite.store", False),
        ("app/server/api/server.py", "app.current_settings", True),
        ("app/server/api/server.py", "app.application", False),
        ("app/core/rules.py", "app.server.replay_service", False),
    ],
)
def test_the_rule_for_types(file: str, module: str, allowed: bool) -> None:
    assert (refusal(ROOT / file, module, for_types=True) is None) is allowed


def test_packages_import_only_what_they_may() -> None:
    wrong = [
        f"{name(path)}:{line}: {why}"
        for path in MODULES
        for for_types in [lines_for_types(path)]
        for line, module in imports(path)
        if (why := refusal(path, module, for_types=line in for_types))
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_inside_a_function_gives_its_reason() -> None:
    """In a comment on its line, or on the line above it (or above the imports it stands with)."""
    wrong = []
    for path in MODULES:
        text = lines(path)
        inner = {node.lineno for function in functions(path) for node in ast.walk(function) if imported(node)}
        for line in sorted(inner):
            above = line - 1
            while above in inner:
                above -= 1
            if "#" not in text[line - 1] and not text[above - 1].lstrip().startswith("#"):
                wrong.append(f"{name(path)}:{line}: {text[line - 1].strip()}")
    assert not wrong, "\n".join(wrong)


def test_every_module_says_what_it_is_for() -> None:
    assert not [name(path) for path in MODULES if not ast.get_docstring(tree(path))]


MAY_BLOCK = {
    "app/ui/loop.py",  # runs the one loop there is
    "app/ui/requests/page/drag_out.py",  # Qt has no other way to drag; it begins from a timer, outside every coroutine
}


def test_no_dialog_blocks_in_a_loop_of_its_own() -> None:
    """A nested event loop inside a coroutine breaks the running task for good."""
    wrong = [
        f"{name(path)}:{node.lineno}: use open() and await its finished signal"
        for path in MODULES
        if package_of(path) in ("ui", "top") and name(path) not in MAY_BLOCK
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("exec", "exec_")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_task_is_named_and_kept() -> None:
    """asyncio holds tasks weakly: one whose reference is dropped may vanish in the middle."""
    wrong = []
    for path in MODULES:
        for node in nodes(path):
            call = node.value if isinstance(node, ast.Expr) else node
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if call.func.attr not in ("create_task", "ensure_future"):
                continue
            # A TaskGroup keeps its tasks itself.
            group = isinstance(call.func.value, ast.Name) and call.func.value.id in ("group", "tasks")
            if isinstance(node, ast.Expr) and not group:
                wrong.append(f"{name(path)}:{node.lineno}: the task's reference is dropped")
            if "name" not in {keyword.arg for keyword in call.keywords}:
                wrong.append(f"{name(path)}:{call.lineno}: the task has no name")
    assert not wrong, "\n".join(wrong)


def test_no_slot_is_overridden() -> None:
    """PySide does not end the connections of an overriding slot with its object, which is then called when it is gone.
    What subclasses override is a plain method: those are disconnected."""
    classes = {node.name: node for path in MODULES for node in nodes(path) if isinstance(node, ast.ClassDef)}

    def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
        return (method for method in node.body if isinstance(method, ast.FunctionDef))

    def above(node: ast.ClassDef) -> Iterator[ast.ClassDef]:
        for base in node.bases:
            found = classes.get(ast.unparse(base).partition("[")[0])
            if found is not None:
                yield found
                yield from above(found)

    wrong = [
        f"{node.name}.{method.name} overrides a slot of {base.name}"
        for node in classes.values()
        for base in above(node)
        for method in methods(base)
        if any(ast.unparse(mark).startswith("Slot(") for mark in method.decorator_list)
        and method.name in {own.name for own in methods(node)}
    ]
    assert not wrong, "\n".join(wrong)


def test_no_loop_waits_by_gather() -> None:
    """Awaiting `gather` of tasks that have ended gives the event loop no turn since Python 3.12: the loop spins."""
    wrong = [
        f"{name(path)}:{node.lineno}: use asyncio.wait"
        for path in MODULES
        for loop in nodes(path)
        if isinstance(loop, ast.While)
        for node in ast.walk(loop)
        if isinstance(node, ast.Await) and "gather" in ast.unparse(node.value).partition("(")[0]
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_waits_by_wait_for() -> None:
    """On Python 3.11 it loses a cancellation that comes as what it waits for ends."""
    wrong = [
        f"{name(path)}:{node.lineno}: use asyncio.timeout"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr == "wait_for"
    ]
    assert not wrong, "\n".join(wrong)


def test_types_are_decoded_in_one_place() -> None:
    """Two threads that use a type for the first time at once end the process: `hookline/decoding.py`."""
    wrong = [
        f"{name(path)}:{node.lineno}: use decode_json or convert of hookline.decoding"
        for path in MODULES
        if name(path) != "hookline/decoding.py"
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) == "msgspec.convert"
            or (ast.unparse(node.func).startswith("msgspec.") and any(word.arg == "type" for word in node.keywords))
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_sql_numbers_no_placeholder() -> None:
    """Python 3.12.0 and 3.12.1 warn when `?1` is given a sequence."""
    wrong = [
        f"{name(path)}:{node.lineno}: {node.value}"
        for path in MODULES
        if package_of(path) == "db"
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\?\d", node.value)
    ]
    assert not wrong, "\n".join(wrong)


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: not the bodies of functions, nor what only the type checker reads."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function) and not is_for_types(child):
            yield child
            yield from at_import(child)


def needed(own: str, code: ast.Module, known: Set[str]) -> set[str]:
    """The known modules that have to be whole before this one is: what it imports, and the packages that is in.

    Not the packages that it is itself in: whoever imports it begins with them.
    """
    found: set[str] = set()
    for node in at_import(code):
        names = imported(node)
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        for parts in (name.split(".") for name in names):
            found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return {name for name in found & known if name != own and not own.startswith(f"{name}.")}


def circle(modules: dict[str, ast.Module]) -> list[str]:
    """Modules that import each other, each needing the one before it; empty when none do."""
    try:
        TopologicalSorter({own: needed(own, code, set(modules)) for own, code in modules.items()}).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_each_module_can_be_imported_first() -> None:
    """Where no modules import each other, what a module needs is always whole before it, wherever one begins."""
    assert circle({module(path): tree(path) for path in MODULES}) == []


def modules_in(node: ast.AST, known: Set[str]) -> list[str]:
    """The modules that an import names."""
    if not isinstance(node, ast.ImportFrom):
        return imported(node)
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in known else node.module or "" for name in names]


def test_no_modules_name_each_other() -> None:
    """Neither inside functions nor for the type checker."""
    known = {module(path) for path in MODULES}
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        own = module(path)
        graph[own] = {name for node in nodes(path) for name in modules_in(node, known)} & known - {own}
    TopologicalSorter(graph).prepare()


def owner(name: str, folder: str) -> str:
    """Which part of the package `folder` a module belongs to: a package in it, or a module directly in it."""
    return ".".join(name.split(".")[: folder.count(".") + 2])


@pytest.mark.parametrize(
    "folder",
    [
        "app",
        "app.core",
        "app.db",
        "app.db.sqlite",
        "app.server",
        "app.cli",
        "app.system",
        "app.ui",
        "app.ui.inspector",
        "app.ui.requests",
        "hookline",
    ],
)
def test_no_packages_import_each_other(folder: str) -> None:
    """Not even inside functions. The modules directly in the folder stand for themselves."""
    known = {module(path) for path in MODULES}
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        own = owner(module(path), folder)
        if not own.startswith(f"{folder}."):
            continue
        for node in nodes(path):
            names = modules_in(node, known)
            others = {owner(name, folder) for name in names if name.startswith(f"{folder}.")}
            graph.setdefault(own, set()).update(others - {own})
    packages = {name for name in graph if name not in known or (ROOT / name.replace(".", "/")).is_dir()}
    if folder not in ("app", "app.ui"):  # a module beside the packages may use one that uses another such module
        graph = {own: others & packages for own, others in graph.items() if own in packages}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("import app.b", "from app.a import f", True),
        ("from app import b", "if True:\n    from app import a", True),
        ("from app.b.inner import f", "import app.a", True),
        ("import app.b", "def f():\n    import app.a", False),
        ("import app.b", "if TYPE_CHECKING:\n    import app.a", False),
        ("import app.b.inner", "import app.b.inner", False),
    ],
)
def test_what_a_circle_is(one: str, other: str, found: bool) -> None:
    written = {"app": "", "app.a": one, "app.b": other, "app.b.inner": "import app"}
    assert bool(circle({name: ast.parse(text) for name, text in written.items()})) is found


def python(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.smoke
def test_every_module_can_be_imported_without_a_warning_and_qt_is_only_loaded_for_a_display() -> None:
    packages = ("core", "data_folder", "db", "server", "cli")
    paths = [path for path in MODULES if path.name != "__main__.py"]
    without = [path for path in paths if package_of(path) in packages or path.stem == "serve"]
    loaded = "[name for name in sys.modules if name.startswith(('PySide6', 'qasync'))]"
    python(
        *("-W", "error", "-c"),
        f"import importlib, sys\nfor name in {[module(path) for path in without]!r}:\n"
        f"    importlib.import_module(name); assert not {loaded}, name\n"
        f"for name in {[module(path) for path in paths]!r}: importlib.import_module(name)",
    )


def test_a_bundle_holds_every_module() -> None:
    """PyInstaller does not see those that are imported by their names only."""
    recipe = ast.parse((ROOT / "build.spec").read_text("utf-8"))
    calls = [ast.unparse(node) for node in ast.walk(recipe) if isinstance(node, ast.Call)]
    assert "collect_submodules('app')" in calls


LOADED_AFTER_QT = "from app.ui import load_qt; load_qt(); import app.window_session, linecache"


def test_what_is_loaded_after_qt_is_not_read_as_text_too() -> None:
    """`linecache` keeps what PySide's own import reads of each module."""
    ours = str(ROOT / "app")
    python("-c", f"{LOADED_AFTER_QT}; assert not [name for name in linecache.cache if name.startswith({ours!r})]")


def test_a_start_without_a_window_loads_nothing_of_it() -> None:
    loaded = "[name for name in sys.modules if name.split('.')[:2] == ['app', 'ui']]"
    python("-c", f"import app.__main__, app.serve, sys; loaded = {loaded}; assert not loaded, loaded")


SHOWN_LATER = (
    "app.core.bodies.format_registry",
    "app.ui.comparison.dialog",
    "app.ui.comparison.requests_dialog",
    "app.ui.dashboard",
    "app.ui.deliveries.page",
    "app.ui.endpoints.endpoint_dialog",
    "app.ui.inspector.request_view",
    "app.ui.replay.replay_editor",
    "app.ui.replay.replays_page",
    "app.ui.settings.dialog",
    "app.ui.tunnel.page",
    "app.ui.widgets.form",
)
"""What the window imports when it first shows it."""
LATER = ("aiohttp", "app.server.api.web_application", "app.ui.single_instance")
"""What answers the callers of the local API and later starts, who wait until the window is shown."""


@pytest.mark.parametrize(
    ("which", "unwanted"),
    [
        ("app.gui", ("app.ui.shell.main_window", "app.window_session")),  # they come on a thread, while the store opens
        ("app.window_session", (*LATER, "httpx", "app.core.redaction.in_text", "app.system.licences", *SHOWN_LATER)),
        ("app.serve", ("httpx", "app.core.redaction.in_text")),
    ],
)
def test_a_start_loads_nothing_too_early(which: str, unwanted: tuple[str, ...]) -> None:
    python("-c", f"import {which}, sys; early = set({unwanted!r}) & set(sys.modules); assert not early, early")


def test_a_store_in_a_file_loads_no_driver_of_a_server(tmp_path: Path) -> None:
    """peewee would, where psycopg is installed: that takes as long as half a command."""
    command = ["endpoint", "add", "x", "--data-dir", str(tmp_path)]
    python(
        "-c",
        f"import sys; from app.start import start; start({command}); assert 'psycopg.connection' not in sys.modules",
    )


EXAMPLES = {"hi", "in_"}
"""Data, and a method of another library."""
_NAME = re.compile(r"`([a-z_][a-z0-9_]*)`")


def test_what_a_docstring_names_exists() -> None:
    """It is a name in the same module, a definition, an option of the command line, or a word of the API."""
    known = {*dir(builtins), *EXAMPLES, *(path.stem for path in MODULES)}
    documented: list[tuple[Path, set[str]]] = []
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, (*Function, ast.ClassDef)):
                known.add(node.name)
                documented.append((path, set(_NAME.findall(ast.get_docstring(node, clean=False) or ""))))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                known.add(node.value)
    wrong = [
        f"{name(path)}: {word}"
        for path, words in documented
        for word in sorted(words - known)
        if word not in names_in(path)
    ]
    assert wrong == []


@cache
def names_in(path: Path) -> set[str]:
    """Of variables, parameters, attributes and imports, and the words of its strings that are no docstrings."""
    found: set[str] = set()
    docstrings = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.arg, ast.keyword)):
            found.add(node.arg or "")
        elif isinstance(node, ast.alias):
            found.update((node.asname or node.name).split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found.update(re.findall(r"\w+", node.value))
    return found
