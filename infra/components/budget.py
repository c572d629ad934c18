from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import aws_budgets as budgets
from constructs import Construct

from infra.governance import DEPLOYMENT_TAG
from infra.settings import Environment

#: Of the budget, in percent: of what was spent, and of what the month will come to.
SPENT, FORESEEN = 80, 100


def add_budget(scope: Construct, environment: Environment, *, deployments: Iterable[str]) -> None:
    """An e-mail when what has these tags costs more in a month than it should; none where nobody is to be told.

    AWS tells costs apart by tags once somebody has activated them: RUNBOOK.md, "The budget".
    """
    if environment.alarm_email is None or not environment.monthly_budget:
        return
    address = budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=environment.alarm_email)
    budgets.CfnBudget(
        scope,
        "Budget",
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=budgets.CfnBudget.SpendProperty(amount=environment.monthly_budget, unit="USD"),
            cost_filters={"TagKeyValue": [f"user:{DEPLOYMENT_TAG}${each}" for each in deployments]},
        ),
        notifications_with_subscribers=[
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    notification_type=kind, comparison_operator="GREATER_THAN", threshold=percent
                ),
                subscribers=[address],
            )
            for kind, percent in (("ACTUAL", SPENT), ("FORECASTED", FORESEEN))
        ],
    )
