"""Addresses and networks as filters take them."""

from __future__ import annotations

import ipaddress


def read_network(text: str) -> str | None:
    """An address or a network in its usual spelling; None when it is neither."""
    try:
        if "/" in text:
            return str(ipaddress.ip_network(text, strict=False))
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
