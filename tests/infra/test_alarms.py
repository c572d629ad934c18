"""What wakes somebody, and what it tells them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from carillon.cli import parser_of
from functions.worker.protection import PATIENCE_MS
from infra.components.alarm_rules import RUNBOOK, anchor_of
from shared.domain.timing import Timing
from shared.observability.metrics import UNITS
from shared.schema import LANES
from tests.infra.synthesis import Properties, Synthesis, only, synthesise

ROOT = Path(__file__).parents[2]


def alarms(synthesis: Synthesis) -> dict[str, Properties]:
    """Those that wake somebody; scaling has others of its own."""
    found = synthesis.of_type("AWS::CloudWatch::Alarm")
    if synthesis.service.find_resources("AWS::CloudWatch::CompositeAlarm"):
        found |= synthesis.of_type("AWS::CloudWatch::CompositeAlarm")
    return {name: alarm for name, alarm in found.items() if RUNBOOK in alarm.get("AlarmDescription", "")}


def at(synthesis: Synthesis, heading: str) -> list[Properties]:
    wanted = f"{RUNBOOK}#{anchor_of(heading)}"
    return [alarm for alarm in alarms(synthesis).values() if alarm["AlarmDescription"].endswith(wanted)]


def paragraphs() -> dict[str, str]:
    """The text below each heading of the part about alarms, by its anchor."""
    text = (ROOT / RUNBOOK).read_text().split("\n# Alarms\n")[1].split("\n# ")[0]
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {anchor_of(heading): body.strip() for heading, body in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("environment", ["local", "dev", "prod"])
def test_every_alarm_leads_to_a_paragraph_that_says_what_to_do(
    request: pytest.FixtureRequest, environment: str
) -> None:
    known = paragraphs()
    for alarm in alarms(request.getfixturevalue(environment)).values():
        sentence, _, link = alarm["AlarmDescription"].rpartition(" ")
        assert sentence.endswith(".")
        assert len(known[link.partition("#")[2]]) > 100


def test_no_paragraph_is_about_an_alarm_that_is_gone(prod: Synthesis) -> None:
    linked = {alarm["AlarmDescription"].rpartition("#")[2] for alarm in alarms(prod).values()}

    assert set(paragraphs()) == linked


def commands(paragraph: str) -> list[str]:
    """Those that it begins with."""
    lines = itertools.takewhile(lambda line: line.startswith("    "), paragraph.splitlines())
    return [line.strip() for line in lines]


@pytest.mark.parametrize("heading", sorted(paragraphs()))
def test_a_paragraph_begins_with_the_first_commands_to_type(prod: Synthesis, heading: str) -> None:
    outputs = set(prod.service.to_json()["Outputs"])
    typed = commands("    " + paragraphs()[heading])

    assert len(typed) == 3
    for command in typed:
        assert set(re.findall(r"\$\(out (\w+)\)", command)) <= outputs
        if command.startswith("carillon "):
            _, *arguments = command.split()
            parser_of({}).parse_args(arguments)


def test_one_alarm_is_there_to_be_woken_by(prod: Synthesis) -> None:
    duty = only(list(prod.of_type("AWS::CloudWatch::CompositeAlarm").values()))

    rule = json.dumps(duty["AlarmRule"])
    for heading in ("NoBeat", "UnownedShards", "NoProgress", "LostFires", "QueueAgeDefault", "ServerErrorsOfTheApi"):
        assert heading in rule
    assert "Catchup" not in rule
    assert duty["AlarmActions"] == duty["OKActions"]


def test_lost_events_ring_whoever_lost_them(prod: Synthesis) -> None:
    alarm = only(at(prod, "Events lost"))

    dimensions = {
        tuple(sorted(each["Value"] for each in metric["MetricStat"]["Metric"]["Dimensions"]))
        for metric in alarm["Metrics"]
        if "MetricStat" in metric
    }
    assert dimensions == {("scheduler",), ("api",), ("dead_letters",), ("ecs", "worker"), ("lambda", "worker")}
    assert not at(synthesise("dev", events="none"), "Events lost")


def test_no_alarm_has_more_metrics_than_cloudwatch_takes(prod: Synthesis, chosen: Synthesis) -> None:
    for synthesis in (prod, chosen):
        for alarm in alarms(synthesis).values():
            assert len([each for each in alarm.get("Metrics", ()) if "MetricStat" in each]) <= 10
    assert len(at(prod, "Table throttles")) == 3


def test_who_tries_keys_rings(prod: Synthesis) -> None:
    alarm = only(at(prod, "Unknown keys"))

    assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == ("refused_keys", "Sum", 300)
    assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (500, 2)


def test_a_worker_that_is_replaced_rings_before_cloudformation_gives_up(prod: Synthesis) -> None:
    alarm = only(at(prod, "Replacement stuck"))

    assert alarm["MetricName"] == "superseded"
    assert alarm["Threshold"] < PATIENCE_MS < 180 * 60_000


def test_the_bill_of_a_deployment_has_a_budget(prod: Synthesis, dev: Synthesis) -> None:
    budget = only(list(prod.of_type("AWS::Budgets::Budget").values()))
    spent, foreseen = budget["NotificationsWithSubscribers"]

    assert budget["Budget"]["BudgetLimit"] == {"Amount": 100, "Unit": "USD"}
    assert [each["Notification"]["NotificationType"] for each in (spent, foreseen)] == ["ACTUAL", "FORECASTED"]
    assert {each["Address"] for each in spent["Subscribers"] + foreseen["Subscribers"]} == {"ops@example.com"}
    tags = {each.removeprefix("user:carillon$") for each in budget["Budget"]["CostFilters"]["TagKeyValue"]}
    for template in (prod.data, prod.service):
        text = json.dumps(template.to_json())
        assert any(json.dumps({"Key": "carillon", "Value": tag}) in text for tag in tags)
    assert not dev.service.find_resources("AWS::Budgets::Budget")
    assert not synthesise("prod", monthly_budget=0).service.find_resources("AWS::Budgets::Budget")


def test_every_alarm_tells_one_topic_when_it_rings_and_when_it_is_over(chosen: Synthesis) -> None:
    topic = only(list(chosen.of_type("AWS::SNS::Topic")))
    for alarm in alarms(chosen).values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
    subscription = only(list(chosen.of_type("AWS::SNS::Subscription").values()))
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.com")


def test_without_an_address_nobody_is_told_but_the_topic_is_there(dev: Synthesis) -> None:
    [topic] = dev.service.find_resources("AWS::SNS::Topic")
    assert not dev.service.find_resources("AWS::SNS::Subscription")
    assert dev.service.to_json()["Outputs"]["AlarmTopic"]["Value"] == {"Ref": topic}


def test_one_lost_fire_rings(prod: Synthesis) -> None:
    alarm = only(at(prod, "Lost fires"))

    assert (alarm["MetricName"], alarm["Statistic"]) == ("lost", "Sum")
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
    assert (alarm["EvaluationPeriods"], alarm["TreatMissingData"]) == (1, "notBreaching")


def test_drift_is_judged_by_its_99th_percentile_on_each_host_in_use(chosen: Synthesis, prod: Synthesis) -> None:
    both = at(chosen, "Drift over the objective")
    hosts = {each["Value"] for alarm in both for each in alarm["Dimensions"] if each["Name"] == "host"}

    assert hosts == {"lambda", "ecs"}
    assert {(alarm["ExtendedStatistic"], alarm["Threshold"]) for alarm in both} == {("p99", 250)}
    assert only(at(prod, "Drift over the objective"))["Threshold"] == 1500


def test_silence_of_all_nodes_rings(prod: Synthesis) -> None:
    alarm = only(at(prod, "No beat"))

    assert (alarm["TreatMissingData"], alarm["ComparisonOperator"]) == ("breaching", "LessThanThreshold")


def test_a_clock_rings_where_a_node_stops_taking_shards(prod: Synthesis) -> None:
    assert only(at(prod, "Clock skew"))["Threshold"] == Timing().clock_guard_ms


@pytest.mark.parametrize("heading", ["Dead letters", "Queue age", "Messages in flight"])
def test_each_lane_is_watched(prod: Synthesis, heading: str) -> None:
    assert len(at(prod, heading)) == len(LANES)


def test_what_the_queues_gave_up_rings_when_nobody_settles_it(prod: Synthesis) -> None:
    alarm = only(at(prod, "Undelivered messages"))

    assert "Undelivered" in str(alarm["Dimensions"])
    # What is hidden is a run that lives, and is looked at again.
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert (alarm["Threshold"], alarm["Statistic"], alarm["EvaluationPeriods"]) == (0, "Minimum", 3)


def test_an_error_of_what_settles_them_rings(prod: Synthesis) -> None:
    settling = [alarm for alarm in at(prod, "Function errors") if "dead_letters" in alarm["AlarmDescription"]]

    assert [alarm["MetricName"] for alarm in settling] == ["Errors"]
    assert "Settling" in str(settling[0]["Dimensions"])


def test_a_lane_that_sleeps_has_the_time_that_it_takes_to_wake(prod: Synthesis, chosen: Synthesis) -> None:
    def threshold(synthesis: Synthesis) -> float:
        of_lane = [alarm for alarm in at(synthesis, "Queue age") if "lane long" in alarm["AlarmDescription"]]
        return float(only(of_lane)["Threshold"])

    assert (threshold(prod), threshold(chosen)) == (1_800, 60)


def test_a_lane_rings_long_before_sqs_stops_it(prod: Synthesis) -> None:
    assert {alarm["Threshold"] for alarm in at(prod, "Messages in flight")} == {80_000}


def test_a_long_run_alone_does_not_make_its_queue_look_old(prod: Synthesis) -> None:
    expressions = {each.get("Expression") for alarm in at(prod, "Queue age") for each in alarm["Metrics"]}

    assert "IF(waiting > 0, age, 0)" in expressions


def test_the_emulator_is_given_no_alarm_on_an_expression(local: Synthesis) -> None:
    assert alarms(local)
    assert not [alarm for alarm in alarms(local).values() if "Metrics" in alarm]


@pytest.mark.parametrize("environment", ["local", "prod", "chosen"])
def test_every_metric_that_is_read_is_one_that_is_written(request: pytest.FixtureRequest, environment: str) -> None:
    synthesis: Synthesis = request.getfixturevalue(environment)
    text = json.dumps(
        {
            kind: synthesis.of_type(f"AWS::{kind}")
            for kind in ("CloudWatch::Alarm", "CloudWatch::Dashboard", "ApplicationAutoScaling::ScalingPolicy")
        }
    ).replace('\\"', '"')
    ours = re.findall(r'"Carillon/[^"]+","(\w+)"', text) + [
        alarm["MetricName"]
        for alarm in synthesis.of_type("AWS::CloudWatch::Alarm").values()
        if str(alarm.get("Namespace")).startswith("Carillon/")
    ]

    assert len(set(ours)) > 20
    assert set(ours) <= set(UNITS)


def test_the_dashboard_shows_every_metric_there_is_but_what_a_log_explains_better(prod: Synthesis) -> None:
    body = json.dumps(only(list(prod.of_type("AWS::CloudWatch::Dashboard").values()))).replace('\\"', '"')
    shown = set(re.findall(r'"Carillon/[^"]+","(\w+)"', body))

    assert set(UNITS) - shown <= {
        *("beats", "claimed", "in_flight", "refused_keys", "shards_unowned", "superseded", "unaudited"),
    }


def test_alarms_may_publish_where_a_policy_stands_in_place_of_the_usual_one(chosen: Synthesis) -> None:
    """The usual one admits the account; AWS drops it for any other, such as that which demands TLS."""
    statements = only(list(chosen.of_type("AWS::SNS::TopicPolicy").values()))["PolicyDocument"]["Statement"]
    allowed = only([each for each in statements if each["Effect"] == "Allow"])

    assert (allowed["Action"], allowed["Principal"]) == ("sns:Publish", {"Service": "cloudwatch.amazonaws.com"})
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_one_refusal_rings_though_all_other_figures_are_missing(prod: Synthesis) -> None:
    """DynamoDB reports throttles only where there are some, and indexes apart from their tables."""
    indexes: list[str] = []
    for alarm in at(prod, "Table throttles"):
        [summed] = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
        parts = {
            each["Id"]: each["MetricStat"]["Metric"]["Dimensions"] for each in alarm["Metrics"] if "MetricStat" in each
        }
        assert summed.split(" + ") == [f"FILL({name}, 0)" for name in parts]
        indexes += [
            each["Value"] for part in parts.values() for each in part if each["Name"] == "GlobalSecondaryIndexName"
        ]
    assert sorted(indexes) == ["by_owner", "by_owner", "failures", "failures"]
