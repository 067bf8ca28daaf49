"""The certificate files of a target, checked when the target is saved."""

from __future__ import annotations

import asyncio

from app.core.rules import FieldError
from app.core.target import TargetDraft


async def client_file_errors(draft: TargetDraft, before: TargetDraft | None = None) -> list[FieldError]:
    """Why the files cannot be used that `before` does not name: a target whose file vanished can be edited."""
    own = draft.client_certificate, draft.client_key
    changed = before is None or own != (before.client_certificate, before.client_key)
    certificate = draft.client_certificate if changed else None
    authorities = draft.ca_certificate if before is None or draft.ca_certificate != before.ca_certificate else None
    return await asyncio.to_thread(_problems, certificate, draft.client_key, authorities)


def _problems(certificate: str | None, key: str | None, authorities: str | None) -> list[FieldError]:
    if not certificate and not authorities:
        return []
    import ssl  # takes a good part of a command's time, and hardly any command needs it

    from app.core import pem_files  # imports ssl

    context, found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), []
    try:
        if certificate:
            pem_files.load_client_certificate(context, certificate, key)
    except pem_files.PemFileError as error:
        found.append(FieldError(field=error.field, message=str(error)))
    try:
        if authorities:
            pem_files.load_authorities(context, authorities)
    except pem_files.PemFileError as error:
        found.append(FieldError(field=error.field, message=str(error)))
    return found
