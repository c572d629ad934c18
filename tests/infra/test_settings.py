"""Settings by context: what is right is taken, what is wrong ends with one sentence that names it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.environments import DEV, LOCAL, PROD, environment_named
from infra.settings import Grant, SettingsRefused, override
from infra.settings.reading import CHOSEN
from tests.readme import README


def test_no_settings_leave_an_environment_as_it_is() -> None:
    assert environment_named("prod") is PROD
    for environment in (LOCAL, DEV, PROD):
        assert override(environment, {}) == environment


def test_settings_are_an_object_or_its_text() -> None:
    given = {"shard_count": 32, "scheduler": {"tasks": 4}}

    changed = environment_named("dev", given)

    assert changed == environment_named("dev", json.dumps(given))
    assert (changed.shard_count, changed.scheduler.tasks) == (32, 4)


def test_the_settings_of_the_readme_are_settings(tmp_path: Path) -> None:
    texts = [*re.findall(r"-c settings='([^']+)'", README), *re.findall(r"`(\{\"\w+\": .+?\})`", README)]
    (tmp_path / "images.py").touch()
    chosen = [text.replace("/home/me/my_handlers", str(tmp_path)) for text in texts if text.split('"')[1] in CHOSEN]
    assert len(chosen) > 4
    for environment in (DEV, PROD):
        for text in chosen:
            override(environment, text)


def test_an_object_changes_what_it_names_and_leaves_the_rest() -> None:
    changed = override(PROD, {"lanes": {"catchup": {"concurrency": 5}}, "scheduler": {"most": 12}})

    assert changed.lanes["catchup"].concurrency == 5
    assert changed.lanes["catchup"].host == PROD.lanes["catchup"].host
    assert changed.lanes["default"] == PROD.lanes["default"]
    assert (changed.scheduler.tasks, changed.scheduler.most) == (PROD.scheduler.tasks, 12)


TASK_ROLE = "arn:aws:iam::123456789012:role/orders-task"
VPC = "vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0fedcba9876543210"]
REFUSED: list[tuple[object, str]] = [
    ("{", "context settings is no JSON"),
    ([], "context settings is list, not an object"),
    ({"shard_cuont": 8}, "there is no setting 'shard_cuont': choose among is_protected, shard_count"),
    ({"name": "other"}, "there is no setting 'name'"),
    ({"is_emulated": True}, "there is no setting 'is_emulated'"),
    ({"scheduler": {"cpu": 256}}, "there is no setting 'scheduler.cpu'"),
    ({"shard_count": 0}, "setting shard_count of environment dev: input should be greater than or equal to 1, not 0"),
    ({"shard_count": 257}, "setting shard_count"),
    ({"shard_count": "many"}, "setting shard_count of environment dev: input should be a valid integer"),
    ({"sweep_interval_ms": 999}, "setting sweep_interval_ms"),
    ({"senders": 0}, "setting senders"),
    ({"sweep_interval_ms": 10_001}, "setting sweep_interval_ms"),
    ({"scheduler": {"tasks": 0}}, "scheduler.tasks is 0: give at least 1"),
    ({"scheduler": {"tasks": 7}}, r"most \(6\) must be at least tasks \(7\): raise it"),
    ({"scheduler": {"cpu_units": 300}}, "cpu_units 300 is no size of Fargate: choose 256, 512"),
    ({"scheduler": {"memory_mb": 4096}}, "memory_mb 4096 does not go with cpu_units 256: choose 512 to 2048"),
    ({"scheduler": {"cpu_units": 512, "memory_mb": 1536}}, "choose 1024 to 4096 in steps of 1024"),
    ({"lanes": {"default": {"concurrency": 1}}}, "setting lanes.default.concurrency"),
    ({"lanes": {"default": {"host": "ec2"}}}, "input should be 'lambda', 'lambda-warm' or 'ecs', not 'ec2'"),
    ({"lanes": {"default": {"host": "ecs"}}}, "no worker task to work it: set worker.tasks to 1"),
    ({"lanes": {"Night": {"host": "ecs", "concurrency": 2}}}, "'Night' is no lane's name: use a small letter"),
    ({"worker_reserved_concurrency": 11}, r"\(11\) is below that of its lanes together \(12\).*raise it to 12"),
    (
        {"grants": [{"arn": "arn:aws:sqs:eu-west-1:123456789012:orders", "pass_roles": [TASK_ROLE]}]},
        "pass_roles means nothing for sqs: only ecs.RunTask passes roles on",
    ),
    ({"run_retention_days": 14}, "set 15 or more"),
    ({"log_retention_days": 8}, "log_retention_days 8 is none that CloudWatch Logs has: choose 1, 3, 5"),
    ({"network": {"mode": "existing"}}, "mode existing needs vpc_id and availability_zones and subnet_ids"),
    ({"network": {"vpc_id": VPC}}, "vpc_id means nothing in mode public: set mode to existing"),
    ({"network": {"assign_public_ip": True}}, "assign_public_ip means nothing in mode public"),
    (
        {"network": {"mode": "existing", "vpc_id": VPC, "availability_zones": ["a"], "subnet_ids": SUBNETS[:1]}},
        "subnet_ids names one subnet: give two in different zones",
    ),
    (
        {"network": {"mode": "existing", "vpc_id": VPC, "availability_zones": ["a", "b"], "subnet_ids": SUBNETS[:1]}},
        "give one subnet for each zone, in the same order",
    ),
    ({"network": {"mode": "existing", "vpc_id": "mine"}}, "setting network.vpc_id .* give the id of a VPC"),
    ({"network": {"subnet_ids": ["mine"]}}, "setting network.subnet_ids.0 .* give ids of subnets"),
    ({"network": {"zones": 1}}, "setting network.zones"),
    ({"encryption": "mine"}, "input should be 'aws' or 'own', not 'mine'"),
    (
        {"owner_limits": {"requests_per_second": 0}},
        "setting owner_limits.requests_per_second of environment dev: .* greater than or equal to 1, not 0",
    ),
    ({"owner_limits": {"requests_per_second": 10_001}}, "less than or equal to 10000, not 10001"),
    ({"owner_limits": {"requests_per_second": 2.5}}, "setting owner_limits.requests_per_second .* a valid integer"),
    ({"owner_limits": {"jobs": 0}}, "setting owner_limits.jobs of environment dev: .* equal to 1, not 0"),
    ({"owner_limits": {"jobs": "many"}}, "setting owner_limits.jobs .* a valid integer"),
    ({"owner_limits": {"keys": 3}}, "there is no setting 'owner_limits.keys'"),
    ({"auth": {"mode": "jwt"}}, "mode jwt needs issuer and audience"),
    ({"auth": {"issuer": "https://x"}}, "issuer and audience mean nothing in mode keys"),
    ({"auth": {"owner_claim": "sub"}}, "owner_claim means nothing in mode keys"),
    ({"auth": {"mode": "iam", "owner_claim": "sub"}}, "in mode iam choose account or principal"),
    ({"auth": {"mode": "iam", "scopes_claim": "scope"}}, "scopes_claim means nothing in mode iam"),
    ({"auth": {"admins": ["role:Operator"]}}, "admins means nothing in mode keys"),
    ({"auth": {"mode": "iam", "admins": ["Operator"]}}, "setting auth.admins.0"),
    ({"alarm_email": "nobody"}, "setting alarm_email of environment dev: 'nobody' does not fit: give one address"),
    ({"permission_boundary": "a b"}, "setting permission_boundary of .*: give the name of a managed policy"),
    ({"custom_domain": {"name": "HTTP://x", "certificate_arn": "x"}}, "setting custom_domain.name of .* a host name"),
    ({"warm_throughput": {"reads_per_second": 1}}, "setting warm_throughput.reads_per_second"),
    ({"owner_concurrency": {"*": 0}}, r"setting owner_concurrency"),
    ({"owner_concurrency": {"two words": 1}}, "setting owner_concurrency"),
    ({"owner_concurrency": {str(number): 1 for number in range(21)}}, "names 21 owners, .* can be told of 20"),
    (
        {"lanes": {name: {"host": "lambda", "concurrency": 5} for name in ("alpha", "beta", "gamma", "delta")}},
        "4 lanes of its own and 0 owners in owner_concurrency, more than the 4 KB",
    ),
    (
        {
            "lanes": {name: {"host": "lambda", "concurrency": 5} for name in ("alpha", "beta", "gamma")},
            "owner_concurrency": {f"customer-{number}@example.com": 1 for number in range(9)},
        },
        "3 lanes of its own and 9 owners in owner_concurrency, more than the 4 KB",
    ),
    ({"drift_slo_ms": 0}, "setting drift_slo_ms"),
    ({"restored_tables": {"jobs": "restored-jobs"}}, "must name each of jobs, job_schedules, job_runs, fleet, access"),
    ({"restored_tables": {"jobs": "a b"}}, "setting restored_tables.jobs of environment dev"),
    ({"handlers": {"folder": "no_such_folder", "modules": ["a"]}}, "handlers.folder 'no_such_folder' is no folder"),
    ({"handlers": {"folder": "tests/own_handlers", "modules": []}}, "setting handlers.modules"),
    ({"handlers": {"folder": "tests/own_handlers", "modules": ["a-b"]}}, "setting handlers.modules.0"),
    ({"handlers": {"folder": "tests/own_handlers", "modules": ["envelopes"]}}, "'envelopes', which is not in .*own_h"),
    ({"handlers": {"folder": ".", "modules": ["shared.config"]}}, "Carillon has a package of that name"),
    ({"grants": [{"arn": "report"}]}, "setting grants.0 .* arn 'report' is no ARN: it looks like"),
    ({"grants": [{"arn": "arn:aws:glue:eu-west-1:123456789012:job/x"}]}, "no usual action: name them in actions"),
    (
        {"grants": [{"arn": "arn:aws:s3:::bucket/*", "actions": ["s3:*"]}]},
        r"actions has 's3:\*': name whole actions",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=str)
def test_what_cannot_be_deployed_is_refused_in_a_sentence(given: object, sentence: str) -> None:
    with pytest.raises(SettingsRefused, match=sentence) as refused:
        override(DEV, given)

    assert "\n" not in str(refused.value)
    assert "pydantic" not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"shard_count": 256},
        {"sweep_interval_ms": 10_000},
        {"owner_concurrency": {"*": 1000, "team@example.com": 1}},
        {"run_retention_days": 15},
        {"owner_limits": {"requests_per_second": 10_000, "jobs": 100_000_000}},
        {"owner_limits": {"requests_per_second": 1, "jobs": 1}},
        {"worker_reserved_concurrency": 14},
        {"scheduler": {"tasks": 6}},
        {"scheduler": {"cpu_units": 512, "memory_mb": 1024}},
        {"permission_boundary": "arn:aws:iam::123456789012:policy/team/Boundary"},
        {"auth": {"mode": "jwt", "issuer": "https://id.example.com", "audience": ["carillon"]}},
        {"auth": {"mode": "iam", "owner_claim": "principal", "admins": ["role:Operator", "user:alice"]}},
        {"network": {"mode": "existing", "vpc_id": VPC, "availability_zones": ["a", "b"], "subnet_ids": SUBNETS}},
    ],
    ids=str,
)
def test_what_is_just_within_is_taken(given: dict[str, Any]) -> None:
    override(DEV, given)


def test_a_grant_allows_what_is_usual_for_its_service_or_what_it_names() -> None:
    usual = Grant("arn:aws:sqs:eu-west-1:123456789012:orders")
    named = Grant("arn:aws:sqs:eu-west-1:123456789012:orders", ("sqs:GetQueueUrl",))

    assert (usual.allowed, named.allowed) == (("sqs:SendMessage",), ("sqs:GetQueueUrl",))
