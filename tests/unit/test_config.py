"""What a process is told by its environment."""

from __future__ import annotations

import pytest

from shared.config import http_needs_grant, own_resources, region


def test_all_that_a_process_is_told_of_is_carillons_own() -> None:
    environment = {
        "CARILLON_JOBS_TABLE": "jobs-1",
        "CARILLON_DEFAULT_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/lane-1",
        "CARILLON_OWN_RESOURCES": "worker-1, dead-*,,",
        "AWS_LAMBDA_FUNCTION_NAME": "api-1",
    }

    assert set(own_resources(environment)) == {"worker-1", "dead-*", "jobs-1", "lane-1", "api-1"}
    assert own_resources({}) == ()


def test_hosts_are_open_unless_a_deployment_says_otherwise() -> None:
    assert not http_needs_grant({})
    assert not http_needs_grant({"CARILLON_HTTP_GRANTS": "open"})
    assert http_needs_grant({"CARILLON_HTTP_GRANTS": "required"})
    with pytest.raises(ValueError, match="open or required, not 'yes'"):
        http_needs_grant({"CARILLON_HTTP_GRANTS": "yes"})


def test_a_process_knows_where_it_is() -> None:
    assert region({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"}) == "eu-west-1"
    assert region({"AWS_DEFAULT_REGION": "us-west-2"}) == "us-west-2"
