"""A refused request as a curl command, if all of it was kept."""

from __future__ import annotations

from app.core.curl import curl_command
from app.core.model import REFUSED_RAW_MAX, Capture, Headers, Refusal


def curl_of_refused(refusal: Refusal, raw: bytes | None, base: str) -> str | None:
    """The command that sends it again to `base`; None if it was malformed or not all of it was kept."""
    if raw is None or len(raw) >= REFUSED_RAW_MAX or refusal.status == 400 or not refusal.method:
        return None
    head, end, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    headers = tuple((name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines))
    if not end or len(parts) != 3 or not _is_whole(headers, body):
        return None
    content_type = next((value for name, value in headers if name.lower() == "content-type"), "")
    capture = Capture(
        seq=0,
        id="",
        endpoint_id=0,
        received_at=refusal.at,
        method=parts[0],
        target=parts[1],
        http_version=parts[2].removeprefix("HTTP/"),
        headers=headers,
        content_type=content_type,
        size=len(body),
        sha256="",
        source_address=refusal.source_address,
        source_port=refusal.source_port,
        scheme="http",
        complete=True,
        reply_status=refusal.status,
    )
    return curl_command(capture, body, base)


def _is_whole(headers: Headers, body: bytes) -> bool:
    """False for chunked bodies: they are kept with their framing, which curl would send as content."""
    fields = {name.lower(): value for name, value in headers}
    length = fields.get("content-length", "0")
    return "transfer-encoding" not in fields and length.isdigit() and int(length[:20]) == len(body)
