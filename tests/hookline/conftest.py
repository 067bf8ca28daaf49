"""The fixture `hookline`, whether or not the plugin is installed in this environment."""

from __future__ import annotations

from hookline.pytest_plugin import hookline, hookline_instance

__all__ = ["hookline", "hookline_instance"]
