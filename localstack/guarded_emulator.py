"""MiniStack behind a guard that refuses what a web page sends.

The emulator answers every Host and every Origin, and whoever reaches it may run code as the developer who started it:
a page in the developer's browser could call it by fetch, by a form, by an image, or by a host name of its own that
leads to the loopback address (DNS rebinding). Programs on this machine name the loopback address as their host and send
no Origin. So does the emulator's own origin, from which the API serves its pages.

Run as a module, this starts the emulator as `python -m ministack` does; `app` is the guarded application for another
server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

EMULATOR = "ministack.app"
#: The names of the one address that the emulator listens on.
OWN_HOSTS = frozenset(("127.0.0.1", "localhost"))
#: What a browser says of a request that its own page, or its user, made.
OWN_SITES = frozenset(("same-origin", "none"))
#: Below it, the HTTP API answers, which asks for a key: a link to one of its pages may stand anywhere.
API_PATH = "/_aws/execute-api/"
SHARING_HEADERS = b"access-control-"


def refusal_of(method: str, path: str, headers: Mapping[str, str]) -> str | None:
    """Why a request is refused, by its headers with names in lower case; None where it may pass."""
    host = headers.get("host", "")
    if _name_of(f"//{host}") not in OWN_HOSTS:
        return f"this emulator answers to its loopback address alone, not to the host {host!r}"
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return f"this emulator takes no request of a page from {origin!r}"
    site = headers.get("sec-fetch-site", "none")
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and path.startswith(API_PATH)
    if site not in OWN_SITES and not is_link:
        return f"this emulator takes no request of a page of another site ({site})"
    return None


def guarded(application: Application) -> Application:
    """The application for requests that `refusal_of` lets pass, without headers that share its answers with pages."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await application(scope, receive, send)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = refusal_of(scope.get("method", "GET"), scope["path"], headers)
        if refused is None:
            return await application(scope, receive, _unshared(send))
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        body = f"{refused}\n".encode()
        plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 403, "headers": plain})
        return await send({"type": "http.response.body", "body": body})

    return guard


def _unshared(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if "headers" in message:
            kept = [each for each in message["headers"] if not each[0].lower().startswith(SHARING_HEADERS)]
            message = {**message, "headers": kept}
        await send(message)

    return sent


def _name_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def __getattr__(name: str) -> Application:
    """`app`, made when a server asks for it: importing the emulator takes a second, and this module has other uses."""
    if name != "app":
        raise AttributeError(name)
    emulator = import_module(EMULATOR)

    return guarded(emulator.app)


def main() -> None:
    emulator: Any = import_module(EMULATOR)
    emulator.app = guarded(emulator.app)
    # With TLS it would listen on 443 as well, where it may; there is no setting for that.
    emulator._port_is_bindable = lambda *_: False  # noqa: SLF001
    emulator.main()


if __name__ == "__main__":
    main()
