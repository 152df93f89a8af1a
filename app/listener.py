"""The socket that the API listens on: opened first, so that a taken port is said before anything is started."""

import errno
import ipaddress
import socket
from typing import Final

from app.domain.errors import AppError, Conflict
from app.settings import Settings

BACKLOG: Final = 2048


class PortTaken(Conflict):
    """Another program listens on this port."""


class CannotListen(AppError):
    """The address is not one of this machine, or it may not be used."""

    code = "UNAVAILABLE"


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on host and port; port 0 takes a free one.

    Raises: PortTaken, CannotListen.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise CannotListen(f"There is no address {host}: {error.strerror}. Give another one with --host.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} of {host} is taken by another program. Give another one with --port or CAIRN_PORT."
            ) from error
        raise CannotListen(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    return listener


def listener_url(listener: socket.socket) -> str:
    """Return the address under which this machine itself reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


def require_keys_beyond_loopback(settings: Settings, listener: socket.socket) -> None:
    """Refuse to let the network in where nobody needs a key. Raises: CannotListen."""
    mode = settings.auth_mode or ("api_key" if settings.root_key else "dev")
    host = str(listener.getsockname()[0])
    if mode == "dev" and not ipaddress.ip_address(host).is_loopback:
        raise CannotListen(
            f"Without keys Cairn listens on this machine only, and {host} is open to the network. Set CAIRN_ROOT_KEY, "
            "so that every request needs a key, or CAIRN_AUTH_MODE=trusted behind a gateway that names the tenant."
        )
