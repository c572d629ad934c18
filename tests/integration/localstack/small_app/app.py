"""The smallest app with one of each thing that the local stack looks after."""

from __future__ import annotations

from aws_cdk import App, CfnOutput, Duration, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs

TASK = (
    "import os, signal; print('task', os.environ['TABLE'], os.environ['AWS_ENDPOINT_URL'], flush=True); signal.pause()"
)
HANDLER = "def handler(event, context):\n    return {'statusCode': 200, 'body': 'hello'}\n"

app = App()
assert app.node.try_get_context("environment") == "local"
stack = Stack(app, "Small", stack_name="small")

table = dynamodb.Table(
    stack,
    "Table",
    partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
    sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.NUMBER),
    billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
    time_to_live_attribute="expires_at",
    point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
)
table.add_local_secondary_index(
    index_name="by_next", sort_key=dynamodb.Attribute(name="next_at", type=dynamodb.AttributeType.NUMBER)
)
dead_letters = sqs.Queue(stack, "DeadLetters")
queue = sqs.Queue(
    stack,
    "Queue",
    visibility_timeout=Duration.seconds(77),
    dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=9),
)
function = lambda_.Function(
    stack,
    "Function",
    runtime=lambda_.Runtime.PYTHON_3_13,
    handler="index.handler",
    code=lambda_.Code.from_inline(HANDLER),
    timeout=Duration.seconds(11),
    reserved_concurrent_executions=3,
)
function.add_event_source(sources.SqsEventSource(queue, batch_size=10, report_batch_item_failures=True))
api = apigateway.HttpApi(stack, "Api")
api.add_routes(path="/{proxy+}", integration=integrations.HttpLambdaIntegration("Integration", function))

vpc = ec2.Vpc(stack, "Vpc", nat_gateways=0, max_azs=1, restrict_default_security_group=False)
cluster = ecs.Cluster(stack, "Cluster", vpc=vpc)
for name, count in (("Scheduler", 2), ("Worker", 1)):
    definition = ecs.FargateTaskDefinition(stack, f"{name}Definition")
    definition.add_container(
        "main",
        image=ecs.ContainerImage.from_registry("python:3.13"),
        command=["python", "-P", "-c", TASK],
        environment={"TABLE": table.table_name},
    )
    service = ecs.FargateService(stack, name, cluster=cluster, task_definition=definition, desired_count=count)
    CfnOutput(stack, f"{name}ServiceName", value=service.service_name)

CfnOutput(stack, "ApiId", value=api.api_id)
CfnOutput(stack, "JobsTable", value=table.table_name)
CfnOutput(stack, "DefaultQueueUrl", value=queue.queue_url)
CfnOutput(stack, "ClusterName", value=cluster.cluster_name)
app.synth()
