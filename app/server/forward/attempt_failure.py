"""What can go wrong in an attempt, as a kind and a sentence for developers."""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Iterator

from app.core.delivery import FailureKind

_TEXT_MAX = 200
_NOT_TLS = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "UNKNOWN_PROTOCOL",
)
_EXPIRED, _NOT_YET_VALID = 10, 9
_SELF_SIGNED, _SELF_SIGNED_AUTHORITY = 18, 19
_UNKNOWN_ISSUER = (2, 20, 21)
WRONG_NAME = (62, 64)
"""OpenSSL's verify codes X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)


class AttemptError(Exception):
    """Ends an attempt; `str()` is the sentence to store."""

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def connect_error(errors: list[OSError], place: str) -> AttemptError:
    """Why no address of `place` accepted a connection."""
    if any(isinstance(error, ConnectionRefusedError) for error in errors):
        return AttemptError(FailureKind.CONNECTION, f"Nothing is listening at {place} (connection refused).")
    error = errors[0]
    reason = _reason(error)
    if error.errno and "Connect call failed" in reason:  # asyncio's words, which do not say why
        reason = os.strerror(error.errno)
    unreachable = error.errno in _UNREACHABLE
    hint = " Check the address and the network." if unreachable else ""
    return AttemptError(FailureKind.CONNECTION, f"{place} could not be reached: {reason}.{hint}")


def lookup_error(host: str) -> AttemptError:
    return AttemptError(FailureKind.CONNECTION, f"The host name {host} could not be found.")


def closed_error(cause: BaseException | None, place: str, *, responding: bool) -> AttemptError:
    """Why a connection ended: by an orderly close (None), a reset, or TLS."""
    if isinstance(cause, ssl.SSLError):
        return tls_error(cause, place)
    if responding:
        return AttemptError(FailureKind.PROTOCOL, f"{place} closed the connection too early.")
    if cause is None:
        return AttemptError(FailureKind.CONNECTION, f"{place} closed the connection without a response.")
    if isinstance(cause, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return AttemptError(FailureKind.CONNECTION, f"{place} reset the connection without a response.")
    return AttemptError(FailureKind.CONNECTION, f"The connection to {place} was lost: {_reason(cause)}.")


def stale_text(place: str) -> str:
    """For a request on a reused connection that got no response."""
    return f"{place} closed the open connection that this request was sent on. It was sent again on a new connection."


def handshake_error(error: OSError, place: str, names: tuple[str, ...] | None = None) -> AttemptError:
    """`names`: those in a certificate for another name; None if they are not known."""
    for cause in causes_of(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return AttemptError(FailureKind.TLS, _certificate_text(cause, place.rpartition(":")[0].strip("[]"), names))
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return tls_error(error, place)
    text = f"{place} closed the connection during the TLS handshake. Does that port speak https?"
    return AttemptError(FailureKind.TLS, text)


def tls_error(error: ssl.SSLError, place: str) -> AttemptError:
    reason = str(getattr(error, "reason", None) or "")
    if any(name in reason for name in _NOT_TLS):
        text = f"TLS with {place} failed ({_spoken(reason)}). Does that port speak https?"
    elif "CERTIFICATE_REQUIRED" in reason:
        text = f"{place} requires a client certificate."
    elif "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        text = f"{place} did not accept the client certificate ({_spoken(reason)})."
    else:
        text = f"TLS with {place} failed ({_spoken(reason) or _reason(error)})."
    return AttemptError(FailureKind.TLS, text)


def seconds(ms: int) -> str:
    """`10 s`, `0.5 s`."""
    return f"{ms / 1000:g} s"


def _certificate_text(error: ssl.SSLCertVerificationError, host: str, names: tuple[str, ...] | None) -> str:
    """OpenSSL's own words, then what they mean here."""
    code = error.verify_code
    text = f"The TLS certificate of {host} was not accepted: {error.verify_message.rstrip('.')}."
    if code in WRONG_NAME:
        valid = f" It is valid for {', '.join(names)[:_TEXT_MAX]}." if names else ""
        return f"The TLS certificate of {host} was not accepted: it is for another name.{valid}"
    if code == _EXPIRED:
        return f"{text} Renew it, or check this computer's clock."
    if code == _NOT_YET_VALID:
        return f"{text} Check this computer's clock and the target's."
    if code in (_SELF_SIGNED, _SELF_SIGNED_AUTHORITY):
        return f"{text} Trust it on this system, or turn off certificate checks for this target."
    if code in _UNKNOWN_ISSUER:
        return f"{text} Its issuer is unknown here, or the target does not send the intermediate certificates."
    return text


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """`error` and all its causes, groups opened."""
    waiting, seen = [error], set()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting.extend(inner for inner in (cause.__cause__, cause.__context__) if inner is not None)
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(cause.exceptions)


def _spoken(reason: str) -> str:
    return reason.replace("_", " ").lower()


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)[:_TEXT_MAX].rstrip(".")
