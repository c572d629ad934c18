"""All alarms, the topic that they tell, and the one alarm that a person can be woken by."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.components.alarm_rules import ON_DUTY, Rule, Watched, firing_rules
from infra.components.platform_rules import platform_rules
from infra.settings import Environment

_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


class Alarms(Construct):
    """All of them publish to one topic, which other systems may subscribe to as well."""

    def __init__(
        self, scope: Construct, construct_id: str, *, watched: Watched, environment: Environment, key: kms.IKey | None
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=not environment.is_emulated)
        if not environment.is_emulated:
            self._admit_alarms()
        if environment.alarm_email is not None:
            self.topic.add_subscription(subscriptions.EmailSubscription(environment.alarm_email))
        self._action = actions.SnsAction(self.topic)
        on_duty = []
        for rule in (*firing_rules(watched, environment), *platform_rules(watched)):
            is_math = isinstance(rule.metric, cloudwatch.MathExpression)
            # The emulator takes no alarm on an expression.
            if is_math and environment.is_emulated:
                continue
            alarm = self._add(rule)
            if rule.is_duty:
                on_duty.append(alarm)
        if not environment.is_emulated:
            self._add_duty(on_duty)

    def _admit_alarms(self) -> None:
        """A policy of the topic, such as that for TLS, takes the place of the one by which its account may publish."""
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )

    def _add(self, rule: Rule) -> cloudwatch.Alarm:
        missing = cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            rule.construct_id,
            alarm_description=rule.description,
            metric=rule.metric,
            threshold=rule.threshold,
            comparison_operator=_BELOW if rule.is_floor else _ABOVE,
            datapoints_to_alarm=rule.points,
            evaluation_periods=rule.of,
            treat_missing_data=missing.BREACHING if rule.is_floor else missing.NOT_BREACHING,
        )
        self._tell(alarm)
        return alarm

    def _add_duty(self, alarms: list[cloudwatch.Alarm]) -> None:
        """The one to be woken by."""
        rings = [cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM) for alarm in alarms]
        self.duty = cloudwatch.CompositeAlarm(
            self, "Duty", alarm_description=ON_DUTY, alarm_rule=cloudwatch.AlarmRule.any_of(*rings)
        )
        self._tell(self.duty)

    def _tell(self, alarm: cloudwatch.AlarmBase) -> None:
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
