"""The accessibility bus as a screen reader sees it: a screen and a bus, and what a program says of its windows."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, Properties, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

LAUNCHER = "/usr/libexec/at-spi-bus-launcher"
MISSING = [tool for tool in ("Xvfb", "dbus-daemon", LAUNCHER) if shutil.which(tool) is None]
ACCESSIBLE = "org.a11y.atspi.Accessible"
PATIENCE_S = 20.0
SHOWING, FOCUSABLE, LABELLED_BY = 25, 11, 2
"""Numbers of the states and of the relation in AT-SPI's `atspi-constants.h`."""


@dataclass(frozen=True)
class Node:
    """One object as reported over the bus. `labels`: names of what labels it. `depth`: 0 for a window."""

    role: str
    name: str
    description: str
    focusable: bool
    labels: tuple[str, ...]
    depth: int

    def __str__(self) -> str:
        description = f" ({self.description})" if self.description else ""
        return f"{'  ' * self.depth}{self.role} {self.name!r}{description}"


@contextmanager
def desktop() -> Iterator[dict[str, str]]:
    """What a program needs in its environment to be shown on a screen and a bus of its own."""
    with ExitStack() as stack:
        server = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1366x768x24"]
        display = _started(stack, server)
        # The bus starts the accessibility bus, its registry and this session's settings by itself.
        bus = _started(stack, ["dbus-daemon", "--session", "--nofork", "--print-address"], DISPLAY=f":{display}")
        yield {
            "DISPLAY": f":{display}",
            "DBUS_SESSION_BUS_ADDRESS": bus,
            "QT_QPA_PLATFORM": "xcb",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        }


def _started(stack: ExitStack, command: list[str], **extra: str) -> str:
    """The first line that a server prints; it is ended with the stack."""
    env = {**os.environ, **extra}
    process = stack.enter_context(
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline().strip()


class Reader:
    """Reads what the programs of one desktop say. Used as a context manager."""

    def __init__(self, bus: str) -> None:
        with closing(open_dbus_connection(bus)) as session:
            where = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
            address = session.send_and_get_reply(new_method_call(where, "GetAddress"), timeout=PATIENCE_S).body[0]
        self._bus: DBusConnection = open_dbus_connection(address)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self._bus.close()

    def windows(self, pid: int) -> list[tuple[str, str]]:
        """Bus name and path of each top-level window of a process, once it has any."""
        root = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for name, path in self._call(*root, "GetChildren")[0]:
                found = self._call(name, path, "GetChildren")[0] if self._pid(name) == pid else []
                if found:
                    return [(str(one), str(place)) for one, place in found]
            time.sleep(0.05)
        raise AssertionError("the program has no window on the accessibility bus")

    def tree(self, name: str, path: str, depth: int = 0) -> list[Node]:
        """What is showing, from this object down."""
        low, _ = self._call(name, path, "GetState")[0]
        if not low >> SHOWING & 1:
            return []
        node = Node(
            role=self._call(name, path, "GetRoleName")[0],
            name=self._property(name, path, "Name"),
            description=self._property(name, path, "Description"),
            focusable=bool(low >> FOCUSABLE & 1),
            labels=self._labels(name, path),
            depth=depth,
        )
        children = self._call(name, path, "GetChildren")[0]
        return [node, *(found for one, place in children for found in self.tree(one, place, depth + 1))]

    def _labels(self, name: str, path: str) -> tuple[str, ...]:
        relations = self._call(name, path, "GetRelationSet")[0]
        return tuple(
            self._property(one, place, "Name")
            for kind, targets in relations
            if kind == LABELLED_BY
            for one, place in targets
        )

    def _pid(self, name: str) -> int:
        where = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        message = new_method_call(where, "GetConnectionUnixProcessID", "s", (name,))
        return int(self._bus.send_and_get_reply(message, timeout=PATIENCE_S).body[0])

    def _call(self, name: str, path: str, method: str) -> Any:
        message = new_method_call(DBusAddress(path, name, ACCESSIBLE), method)
        response = self._bus.send_and_get_reply(message, timeout=PATIENCE_S)
        assert response.header.message_type.name == "method_return", f"{method} of {path}: {response.body}"
        return response.body

    def _property(self, name: str, path: str, which: str) -> str:
        message = Properties(DBusAddress(path, name, ACCESSIBLE)).get(which)
        return str(self._bus.send_and_get_reply(message, timeout=PATIENCE_S).body[0][1])


def dump(nodes: list[Node], file: Path) -> None:
    """Write the tree, a line an object, as evidence of a failed run."""
    file.write_text("\n".join(map(str, nodes)) + "\n", "utf-8")
