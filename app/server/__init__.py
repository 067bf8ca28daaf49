"""The network: the capture port, mirroring and the local API. Imports core only."""

from app.server.plain_aiohttp import load_aiohttp

load_aiohttp()  # before any module of this room asks for it
