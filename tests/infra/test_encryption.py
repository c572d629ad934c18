from __future__ import annotations

from tests.infra.synthesis import Synthesis, actions_of, only

KEY_TYPE = "AWS::KMS::Key"
HANDLERS = ("functions.api.app.handler", "functions.worker.lambda_host.handler")


def test_without_a_key_of_ones_own_aws_encrypts_with_its(prod: Synthesis) -> None:
    assert not prod.data.find_resources(KEY_TYPE)
    for table in prod.tables().values():
        assert "SSESpecification" not in table["Properties"]


def test_one_key_of_ones_own_that_rotates_encrypts_all_that_is_stored(chosen: Synthesis) -> None:
    key_id, key = only(list(chosen.data.find_resources(KEY_TYPE).items()))

    assert key["Properties"]["EnableKeyRotation"] is True
    for table in chosen.tables().values():
        assert table["Properties"]["SSESpecification"] == {
            "KMSMasterKeyId": {"Fn::GetAtt": [key_id, "Arn"]},
            "SSEEnabled": True,
            "SSEType": "KMS",
        }
    for queue in chosen.of_type("AWS::SQS::Queue").values():
        assert key_id in str(queue["KmsMasterKeyId"])
    for group in chosen.of_type("AWS::Logs::LogGroup").values():
        assert key_id in str(group["KmsKeyId"])
    assert key_id in str(only(list(chosen.of_type("AWS::SNS::Topic").values()))["KmsMasterKeyId"])


def test_the_key_outlives_its_stack_for_without_it_the_tables_are_noise(chosen: Synthesis) -> None:
    key = only(list(chosen.data.find_resources(KEY_TYPE).values()))

    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_a_role_uses_the_key_by_way_of_tables_and_queues_only(chosen: Synthesis) -> None:
    roles = [chosen.function(handler)["Role"] for handler in HANDLERS]
    roles += [chosen.task(program)["TaskRoleArn"] for program in ("scheduler", "worker")]
    for role in roles:
        statements = [each for each in chosen.statements_of(role) if "kms:Encrypt" in actions_of(each)]
        conditions = only(statements)["Condition"]["StringEquals"]["kms:ViaService"]
        assert ["dynamodb." in str(each) or "sqs." in str(each) for each in conditions] == [True, True]


def test_logs_and_alarms_may_write_under_the_key_for_this_account_alone(chosen: Synthesis) -> None:
    key = only(list(chosen.data.find_resources(KEY_TYPE).values()))
    services = [
        statement for statement in key["Properties"]["KeyPolicy"]["Statement"] if "Service" in statement["Principal"]
    ]

    assert len(services) == 2
    assert all("AWS::AccountId" in str(statement["Condition"]) for statement in services)


def test_a_role_lets_only_aws_itself_use_the_key_by_a_grant(chosen: Synthesis) -> None:
    granting = [each for each in chosen.statements() if "kms:CreateGrant" in actions_of(each)]

    assert granting
    for statement in granting:
        assert actions_of(statement) == ["kms:CreateGrant"]
        assert statement["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
