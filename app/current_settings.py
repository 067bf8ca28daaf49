"""The settings in use: the saved ones, and in their place those of this run alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from app.core.errors import InvalidFieldsError
from app.core.rules import FieldError
from app.core.settings import STORE_VARIABLE, Settings
from app.data_folder.private_files import load_settings, save_settings, with_storage_limit


class CurrentSettings:
    """`now` is what applies. `overrides` are of this run only (from the command line)."""

    def __init__(self, folder: Path, overrides: Mapping[str, Any]) -> None:
        self._folder, self.overrides = folder, dict(overrides)
        self._saved = Settings()
        self.now = Settings()

    def load(self) -> None:
        """Read the saved ones."""
        self._use(load_settings(self._folder))

    def add_storage_limit(self, used: int) -> None:
        """Choose and save a storage limit at the first start; `used` bytes are stored already."""
        self._use(with_storage_limit(self._folder, self._saved, used))

    def override(self, **values: Any) -> None:
        """Use `values` for this run alone, without saving them."""
        self.overrides.update(values)
        self.now = replace(self.now, **values)

    @property
    def store(self) -> str | None:
        """The address of a team's store; None: the database is the file in the data folder."""
        return self.overrides["store"] if "store" in self.overrides else store_of(self.now)

    @property
    def overridden(self) -> dict[str, Any]:
        """The saved values of the settings that have another one for this run alone."""
        return {key: value for key, value in asdict(self._saved).items() if value != getattr(self.now, key)}

    async def save(self, changes: Mapping[str, Any]) -> None:
        """Save these settings, by name, and use them.

        InvalidFieldsError or DataFolderError when they cannot be saved; then nothing changes.
        """
        saved = replace(self._saved, **changes)
        if saved.port == saved.api_port:
            # The other port in use is another one for this run alone.
            field, other = ("port", "API port") if "port" in changes else ("api_port", "capture port")
            text = f"Port {saved.port} is the saved {other}. Choose another port, or save the {other} in use too."
            raise InvalidFieldsError([FieldError(field=field, message=text)])
        await asyncio.to_thread(save_settings, self._folder, saved)
        self.overrides = {key: value for key, value in self.overrides.items() if key not in changes}
        self._saved, self.now = saved, replace(self.now, **changes)

    def _use(self, saved: Settings) -> None:
        self._saved = saved
        self.now = replace(saved, **self.overrides)


def store_of(settings: Settings) -> str | None:
    """As `CurrentSettings.store`, but for what the command line says. What the environment says may hold a password,
    so it is no setting."""
    return os.environ.get(STORE_VARIABLE) or settings.store
