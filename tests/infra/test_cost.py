from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from functions.scheduler.gauges import COUNTED, Gauges, LoopLag
from infra.cost import usage
from infra.cost.bill import Item, PriceList, read_prices, written
from infra.cost.idle import idle_items
from infra.cost.measured import differences, read_measured, take_over
from infra.cost.profile import Profile, items_of
from tests.infra.synthesis import Synthesis
from tests.unit.scheduler.world import World

MILLION = 1_000_000
#: Of the design, in dollars.
MOST_IDLE = 45.0


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return read_prices()


def idle(synthesis: Synthesis) -> list[Item]:
    return idle_items([synthesis.data.to_json(), synthesis.service.to_json()])


def cost_of(what: str, synthesis: Synthesis, prices: PriceList) -> float:
    return prices.total(item for item in idle(synthesis) if item.what == what)


def test_the_usual_environment_costs_little_while_nothing_fires(dev: Synthesis, prices: PriceList) -> None:
    assert prices.total(idle(dev)) <= MOST_IDLE


def test_the_idle_bill_is_read_off_the_templates(dev: Synthesis, chosen: Synthesis, prices: PriceList) -> None:
    assert cost_of("Fargate", dev, prices) == pytest.approx(730 * 2 * (0.25 * 0.03238 + 0.5 * 0.00356))
    assert cost_of("Fargate", chosen, prices) == pytest.approx(
        730 * (3 * (0.5 * 0.03238 + 2 * 0.00356) + (0.25 * 0.03238 + 0.5 * 0.00356))
    )
    # Four times the shards, half as often.
    assert cost_of("sweeps", chosen, prices) == pytest.approx(2 * cost_of("sweeps", dev, prices))
    assert cost_of("public addresses", chosen, prices) == 0
    assert cost_of("endpoints of the network", chosen, prices) == pytest.approx(730 * 9 * 3 * 0.01)
    assert cost_of("keys", chosen, prices) == 1
    assert cost_of("keys", dev, prices) == 0


def test_an_alarm_on_an_expression_is_paid_for_each_of_its_metrics(dev: Synthesis, prices: PriceList) -> None:
    alarms = dev.of_type("AWS::CloudWatch::Alarm").values()
    expressions = [alarm for alarm in alarms if "Metrics" in alarm]
    inputs = sum(len(alarm["Metrics"]) - 1 for alarm in expressions)
    tracking = 2

    assert expressions
    assert cost_of("alarms", dev, prices) == pytest.approx(
        0.10 * (len(alarms) - len(expressions) + inputs + 2 * tracking) + 0.50
    )


def test_an_idle_node_reports_as_many_metrics_as_the_bill_says() -> None:
    world = World()
    node = world.start_node("a")
    world.run(2_000)

    assert len(Gauges(node, LoopLag(world.clock, 0.01)).take()) == usage.NODE_METRICS
    assert COUNTED


@pytest.mark.parametrize(
    ("profile", "least", "most"),
    [
        # One of the dollars is EventBridge's, for the event of each end.
        (Profile(recurring_runs=MILLION), 2.5, 3.5),
        (Profile(recurring_runs=MILLION, runs_of_an_invocation=1), 6.0, 8.0),
        (Profile(rare_runs=MILLION), 4.0, 6.0),
        (Profile(one_time_jobs=MILLION), 10.0, 13.0),
        (Profile(cancelled_jobs=MILLION), 10.0, 14.0),
        (Profile(), 0, 0),
    ],
)
def test_a_million_costs_dollars_and_not_tens_of_them(
    profile: Profile, least: float, most: float, prices: PriceList
) -> None:
    assert least <= prices.total(items_of(profile)) <= most


def test_a_warm_lane_pays_for_its_pollers_while_it_idles(dev: Synthesis, chosen: Synthesis, prices: PriceList) -> None:
    assert cost_of("pollers of warm lanes", dev, prices) == 0
    assert cost_of("pollers of warm lanes", chosen, prices) == pytest.approx(730 * 2 * 0.00925)


