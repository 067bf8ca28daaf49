"""Calls about the settings in force: read them, change some."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, get_type_hints

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from app.core.record import Record
from app.core.settings import Settings
from app.server.api.routes import Calls, Returns, can_fail, json_response, route, takes
from app.server.api.serializers import merged
from app.server.api.services import ApiServices

# Without the bounds, because `check` reports violations in sentences that name the setting.
_TYPES: dict[str, Any] = get_type_hints(Settings)
_Overridden = Annotated[
    dict[str, int | str | bool | None],
    msgspec.Meta(description="The saved values of the settings that have another one until Hookline is closed."),
]
SettingsOut = msgspec.defstruct(
    "SettingsOut",
    [*((key, _TYPES[key]) for key in Settings.__struct_fields__), ("overridden", _Overridden)],
    namespace={"__doc__": "The settings in force."},
    frozen=True,
)
SettingsPatch = msgspec.defstruct(
    "SettingsPatch",
    [(key, _TYPES[key] | UnsetType, UNSET) for key in Settings.__struct_fields__],
    bases=(Record,),
    namespace={"__doc__": "The body of `PATCH /settings`: absent fields stay."},
    frozen=True,
)


class SettingsCalls(Calls):
    """Handlers of `/settings`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services
        self._changing = asyncio.Lock()

    @route("GET", "/settings", "Read the settings", Returns(SettingsOut))
    async def read(self, request: web.Request) -> web.Response:
        """The settings in force."""
        return json_response(self._out())

    @route("PATCH", "/settings", "Change settings", Returns(SettingsOut))
    @takes(SettingsPatch, {"base_url": "https://hooks.example", "body_limit": 2**20})
    @can_fail("port-in-use")
    async def change(self, request: web.Request, patch: Any) -> web.Response:
        """Changes and saves the given settings; all others stay. A value that was used only until Hookline is closed
        is saved if it is given. 409 when a port is in use."""
        given = [key for key in Settings.__struct_fields__ if getattr(patch, key) is not UNSET]
        async with self._changing:
            await self._services.apply_settings(merged(self._services.settings.now, patch), given)
        return json_response(self._out())

    def _out(self) -> msgspec.Struct:
        settings = self._services.settings.now
        values = {key: getattr(settings, key) for key in Settings.__struct_fields__}
        overridden = {key: value for key, value in self._services.settings.overridden.items() if key in values}
        return SettingsOut(**values, overridden=overridden)
