"""Methods that are declared once for both clients: each is written as what it asks of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from hookline.calls import Call, Pages, Steps

if TYPE_CHECKING:
    from hookline.client.async_transport import AsyncTransport
    from hookline.transport import Transport

P = ParamSpec("P")
T = TypeVar("T")


class _Owner:
    @property
    def asked(self) -> type[Self]:
        """Its methods return what they ask: a call that is not made, or a list that is not read."""
        return type(self)


class Blocking(_Owner):
    """What the methods of `Client` belong to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Asynchronous(_Owner):
    """What the methods of `AsyncClient` belong to."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport


class Method(Generic[P, T]):
    """Makes a call, or several. Of the class, in place of an object, it returns the call."""

    def __init__(self, asked: Callable[Concatenate[Any, P], Call[T] | Steps[T]]) -> None:
        @wraps(asked)
        def method(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
            return owner._transport.run(asked(owner, *args, **kwargs))

        self._asked, self._method = asked, method

    @overload
    def __get__(self, owner: None, kind: Any) -> Callable[P, Call[T]]: ...

    @overload
    def __get__(self, owner: Blocking, kind: Any) -> Callable[P, T]: ...

    @overload
    def __get__(self, owner: Asynchronous, kind: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, owner: Any, kind: Any) -> Any:
        return partial(self._asked, None) if owner is None else MethodType(self._method, owner)


class ListMethod(Generic[P, T]):
    """Reads a list. Of the class, in place of an object, it returns what is to be read."""

    def __init__(self, asked: Callable[Concatenate[Any, P], Pages[T]]) -> None:
        @wraps(asked)
        def method(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return owner._transport.items(asked(owner, *args, **kwargs))

        self._asked, self._method = asked, method

    @overload
    def __get__(self, owner: None, kind: Any) -> Callable[P, Pages[T]]: ...

    @overload
    def __get__(self, owner: Blocking, kind: Any) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, owner: Asynchronous, kind: Any) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, owner: Any, kind: Any) -> Any:
        return partial(self._asked, None) if owner is None else MethodType(self._method, owner)
