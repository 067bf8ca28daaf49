"""Puts the program into the wheel: below the package `hookline`, where it is in no other program's way.

A checkout that is installed as editable stays where it is, and gets nothing of it.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            program = "hookline/_program/app"
            build_data["force_include"] = {"app": program, "resources": f"{program}/resources"}
