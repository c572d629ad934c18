from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jsii
from aws_cdk import (
    Annotations,
    AssetHashType,
    BundlingOptions,
    BundlingOutput,
    DockerImage,
    Duration,
    ILocalBundling,
    Stack,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.bundle import AWS_PYTHON, ROOT, TRACING_GROUP, Bundle, BundlingFailed, build, digest, requirements_of
from infra.components.log import Log
from infra.settings import Environment


class PythonFunction(Construct):
    """A function on arm64 made from one bundle, with a role of its own that may write its log and nothing else."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        source: Bundle,
        handler: str,
        variables: Mapping[str, str],
        timeout: Duration,
        memory_mb: int,
        environment: Environment,
        reserved_concurrency: int | None = None,
        snap_start: bool = False,
        is_traced: bool = False,
    ) -> None:
        """`is_traced`: by its own code too, where the environment traces."""
        super().__init__(scope, construct_id)
        if is_traced and environment.tracing is not None:
            source = replace(source, also=(TRACING_GROUP,))
        log = Log(self, "Log", environment=environment)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log.allow_writing(self.role)
        with _unwrapped_failures() as bundling_failures:
            self.function = lambda_.Function(
                self,
                "Function",
                runtime=lambda_.Runtime.PYTHON_3_13,
                architecture=lambda_.Architecture.ARM_64,
                code=_code(self, source, bundling_failures, is_emulated=environment.is_emulated),
                handler=handler,
                role=self.role,
                log_group=log.group,
                environment={**variables, "PYTHONTZPATH": ""},
                timeout=timeout,
                memory_size=memory_mb,
                reserved_concurrent_executions=reserved_concurrency,
                snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snap_start else None,
                tracing=_tracing(environment, is_traced=is_traced),
            )
        _acknowledge_runtime(self.function)


def published(function: lambda_.Function) -> lambda_.IFunction:
    """The alias that callers use; SnapStart restores published versions only."""
    Annotations.of(function).acknowledge_warning(
        "@aws-cdk/aws-lambda:snapStartRequirePublish", "the alias below points to a published version"
    )
    return lambda_.Alias(function, "Live", alias_name="live", version=function.current_version)


def _tracing(environment: Environment, *, is_traced: bool) -> lambda_.Tracing | None:
    """Lambda's own part of a trace, such as cold starts, where spans go to the same place."""
    is_active = is_traced and environment.tracing is not None and environment.tracing.is_sent_to_aws
    return lambda_.Tracing.ACTIVE if is_active else None


def _acknowledge_runtime(function: lambda_.Function) -> None:
    acknowledge(
        function,
        "AwsSolutions-L1",
        f"Python {AWS_PYTHON} is what the images run and what the wheels of the lock are for; all three rise together",
    )


@contextmanager
def _unwrapped_failures() -> Iterator[list[BundlingFailed]]:
    """What bundling raises passes through CDK, which turns it into a page of text: raise the failure itself."""
    failures: list[BundlingFailed] = []
    try:
        yield failures
    except RuntimeError:
        if failures:
            raise failures[0] from None
        raise


@jsii.implements(ILocalBundling)
class _Bundling:
    """Fills the directory that CDK stages; CDK skips it when it has staged a bundle of this digest before."""

    def __init__(self, source: Bundle, requirements: str, failures: list[BundlingFailed], *, is_emulated: bool) -> None:
        self._source = source
        self._requirements = requirements
        self._failures = failures
        self._is_emulated = is_emulated

    def try_bundle(self, output_dir: str, *, image: DockerImage, **_options: object) -> bool:  # noqa: ARG002 - CDK's
        try:
            build(self._source, self._requirements, Path(output_dir), is_emulated=self._is_emulated)
        except BundlingFailed as failure:
            self._failures.append(failure)
            raise
        return True


def _code(scope: Construct, source: Bundle, failures: list[BundlingFailed], *, is_emulated: bool) -> lambda_.AssetCode:
    # Where CDK only looks at the stacks, as in `cdk ls` and in tests, nothing is read and the name suffices.
    is_bundled = Stack.of(scope).bundling_required
    requirements = requirements_of(source) if is_bundled else ""
    return lambda_.Code.from_asset(
        str(ROOT),
        asset_hash=digest(source, requirements, is_emulated=is_emulated) if is_bundled else source.group,
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(
            # CDK demands an image for the case that bundling here fails; ours raises instead of asking Docker.
            image=DockerImage.from_registry("docker-is-not-used"),
            local=_Bundling(source, requirements, failures, is_emulated=is_emulated),
            output_type=BundlingOutput.NOT_ARCHIVED,
        ),
    )
