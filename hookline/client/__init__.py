"""A client of a running Hookline, for any program: `Client`, and `AsyncClient` for asyncio.

    from hookline.client import Client

    with Client.connect() as client:
        endpoint = client.endpoints.create("Orders")
        for summary in client.requests.list(endpoint.slug, q="method:POST"):
            print(summary.received_at, client.requests.get(summary.id).json())

The distribution is called hookline, and so is this package. The program itself is the package `app`, which is not meant
to be imported by others.
"""

from hookline.calls import Call
from hookline.client.client import AsyncClient, Client
from hookline.client.events import Event
from hookline.errors import ApiError, FieldProblem, NotFoundError, ProblemError, UnreachableError, WaitTimeoutError
from hookline.headers import Headers
from hookline.records import (
    Attempt,
    Delivery,
    DeliverySummary,
    Endpoint,
    EndpointChange,
    FullDelivery,
    FullReplay,
    Gap,
    Refusal,
    Replay,
    ReplayedRequest,
    Request,
    Status,
    Summary,
    Target,
    TunnelChange,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "Attempt",
    "Call",
    "Client",
    "Delivery",
    "DeliverySummary",
    "Endpoint",
    "EndpointChange",
    "Event",
    "FieldProblem",
    "FullDelivery",
    "FullReplay",
    "Gap",
    "Headers",
    "NotFoundError",
    "ProblemError",
    "Refusal",
    "Replay",
    "ReplayedRequest",
    "Request",
    "Status",
    "Summary",
    "Target",
    "TunnelChange",
    "UnreachableError",
    "WaitTimeoutError",
]
