"""The load generator against the bare server: its numbers can be trusted before any ratio is made of them."""

from __future__ import annotations

import json
import socket
import time
from threading import Thread

import pytest

from benchmarks.load import BODY, BadAnswerError, load, main
from benchmarks.programs import bare


@pytest.fixture
def url(tmp_path):
    with bare(tmp_path) as url:
        yield url


def test_the_body_is_400_bytes_of_json():
    assert len(BODY) == 400
    assert json.loads(BODY)


def test_it_loads_a_bare_server_as_fast_as_it_answers(url, capsys):
    assert main([url, "--connections", "4", "--seconds", "0.3"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["requests"] > 50
    assert result["rate"] == pytest.approx(result["requests"] / result["seconds"], rel=0.01)
    assert 0 < result["p50_ms"] <= result["p99_ms"] <= result["max_ms"]


def test_it_keeps_the_pace_it_is_given_and_ends_early_when_told(url):
    result = load(url, connections=4, seconds=0.5, rate=100)
    assert 45 <= result.requests <= 51
    assert load(url, seconds=30, rate=100, enough=lambda: True).requests == 0


def test_an_answer_other_than_200_is_an_error(url, capsys):
    with pytest.raises(BadAnswerError, match="404"):
        load(url + "/nowhere", connections=1, seconds=0.2)
    assert main([url + "/nowhere", "--seconds", "0.2"]) == 1
    assert "404" in capsys.readouterr().err


def test_answers_in_small_pieces_are_put_together():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while data := connection.recv(65536):
                    if data.endswith(b'"}'):
                        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok":
                            connection.send(bytes([byte]))

        thread = Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        assert load(f"http://127.0.0.1:{port}/x", connections=1, seconds=0.2).requests > 0
        thread.join(5)


def test_a_pace_that_was_not_kept_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while connection.recv(65536):
                    time.sleep(0.05)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

        thread = Thread(target=serve)
        thread.start()
        with pytest.raises(BadAnswerError, match="requests a second were answered, of 1000"):
            load(f"http://127.0.0.1:{server.getsockname()[1]}/x", connections=1, seconds=0.2, rate=1_000)
        thread.join(5)
