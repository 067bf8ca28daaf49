"""Sends a small request to a capture URL, so that a user sees at once what a captured request looks like."""

from __future__ import annotations

import httpx
import msgspec

from app.core.clock import now_us, rfc3339
from app.core.errors import HooklineError
from app.server.forward.failure import failure_text
from app.server.forward.tls import trust

_TIMEOUT_MS = 10_000


async def send_test_request(url: str) -> int:
    """POST a friendly JSON body to `url` over real HTTP and give the status of the answer.

    HooklineError with a sentence when no answer came. No proxy of the environment is used.
    """
    message = {"message": "Hello from Hookline! This endpoint works.", "sent_at": rfc3339(now_us())}
    headers = {"Content-Type": "application/json", "User-Agent": "Hookline", "X-Hookline-Test": "1"}
    context = await trust()
    try:
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=_TIMEOUT_MS / 1000) as client:
            response = await client.post(url, content=msgspec.json.encode(message), headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = failure_text(error, url, _TIMEOUT_MS) or str(error)
        raise HooklineError(f"The test request could not be sent to {url}. {reason}") from error
    return response.status_code
