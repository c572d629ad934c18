"""A queue that takes everything at once: SendMessageBatch of SQS over HTTP, as a raw protocol in a process of its own.

It reads as much as it must to answer: where a request ends, and how many messages are in it. It answers at once, or as
late as SQS would.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.outcome import ROOT

MOST = 10
END_OF_HEAD = b"\r\n\r\n"


def answer(count: int) -> bytes:
    taken = [
        {"Id": str(number), "MessageId": f"00000000-0000-0000-0000-{number:012d}", "MD5OfMessageBody": "0" * 32}
        for number in range(count)
    ]
    body = json.dumps({"Successful": taken}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


#: By how many messages were sent.
ANSWERS = [answer(count) for count in range(MOST + 1)]


class Taker(asyncio.Protocol):
    def __init__(self, latency_ms: float) -> None:
        self._latency_seconds = latency_ms / 1000
        self._transport = asyncio.Transport()
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while (head_end := self._rest.find(END_OF_HEAD)) >= 0:
            head = self._rest[:head_end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            begin, end = head_end + len(END_OF_HEAD), head_end + len(END_OF_HEAD) + length
            if len(self._rest) < end:
                return
            # A body inside a body has its quotes escaped.
            self._answer(ANSWERS[self._rest.count(b'"MessageBody":', begin, end)])
            self._rest = self._rest[end:]

    def _answer(self, data: bytes) -> None:
        if self._latency_seconds:
            asyncio.get_running_loop().call_later(self._latency_seconds, self._transport.write, data)
        else:
            self._transport.write(data)


async def serve(latency_ms: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Taker(latency_ms), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@contextmanager
def sqs_stub(*, latency_ms: float = 0) -> Iterator[str]:
    """Its endpoint."""
    command = [sys.executable, "-P", "-m", "tests.benchmarks.rig.sqs_stub", str(latency_ms)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
