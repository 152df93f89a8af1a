"""The socket comes first, and it lets nobody in by mistake."""

import socket
from contextlib import closing

import pytest

from app.listener import CannotListen, PortTaken, listener_url, open_listener, require_keys_beyond_loopback
from app.settings import Settings


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"Port {port} of 127.0.0.1 is taken"):
            open_listener("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(CannotListen, match=r"Cannot listen on 192\.0\.2\.1"):
        open_listener("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "start"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:"), ("localhost", "http://")]
)
def test_the_address_can_be_called_from_this_machine(host, start):
    with closing(open_listener(host, 0)) as listener:
        assert listener_url(listener).startswith(start)


@pytest.mark.parametrize(
    ("host", "settings", "allowed"),
    [
        ("127.0.0.1", {}, True),
        ("0.0.0.0", {}, False),
        ("0.0.0.0", {"auth_mode": "dev", "root_key": "secret"}, False),
        ("0.0.0.0", {"root_key": "secret"}, True),
        ("0.0.0.0", {"auth_mode": "api_key"}, True),
        ("0.0.0.0", {"auth_mode": "trusted"}, True),
    ],
)
def test_without_keys_only_loopback_is_open(host, settings, allowed):
    with closing(open_listener(host, 0)) as listener:
        if allowed:
            require_keys_beyond_loopback(Settings(**settings), listener)
        else:
            with pytest.raises(CannotListen, match="CAIRN_ROOT_KEY"):
                require_keys_beyond_loopback(Settings(**settings), listener)
