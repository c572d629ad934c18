"""Where spans go: to the OTLP endpoint of X-Ray, signed with the host's own credentials, or to a collector.

No agent beside the task and no layer beside the function: X-Ray takes spans by HTTPS, with identifiers as W3C has them
(its Transaction Search must be on: RUNBOOK.md).
"""

from __future__ import annotations

from urllib.parse import urlsplit

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import get_session
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

_XRAY = "xray"
#: With all tries. What cannot be sent within this is dropped: a request that is traced waits so long at most.
_TIMEOUT_SECONDS = 1.0
#: Signed as they are; the others are changed on the way, or by the client.
_SIGNED = ("content-type", "content-encoding")


class _SignedByUs(requests.auth.AuthBase):
    def __init__(self, region: str) -> None:
        self._region = region
        self._session = get_session()

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        headers = {name: request.headers[name] for name in _SIGNED if name in request.headers}
        signed = AWSRequest(method=request.method, url=request.url, data=request.body, headers=headers)
        # Asked for each time: the credentials of a role are renewed. Without any, the refusal says what is wrong.
        credentials = self._session.get_credentials()
        if credentials is not None:
            SigV4Auth(credentials, _XRAY, self._region).add_auth(signed)
            request.headers.update(dict(signed.headers))
        return request


def provider_of(*, endpoint: str, service: str, deployment: str, share: float, region: str) -> TracerProvider:
    """`share` of what begins here is sampled; what others began is sampled as they decided."""
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(share)),
        resource=Resource.create({"service.name": f"carillon-{service}", "service.namespace": deployment}),
    )
    provider.add_span_processor(BatchSpanProcessor(exporter_to(endpoint, region=region)))
    return provider


def exporter_to(endpoint: str, *, region: str) -> OTLPSpanExporter:
    session = requests.Session()
    if (urlsplit(endpoint).hostname or "").startswith(f"{_XRAY}."):
        session.auth = _SignedByUs(region)
    return OTLPSpanExporter(endpoint=endpoint, timeout=_TIMEOUT_SECONDS, compression=Compression.Gzip, session=session)
