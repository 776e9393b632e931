"""A real Chroma server for the whole session."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def chroma_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a server on a loopback port of its own."""
    folder, port = tmp_path_factory.mktemp("chroma-server"), free_port()
    chroma = str(Path(sys.executable).with_name("chroma"))
    where = ["--host", "127.0.0.1", "--port", str(port), "--path", str(folder)]
    with (folder / "output").open("w") as output:
        server = subprocess.Popen([chroma, "run", *where], stdout=output, stderr=output)
    try:
        yield _connected(server, port)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _connected(server: subprocess.Popen[bytes], port: int) -> Any:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            return chromadb.HttpClient(host="127.0.0.1", port=port)
        except ValueError:
            time.sleep(0.1)
    pytest.fail("the Chroma server did not start")
