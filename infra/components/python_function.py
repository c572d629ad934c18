from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jsii
from aws_cdk import AssetHashType, BundlingOptions, BundlingOutput, DockerImage, Duration, ILocalBundling, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundle import ROOT, Bundle, build, digest, requirements_of
from infra.components.log import Log
from infra.environments import Environment


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
    ) -> None:
        super().__init__(scope, construct_id)
        log = Log(self, "Log", environment=environment)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log.allow_writing(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            code=_code(self, source, is_emulated=environment.is_emulated),
            handler=handler,
            role=self.role,
            log_group=log.group,
            environment={**variables, "PYTHONTZPATH": ""},
            timeout=timeout,
            memory_size=memory_mb,
            reserved_concurrent_executions=reserved_concurrency,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snap_start else None,
        )


@jsii.implements(ILocalBundling)
class _Bundling:
    """Fills the directory that CDK stages; CDK skips it when it has staged a bundle of this digest before."""

    def __init__(self, source: Bundle, requirements: str, *, is_emulated: bool) -> None:
        self._source = source
        self._requirements = requirements
        self._is_emulated = is_emulated

    def try_bundle(self, output_dir: str, *, image: DockerImage, **_options: object) -> bool:  # noqa: ARG002 - CDK's
        build(self._source, self._requirements, Path(output_dir), is_emulated=self._is_emulated)
        return True


def _code(scope: Construct, source: Bundle, *, is_emulated: bool) -> lambda_.AssetCode:
    bundling_required = Stack.of(scope).bundling_required
    requirements = requirements_of(source) if bundling_required else ""
    return lambda_.Code.from_asset(
        str(ROOT),
        # Where CDK only looks at the stacks, as in `cdk ls` and in tests, nothing is read and the name suffices.
        asset_hash=digest(source, requirements, is_emulated=is_emulated) if bundling_required else source.group,
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(
            # CDK demands an image for the case that bundling here fails; ours raises instead of asking Docker.
            image=DockerImage.from_registry("docker-is-not-used"),
            local=_Bundling(source, requirements, is_emulated=is_emulated),
            output_type=BundlingOutput.NOT_ARCHIVED,
        ),
    )