def test_runs_take_what_was_measured() -> None:
    def quantity(profile: Profile, what: str) -> float:
        return sum(item.quantity for item in items_of(profile) if item.what == what)

    taken = read_measured().by_kind["one_time"]
    profile = Profile(one_time_jobs=1_000)

    assert quantity(profile, "DynamoDB writes") == pytest.approx(1_000 * taken.writes)
    assert quantity(profile, "DynamoDB reads") == pytest.approx(1_000 * taken.reads)
    # And what an invocation hides first of all, in one call.
    assert quantity(profile, "SQS") == pytest.approx(1_000 * taken.sqs_requests + 100)
    assert quantity(replace(profile, runs_of_an_invocation=1), "SQS") == pytest.approx(
        10_000 * taken.sqs_requests + 1_000
    )
    assert quantity(profile, "events") == 3_000


def test_a_new_measurement_is_taken_over_whole_and_compared(tmp_path: Path) -> None:
    figures = {"per_run": {"one_time": {"writes": 9.0, "reads": 2.0, "sqs_requests": 0.3, "operations": {}}}}
    (tmp_path / "requests.json").write_text(json.dumps(figures))
    target = tmp_path / "measured.json"

    take_over(tmp_path / "requests.json", target)
    measured = read_measured(target)
    figures["per_run"]["one_time"]["writes"] = 9.5

    assert differences(measured, json.loads((tmp_path / "requests.json").read_text())) == []
    assert len(differences(measured, figures)) == 1
    assert len(differences(measured, {"per_run": {}})) == 1


def test_what_is_asked_for_shows_on_the_bill(prices: PriceList) -> None:
    plain = Profile(one_time_jobs=MILLION)
    total = prices.total(items_of(plain))

    assert prices.total(items_of(replace(plain, payload_kb=1))) == total
    assert prices.total(items_of(replace(plain, payload_kb=3))) - total == pytest.approx(4 * 0.625 + 0.5 * 0.125)
    assert prices.total(items_of(replace(plain, api_reads=MILLION))) - total == pytest.approx(1.8, abs=0.1)
    assert prices.total(items_of(replace(plain, output_kb=1))) == total
    assert prices.total(items_of(replace(plain, output_kb=4))) - total == pytest.approx(3 * 0.625)
    assert prices.total(items_of(replace(plain, resident_jobs=MILLION))) - total == pytest.approx(4 * 0.125 * 0.125)
    assert prices.total(items_of(replace(plain, hold_seconds=0))) < total
    held = (replace(plain, on_ecs=True, run_seconds=seconds) for seconds in (6, 7))
    short, long = (prices.total(items_of(each)) for each in held)
    assert long - short == pytest.approx((usage.WRITES_OF_A_LISTED_RUN + 1) * 0.625)
    assert prices.total(items_of(replace(plain, runs_of_an_invocation=1))) > total
    assert prices.total(items_of(replace(plain, on_ecs=True))) < total


def test_every_price_is_dated_and_says_where_it_is_from() -> None:
    document = json.loads((Path(__file__).parents[2] / "infra" / "prices.json").read_text())

    assert document["as_of"]
    assert all(price["usd"] > 0 and price["per"] and price["source"] for price in document["prices"].values())


def test_the_bill_is_written_dearest_first_with_its_sum() -> None:
    prices = PriceList("2026-11", "us-east-1", {"hour": 0.5})
    items = [Item("small", 1, "hour"), Item("large", 4, "hour"), Item("small", 1, "hour"), Item("none", 0, "hour")]

    assert written(items, prices).split() == ["2.00", "large", "1.00", "small", "3.00", "together"]


def test_what_has_no_price_is_not_taken_for_free(prices: PriceList) -> None:
    with pytest.raises(KeyError):
        prices.of(Item("gold", 1, "gold"))


def test_the_command_prints_the_bill_of_a_folder_of_templates(dev: Synthesis, tmp_path: Path) -> None:
    for name, template in (("Data", dev.data), ("Service", dev.service)):
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template.to_json()))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "infra.cost", str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert "idle cost a month" in done.stdout
    assert "Fargate" in done.stdout
    assert "recurring runs" in done.stdout


def test_the_command_prints_the_bill_of_a_month_item_by_item(tmp_path: Path) -> None:
    arguments = ("--recurring-runs", "3000000", "--payload-kb", "4", "--no-tells-events")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "infra.cost", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )

    bill = done.stdout.partition("month that was asked for:\n")[2]
    assert "DynamoDB writes" in bill
    assert "SQS" in bill
    assert "events" not in bill
