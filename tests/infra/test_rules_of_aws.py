"""The rule packs of others: AWS Solutions (cdk-nag) and the schemas of CloudFormation (cfn-lint)."""

from __future__ import annotations

import json

import pytest
from aws_cdk import App
from cdk_nag import AwsSolutionsChecks
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

from infra.app import compose
from tests.infra.synthesis import EVERY_SETTING, TOLD, context, synthesise

REGION = "eu-west-1"
#: CDK writes dependencies that CloudFormation would find by itself.
REDUNDANT_DEPENDENCY = "W3005"

#: `chosen` has a private network and a key of its own.
DEPLOYMENTS: dict[str, tuple[str, dict[str, object]]] = {
    "dev": ("dev", {}),
    "prod": ("prod", TOLD),
    "chosen": ("prod", EVERY_SETTING),
    "own lanes": ("prod", {**TOLD, "lanes": {"bulk": {"host": "lambda-warm", "concurrency": 5}}}),
}


@pytest.mark.parametrize(("environment", "settings"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_nothing_is_left_that_aws_solutions_would_not_do(environment: str, settings: dict[str, object]) -> None:
    app = App(context=context(environment, settings=settings))
    stacks = compose(app)
    pack = AwsSolutionsChecks(app)
    for stack in (stacks.data, stacks.service):
        found = pack.validate_scope(stack).violations
        assert [(each.rule_name, each.description) for each in found] == []


@pytest.mark.parametrize(("environment", "settings"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_cloudformation_knows_every_property_and_value(environment: str, settings: dict[str, object]) -> None:
    synthesis = synthesise(environment, **settings)
    for template in (synthesis.data, synthesis.service):
        found = lint(
            json.dumps(template.to_json()),
            config=ManualArgs(regions=[REGION], ignore_checks=[REDUNDANT_DEPENDENCY]),
        )
        assert [f"{each.rule.id} {each.message} {each.path}" for each in found] == []
