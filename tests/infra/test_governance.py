from __future__ import annotations

from tests.infra.synthesis import Synthesis, actions_of, as_list, only


def test_no_role_exceeds_the_boundary(chosen: Synthesis, prod: Synthesis) -> None:
    for role in chosen.of_type("AWS::IAM::Role").values():
        assert "policy/TeamBoundary" in str(role["PermissionsBoundary"])
    for role in prod.of_type("AWS::IAM::Role").values():
        assert "PermissionsBoundary" not in role


def test_tags_are_on_what_can_be_billed(chosen: Synthesis) -> None:
    tag = {"Key": "team", "Value": "platform"}
    for table in chosen.tables().values():
        assert tag in table["Properties"]["Tags"]
    for kind in ("AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::ECS::Service", "AWS::SNS::Topic"):
        for properties in chosen.of_type(kind).values():
            assert tag in properties["Tags"], kind


def test_workers_reach_the_granted_targets_and_nobody_else_does(chosen: Synthesis, prod: Synthesis) -> None:
    def granted(synthesis: Synthesis, role: object) -> dict[str, str]:
        return {
            action: str(only(as_list(statement["Resource"])))
            for statement in synthesis.statements_of(role)
            for action in actions_of(statement)
            if action.startswith(("lambda:", "glue:"))
        }

    wanted = {
        "lambda:InvokeFunction": "arn:aws:lambda:eu-west-1:123456789012:function:report",
        "glue:StartJobRun": "arn:aws:glue:eu-west-1:123456789012:job/night",
    }
    worker, on_ecs = (
        chosen.function("functions.worker.lambda_host.handler")["Role"],
        chosen.task("worker")["TaskRoleArn"],
    )

    assert granted(chosen, worker) == granted(chosen, on_ecs) == wanted
    assert granted(chosen, chosen.task("scheduler")["TaskRoleArn"]) == {}
    assert granted(chosen, chosen.function("functions.api.app.handler")["Role"]) == {}
    assert granted(prod, prod.function("functions.worker.lambda_host.handler")["Role"]) == {}


def test_a_log_forgets_after_as_long_as_was_chosen(chosen: Synthesis, prod: Synthesis) -> None:
    assert {each["RetentionInDays"] for each in chosen.of_type("AWS::Logs::LogGroup").values()} == {365}
    assert {each["RetentionInDays"] for each in prod.of_type("AWS::Logs::LogGroup").values()} == {90}


def test_the_api_has_the_name_that_was_chosen_and_says_where_its_record_points(chosen: Synthesis) -> None:
    domain_id, domain = only(list(chosen.of_type("AWS::ApiGatewayV2::DomainName").items()))

    assert domain["DomainName"] == "jobs.example.com"
    assert only(list(chosen.of_type("AWS::ApiGatewayV2::ApiMapping").values()))["DomainName"] == {"Ref": domain_id}
    assert chosen.service.to_json()["Outputs"]["ApiDomainTarget"]["Value"] == {
        "Fn::GetAtt": [domain_id, "RegionalDomainName"]
    }


def test_every_request_is_logged_without_headers_and_bodies(prod: Synthesis) -> None:
    settings = only(list(prod.of_type("AWS::ApiGatewayV2::Stage").values()))["AccessLogSettings"]

    assert '"status": "$context.status"' in settings["Format"]
    assert "authorization" not in settings["Format"].lower()


def test_what_nodes_and_workers_live_by_is_told_them(chosen: Synthesis) -> None:
    node = {each["Name"]: each["Value"] for each in chosen.container("scheduler")["Environment"]}
    worker = {each["Name"]: each["Value"] for each in chosen.container("worker")["Environment"]}

    assert node["CARILLON_SWEEP_MS"] == "2000"
    assert node["CARILLON_SENDERS"] == "8"
    assert worker["CARILLON_WORKER_WEBHOOKS"] == "40"
    assert node["CARILLON_RUN_RETENTION_DAYS"] == worker["CARILLON_RUN_RETENTION_DAYS"] == "60"
    assert (chosen.task("scheduler")["Cpu"], chosen.task("scheduler")["Memory"]) == ("512", "2048")


def test_warm_throughput_is_for_the_tables_that_grow_and_their_indexes(chosen: Synthesis, prod: Synthesis) -> None:
    wanted = {"ReadUnitsPerSecond": 20000, "WriteUnitsPerSecond": 8000}
    for name, table in chosen.tables().items():
        is_hot = name in {"JobsTable", "JobSchedulesTable", "JobRunsTable"}
        assert table["Properties"].get("WarmThroughput") == (wanted if is_hot else None)
        for index in table["Properties"].get("GlobalSecondaryIndexes", []):
            assert index.get("WarmThroughput") == wanted
    assert all("WarmThroughput" not in table["Properties"] for table in prod.tables().values())
