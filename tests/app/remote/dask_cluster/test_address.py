"""Which addresses are refused, and what is said of one where no scheduler is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.remote.contract import CarrierError
from app.remote.dask_cluster.address import Unreached, parse_address, reach


def test_a_port_is_dasks_unless_one_is_given() -> None:
    assert str(parse_address("tls://scheduler")) == "tls://scheduler:8786"
    assert str(parse_address("tls://[2001:db8::1]:9")) == "tls://[2001:db8::1]:9"


@pytest.mark.parametrize(
    "text", ["tcp://localhost:8786", "tcp://127.0.0.1", "tcp://127.9.9.9:1", "tcp://[::1]:8786"]
)
def test_a_plain_address_of_this_machine_is_taken(text: str) -> None:
    assert not parse_address(text).encrypted


@pytest.mark.parametrize(
    "text", ["tcp://10.0.0.1:8786", "tcp://scheduler", "tcp://0.0.0.0:8786", "tcp://[2001:db8::1]"]
)
def test_a_plain_address_of_another_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(CarrierError, match=r"run code there.*unpickles.*--insecure-cluster"):
        parse_address(text)
    assert not parse_address(text, insecure=True).encrypted


@pytest.mark.parametrize(
    "text",
    ["", "scheduler:8786", "http://a:1", "tls://", "tls://a:x", "tls://a:99999", "inproc://a"],
)
def test_what_is_no_address_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(CarrierError, match="write it as tls://HOST:8786"):
        parse_address(text)


def test_nothing_that_listens() -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        with pytest.raises(Unreached, match=r"no scheduler is at .*refused.*dask scheduler"):
            reach(parse_address(f"tcp://127.0.0.1:{bound_socket.getsockname()[1]}"), None)


def test_no_such_machine() -> None:
    with pytest.raises(CarrierError, match=r"no machine is called 'nowhere\.invalid'"):
        reach(parse_address("tls://nowhere.invalid"), None)


@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH_9.6\r\n", b"", b"HTTP/1.1 400 Bad\r\n\r\n"])
def test_another_server(greeting: bytes) -> None:
    with _server(greeting) as port, pytest.raises(CarrierError, match="is no Dask scheduler"):
        reach(parse_address(f"tcp://127.0.0.1:{port}"), None)


def test_a_server_that_says_nothing() -> None:
    with _server(None) as port, pytest.raises(CarrierError, match=r"sent nothing for 0\.3 s"):
        reach(parse_address(f"tcp://127.0.0.1:{port}"), None, within_s=0.3)


@contextmanager
def _server(greeting: bytes | None) -> Iterator[int]:
    """One that says this to whoever comes and goes, or for None says nothing and stays."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        stop_event = threading.Event()

        def serve() -> None:
            stream, _ = listening.accept()
            with stream:
                if greeting is None:
                    stop_event.wait(30)
                else:
                    stream.sendall(greeting)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        stop_event.set()
        thread.join()
