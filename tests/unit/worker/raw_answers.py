"""Answers of receivers that misbehave, and what a run makes of each."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.worker.raw_receiver import STALL, Step, close, reset

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
MOST_OUTPUT = 4_096
#: A run that is tried again waits.
AGAIN = "waiting"


@dataclass(frozen=True)
class Case:
    name: str
    steps: Sequence[Step]
    status: str = "succeeded"
    http_status: int | None = 200
    output: str | None = "mine"
    #: Of the attempt.
    error: str | None = None
    #: Of the job's target, beside its URL.
    members: dict[str, Any] = field(default_factory=dict)
    timeout_ms: int = 5_000


def head(*lines: bytes, status: bytes = b"200 OK") -> bytes:
    return b"\r\n".join((b"HTTP/1.1 " + status, *lines, b"", b""))


def unknown(name: str, *steps: Step, **changes: Any) -> Case:
    """Perhaps done: tried again."""
    return Case(name, steps, AGAIN, None, None, "outcome_unknown", **changes)


def late(name: str, *steps: Step, http_status: int | None = None) -> Case:
    return Case(name, [*steps, STALL], AGAIN, http_status, None, "timeout", timeout_ms=250)


def refused(name: str, status: int, *steps: Step, output: str | None = None, **changes: Any) -> Case:
    is_again = status >= 500 or status in {408, 425, 429}
    return Case(name, steps, AGAIN if is_again else "failed", status, output, f"http_{status // 100}xx", **changes)


def informational() -> Iterator[Case]:
    for status in (100, 102, 103, 104, 150, 199):
        line = b"HTTP/1.1 %d X\r\n\r\n" % status
        yield Case(f"{status} before", [line, OK])
        yield Case(f"{status} in one packet", [line + OK])
    yield Case("103 without a reason", [b"HTTP/1.1 103\r\nLink: </a>\r\n\r\n" + OK])
    yield Case("fifty 1xx", [EARLY * 50 + OK])
    yield Case("1xx with a length", [head(b"Content-Length: 5", status=b"103 X") + OK])
    yield Case("1xx whose headers cannot be read", [head(b"no colon", b"a\0: b", status=b"103 X") + OK])
    yield Case("1xx that says close", [head(b"Connection: close", status=b"102 X") + OK])
    yield unknown("1xx and the end", EARLY, close)
    yield unknown("1xx and a reset", EARLY, reset)
    yield unknown("1xx without end", EARLY * 101 + OK)
    yield unknown("status 099", b"HTTP/1.1 099 X\r\n\r\n" + OK)
    yield late("1xx and silence", EARLY)
    yield Case("1xx after the answer", [OK + EARLY])
    yield refused("101 that nobody asked for", 101, head(b"Upgrade: h2c", b"Connection: upgrade", status=b"101 X"), OK)
    yield refused("103 and a refusal", 500, EARLY + head(b"Content-Length: 2", status=b"500 X") + b"no", output="no")


def lengths() -> Iterator[Case]:
    yield Case("more than its length", [OK + b"extra"])
    yield Case("a second answer behind it", [OK + OK.replace(b"mine", b"evil")])
    yield Case("a second answer a moment later", [OK, OK.replace(b"mine", b"evil")])
    yield Case("less than its length, and the end", [head(b"Content-Length: 400") + b"mine", close])
    yield Case("less than its length, and a reset", [head(b"Content-Length: 400") + b"mine", reset])
    yield late("less than its length, and silence", head(b"Content-Length: 400") + b"mine", http_status=200)
    yield Case("until the end", [head() + b"mine", close])
    yield Case("HTTP/1.0 until the end", [b"HTTP/1.0 200 OK\r\n\r\nmine", close])
    yield Case("HTTP/1.0 with a length", [b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nmine"])
    yield Case("the same length twice", [head(b"Content-Length: 4", b"Content-Length: 4") + b"mine"])
    yield Case("two lengths", [head(b"Content-Length: 4", b"Content-Length: 40") + b"mine"], output=None)
    yield Case("a negative length", [head(b"Content-Length: -1") + b"mine"], output=None)
    yield Case("a length of words", [head(b"Content-Length: four") + b"mine"], output=None)
    yield Case("a length of 4,000 digits", [head(b"Content-Length: " + b"9" * 4_000) + b"mine", close], output=None)
    yield Case("204 with a body", [head(b"Content-Length: 4", status=b"204 X") + b"mine"], http_status=204, output=None)
    yield Case("a body for HEAD", [OK], output=None, members={"method": "HEAD"})
    yield Case("no body at all", [head(b"Content-Length: 0")], output=None)
    yield Case("more than is stored", [head(b"Content-Length: 9000") + b"x" * 9_000], output="x" * MOST_OUTPUT)
    yield Case("no text", [head(b"Content-Length: 2") + b"\xff\xfe"], output="\ufffd\ufffd")


def chunks() -> Iterator[Case]:
    chunked = head(b"Transfer-Encoding: chunked")
    yield Case("chunks", [chunked + b"2\r\nmi\r\n2\r\nne\r\n0\r\n\r\n"])
    yield Case("chunks with extensions and trailers", [chunked + b"4;a=b\r\nmine\r\n0\r\nX-Sum: 1\r\n\r\n"])
    yield Case(
        "chunks beside a length",
        [head(b"Content-Length: 9", b"Transfer-Encoding: chunked") + b"4\r\nmine\r\n0\r\n\r\n"],
    )
    yield Case("bytes behind the last chunk", [chunked + b"4\r\nmine\r\n0\r\n\r\nextra"])
    yield Case("a chunk of no size", [chunked + b"4\r\nmine\r\nzz\r\nevil\r\n"])
    yield Case("a chunk that is longer than it says", [chunked + b"4\r\nmineevil\r\n0\r\n\r\n"])
    yield Case("a chunk of 2^80", [chunked + b"4\r\nmine\r\nffffffffffffffffffffff\r\n"])
    yield Case("a negative chunk", [chunked + b"4\r\nmine\r\n-4\r\nevil"])
    yield Case("chunks that end early", [chunked + b"4\r\nmine\r\n", close])
    yield Case("chunks and a reset", [chunked + b"4\r\nmine\r\n", reset])
    yield Case("an encoding nobody knows", [head(b"Transfer-Encoding: rot13") + b"mine", close], output=None)
    yield Case("a chunk with an endless extension", [chunked + b"4\r\nmine\r\n0;" + b"x" * 100_000])
    yield Case("endless trailers", [chunked + b"4\r\nmine\r\n0\r\n" + b"X: y\r\n" * 50_000])
    yield late("chunks and silence", chunked + b"4\r\nmine\r\n", http_status=200)


def encodings() -> Iterator[Case]:
    text = b"mine" * 1_000_000

    def packed(encoding: bytes, body: bytes) -> list[Step]:
        return [head(b"Content-Encoding: " + encoding, b"Content-Length: %d" % len(body)) + body]

    yield Case("gzip", packed(b"gzip", gzip.compress(b"mine")))
    yield Case("x-gzip in capitals", packed(b"X-GZIP", gzip.compress(b"mine")))
    yield Case("deflate", packed(b"deflate", zlib.compress(b"mine")))
    yield Case("deflate without a frame", packed(b"deflate", zlib.compress(b"mine", wbits=-15)))
    yield Case("a bomb", packed(b"gzip", gzip.compress(text)), output="mine" * (MOST_OUTPUT // 4))
    yield Case("gzip that is cut", packed(b"gzip", gzip.compress(b"mine")[:-8]))
    yield Case("gzip that is none", packed(b"gzip", b"mine"), output="(no gzip, though the answer says so)")
    yield Case("identity", packed(b"identity", b"mine"))
    yield Case("br", packed(b"br", b"\x8b\x02\x80mine\x03"), output="(in content-encoding br, which is not decoded)")
    yield Case(
        "gzip twice", packed(b"gzip, gzip", b"x"), output="(in content-encoding gzip, gzip, which is not decoded)"
    )
    yield refused("a refusal in gzip", 503, *(
        step.replace(b"200 OK", b"503 No") if isinstance(step, bytes) else step
        for step in packed(b"gzip", gzip.compress(b"mine"))
    ), output="mine")  # fmt: skip


def heads() -> Iterator[Case]:
    length = b"Content-Length: 4"
    yield Case("200 headers", [head(*(b"X-%d: y" % each for each in range(200)), length) + b"mine"])
    yield Case("a header of 100 KB", [head(b"X-Long: " + b"y" * 100_000, length) + b"mine"])
    yield Case(
        "headers of 300 KB", [head(*(b"X-%d: %s" % (each, b"y" * 1_000) for each in range(300)), length)], output=None
    )
    yield Case("headers without end", [b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 40_000], output=None)
    yield Case("3,000 headers", [head(*[b"X: y"] * 3_000, length) + b"mine"], output=None)
    yield refused("3,000 headers of a 410", 410, head(*[b"X: y"] * 3_000, length, status=b"410 X") + b"mine")
    yield Case(
        "3,000 headers of a 103", [head(*[b"X: y"] * 3_000, status=b"103 X") + OK], AGAIN, None, None, "outcome_unknown"
    )
    yield Case("a body of blank lines", [head(b"Content-Length: 4000") + b"\n" * 4_000], output="\n" * 4_000)
    yield Case("a folded header", [head(b"X-Folded: a\r\n b\r\n\tc", length) + b"mine"])
    yield Case("a NUL in a header", [head(b"X-Nul: a\0b", length) + b"mine"], output=None)
    yield Case("a NUL in a name", [head(b"X-\0: a", length) + b"mine"], output=None)
    yield Case("a header without a colon", [head(b"nonsense", length) + b"mine"], output=None)
    yield Case("a blank before the colon", [head(b"X-A : b", length) + b"mine"], output=None)
    yield Case("a header of other bytes", [head(b"X-Utf8: \xc3\xbc\xff", length) + b"mine"])
    yield Case("a fold that continues nothing", [head(b" folded", length) + b"mine"], output=None)
    yield Case("bare line feeds", [OK.replace(b"\r\n", b"\n")])
    yield Case("no reason", [OK.replace(b" OK", b"")])
    yield Case("a reason of 1,000 bytes", [OK.replace(b" OK", b" " + b"x" * 1_000)])
    yield unknown("no HTTP", b"220 mail.example.com ESMTP\r\n", close)
    yield unknown("no HTTP and silence", b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" * 40_000)
    yield unknown("an empty line first", b"\r\n\r\n" + OK)
    yield unknown("a status of two digits", b"HTTP/1.1 20 OK\r\n\r\n", close)
    yield unknown("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n", close)
    yield refused("status 999", 999, head(b"Content-Length: 2", status=b"999 X") + b"no", output="no")
    yield refused("headers of a 410 that cannot be read", 410, head(b"a\0: b", status=b"410 Gone"))
    yield refused("headers of a 503 that cannot be read", 503, head(b"Retry-After\0: 1", status=b"503 X"))


def breaks() -> Iterator[Case]:
    answer_head, _, body = OK.partition(b"\r\n\r\n")
    whole = len(answer_head) + 4
    for sent in range(len(OK)):
        steps: list[Step] = [OK[:sent], reset]
        if sent < whole:
            yield unknown(f"a reset after byte {sent}", *steps)
        else:
            yield Case(f"a reset after byte {sent}", steps, output=body[: sent - whole].decode() or None)
    yield unknown("the end before any byte", close)
    yield unknown("the end within the head", OK[:20], close)
    yield Case("byte by byte", [OK[at : at + 1] for at in range(len(OK))])
    yield Case("an answer that does not wait for the request", [OK], members={"body": "x" * 100_000})


def slow() -> Iterator[Case]:
    yield late("silence")
    yield late("a slow status", b"HTTP/1.1 2")
    yield late("slow headers", b"HTTP/1.1 200 OK\r\nX-Slow: ")
    yield late("a slow body", head(b"Content-Length: 400"), http_status=200)
    for status in (404, 410, 503):
        start = head(b"Content-Length: 400", status=b"%d X" % status) + b"slow"
        yield refused(f"a {status} whose body does not end", status, start, STALL, output="slow", timeout_ms=400)


def retry_afters() -> Iterator[Case]:
    for number, value in enumerate((
        b"9" * 20, b"9" * 5_000, b"-1", b"1e9", b"", b"\xff", b"NaN", b"Fri, 31 Dec 9999 23:59:59 GMT",
        b"Fri, 27 Nov 99999999999999999999 00:00:00 GMT", b"Fri, 27 Nov 2026 00:00:00 +99999999", b"1, 2",
        b"0x10", b"\xd9\xa3", b"Thu, 01 Jan 1970 00:00:00 GMT", b"99999999999999999999999999999999999999 GMT",
    )):  # fmt: skip
        for status in (410, 429, 503):
            steps = [head(b"Retry-After: " + value, b"Content-Length: 2", status=b"%d X" % status) + b"no"]
            yield refused(f"{status} and Retry-After number {number}", status, *steps, output="no")


def redirects() -> Iterator[Case]:
    for status in (300, 301, 302, 303, 304, 305, 306, 307, 308, 399):
        answer = head(b"Location: /next", b"Content-Length: 0", status=b"%d X" % status)
        yield refused(f"{status}, not followed", status, answer)
    for name, location in (
        ("metadata", b"http://169.254.169.254/"), ("loopback", b"http://127.0.0.2:9/"), ("a private one", b"http://10.0.0.1/"),
    ):  # fmt: skip
        answer = head(b"Location: " + location, b"Content-Length: 0", status=b"307 X")
        yield Case(f"to {name}", [answer], "failed", None, None, "refused_address", {"max_redirects": 5})
    for location in (
        b"",
        b"file:///etc/passwd",
        b"http://",
        b"http://a b/",
        b"http://[",
        b"//\xc3\xbc.example/",
        b"http://u:p@x/",
    ):
        answer = head(b"Location: " + location, b"Content-Length: 0", status=b"307 X")
        yield refused(f"to {location!r}", 307, answer, members={"max_redirects": 5})
    yield refused("to nowhere", 307, head(b"Content-Length: 0", status=b"307 X"), members={"max_redirects": 5})


CASES = [
    case
    for cases in (
        informational, lengths, chunks, encodings, heads, breaks, slow, retry_afters, redirects,
    )
    for case in cases()
]  # fmt: skip
