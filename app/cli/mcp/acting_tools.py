"""The tools that change or send something, each of them only with its own option of `hookline mcp`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Literal
from urllib.parse import unquote

import httpx
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from app.cli.identifiers import request_id
from app.cli.mcp.serializers import Serializer
from app.cli.mcp.shapes import EndpointShape, ReplayResults, SentShape
from app.cli.mcp.tools import RESPONSE_BYTES, Connect, ReadTools, RequestId, calling
from app.core.hop_by_hop import FRAMING
from hookline.client.requests import ReplayRequestFields

_SEND_S = 60.0
_DOTS = frozenset({".", ".."})


class ActingTools:
    """Built on the tools that read, whose shapes they return."""

    def __init__(self, connect: Connect, read: ReadTools, serializer: Serializer) -> None:
        self._connect, self._read, self._serializer = connect, read, serializer

    async def replay_request(
        self,
        request: RequestId,
        url: Annotated[
            str | None, Field(description="Send it to this http or https URL; without it, to the endpoint's targets.")
        ] = None,
    ) -> ReplayResults:
        """Send a captured request again, wait for the responses, and return the result of each delivery."""
        async with calling(self._connect) as api:
            fields: ReplayRequestFields = {} if url is None else {"url": url}
            made = await api.requests.replay(await request_id(api, request), **fields)
        deliveries = [await self._read.full_delivery(one) for one in made.deliveries]
        return ReplayResults(deliveries)

    async def send_request(
        self,
        endpoint: Annotated[str, Field(description="The slug of the endpoint, as list_endpoints has it.")],
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] = "POST",
        path: Annotated[str, Field(description="What follows the slug in the URL, such as /orders?id=1.")] = "",
        headers: Annotated[
            dict[str, str] | None, Field(description="Headers to send, such as Content-Type; in ASCII.")
        ] = None,
        body: Annotated[str, Field(description="The body, sent as UTF-8.")] = "",
    ) -> SentShape:
        """Send a request to an endpoint of this Hookline, as a provider would, to try the code behind it. Returns the
        status and the first 4 KiB of the response's body."""
        async with calling(self._connect) as api:
            slug = (await api.endpoints.get(endpoint)).slug
            base = (await api.status()).capture_url
        if base is None:
            raise ToolError("Hookline does not capture now. Start it with hookline, or hookline serve.")
        _check(path, headers or {})
        url = f"{base}/catch/{slug}{path}"
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=_SEND_S) as client:
                response = await client.request(method, url, headers=headers, content=body.encode())
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ToolError(f"The request could not be sent to {url}: {error}.") from error
        content = response.content  # decompressed
        kind = [("Content-Type", response.headers.get("Content-Type", ""))]
        part = await self._read.body_part(_whole(content), kind, len(content), limit=RESPONSE_BYTES)
        return SentShape(url=self._serializer.url(str(response.request.url)), status=response.status_code, body=part)

    async def create_endpoint(
        self,
        name: Annotated[str, Field(description="A name for people, 1 to 100 characters.")],
        forward_url: Annotated[str | None, Field(description="Forward each request to this http or https URL.")] = None,
        retention_days: Annotated[
            int, Field(ge=1, le=90, description="Requests are kept this many days, 1 to 90.")
        ] = 7,
        tags: Annotated[tuple[str, ...], Field(description="Words that it can be found by.")] = (),
    ) -> EndpointShape:
        """Create an endpoint, and return it with its capture URL."""
        async with calling(self._connect) as api:
            made = await api.endpoints.create(name, forward_url=forward_url, retention_days=retention_days, tags=tags)
            return self._serializer.endpoint(made)


def _check(path: str, headers: dict[str, str]) -> None:
    """ToolError for what could not be sent, or not to this endpoint."""
    if path and not path.startswith(("/", "?")):
        raise ToolError(f"path must begin with / or ?, not {path[:1]!r}.")
    if "#" in path:
        raise ToolError("path must not have #: what follows it would not be sent. Write %23.")
    if _DOTS.intersection(unquote(path.partition("?")[0]).split("/")):
        raise ToolError("path must not have . or .. between its slashes: the request would leave the endpoint.")
    for name, value in headers.items():
        if name.strip().lower() in FRAMING:
            raise ToolError(f"headers must not have {name.strip()}: it follows from the body.")
        if not (name + value).isascii():
            raise ToolError(f"headers must be ASCII, which {name[:80]!r} is not.")


async def _whole(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content
