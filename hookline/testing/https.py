"""HTTPS for tests: a port that takes off TLS and passes all on to the capture port.

Its certificate is of an authority made for this process, which nobody trusts but who is given it.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_PIECE = 64 * 1024


class HttpsPort:
    """Listens until closed. ImportError without the library that makes certificates."""

    def __init__(self, capture_url: str, ca_file: Path) -> None:
        """`ca_file` is written: the authority's certificate."""
        try:
            import trustme  # an extra, and start-up time
        except ImportError as error:
            text = "Endpoints with HTTPS need the package trustme. Install it with: pip install 'hookline[https]'"
            raise ImportError(text) from error
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(ca_file))
        self.ca_file = ca_file
        self.client_context = ssl.create_default_context(cafile=str(ca_file))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", "::1", "localhost").configure_cert(self._context)
        self._target = urlsplit(capture_url)
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._relay, "127.0.0.1", 0, ssl=self._context)
        )
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, name="hookline https", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._server.close()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            capture_reader, capture_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:  # Hookline has ended
            writer.close()
            return
        try:
            await asyncio.gather(_copy(reader, capture_writer), _copy(capture_reader, writer))
        finally:
            capture_writer.close()
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the end, which is passed on."""
    with suppress(OSError):  # TLS errors too
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
