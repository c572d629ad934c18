"""What CloudFormation calls to make, change, read and delete a resource, by its type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_API_GATEWAY = "apigateway:DELETE apigateway:GET apigateway:PATCH apigateway:POST apigateway:PUT apigateway:TagResource"
_EC2_TAGS = "ec2:CreateTags ec2:DeleteTags"

_BY_TYPE = {
    "AWS::ApiGatewayV2::Api": _API_GATEWAY,
    "AWS::ApiGatewayV2::ApiMapping": _API_GATEWAY,
    "AWS::ApiGatewayV2::Authorizer": _API_GATEWAY,
    "AWS::ApiGatewayV2::DomainName": f"{_API_GATEWAY} acm:DescribeCertificate",
    "AWS::ApiGatewayV2::Integration": _API_GATEWAY,
    "AWS::ApiGatewayV2::Route": _API_GATEWAY,
    # An access log is a delivery of CloudWatch Logs.
    "AWS::ApiGatewayV2::Stage": f"{_API_GATEWAY} logs:CreateLogDelivery logs:DeleteLogDelivery logs:GetLogDelivery "
    "logs:ListLogDeliveries logs:UpdateLogDelivery logs:DescribeResourcePolicies logs:PutResourcePolicy",
    "AWS::ApplicationAutoScaling::ScalableTarget": "application-autoscaling:RegisterScalableTarget "
    "application-autoscaling:DeregisterScalableTarget application-autoscaling:DescribeScalableTargets "
    "application-autoscaling:TagResource application-autoscaling:UntagResource "
    "application-autoscaling:ListTagsForResource",
    "AWS::ApplicationAutoScaling::ScalingPolicy": "application-autoscaling:PutScalingPolicy "
    "application-autoscaling:DeleteScalingPolicy application-autoscaling:DescribeScalingPolicies "
    "cloudwatch:PutMetricAlarm cloudwatch:DeleteAlarms cloudwatch:DescribeAlarms",
    "AWS::Budgets::Budget": "budgets:ModifyBudget budgets:ViewBudget budgets:TagResource budgets:UntagResource "
    "budgets:ListTagsForResource",
    "AWS::CloudWatch::Alarm": "cloudwatch:PutMetricAlarm cloudwatch:DeleteAlarms cloudwatch:DescribeAlarms "
    "cloudwatch:TagResource cloudwatch:UntagResource cloudwatch:ListTagsForResource",
    "AWS::CloudWatch::CompositeAlarm": "cloudwatch:PutCompositeAlarm cloudwatch:DeleteAlarms "
    "cloudwatch:DescribeAlarms cloudwatch:TagResource cloudwatch:UntagResource cloudwatch:ListTagsForResource",
    "AWS::CloudWatch::Dashboard": "cloudwatch:PutDashboard cloudwatch:DeleteDashboards cloudwatch:GetDashboard",
    "AWS::DynamoDB::Table": "dynamodb:CreateTable dynamodb:DeleteTable dynamodb:DescribeTable dynamodb:UpdateTable "
    "dynamodb:DescribeTimeToLive dynamodb:UpdateTimeToLive dynamodb:DescribeContinuousBackups "
    "dynamodb:UpdateContinuousBackups dynamodb:DescribeContributorInsights dynamodb:UpdateContributorInsights "
    "dynamodb:DescribeKinesisStreamingDestination dynamodb:GetResourcePolicy dynamodb:ListTagsOfResource "
    "dynamodb:TagResource dynamodb:UntagResource kms:CreateGrant kms:Decrypt kms:DescribeKey",
    "AWS::EC2::InternetGateway": f"ec2:CreateInternetGateway ec2:DeleteInternetGateway "
    f"ec2:DescribeInternetGateways {_EC2_TAGS}",
    "AWS::EC2::Route": "ec2:CreateRoute ec2:DeleteRoute ec2:ReplaceRoute ec2:DescribeRouteTables",
    "AWS::EC2::RouteTable": f"ec2:CreateRouteTable ec2:DeleteRouteTable ec2:DescribeRouteTables {_EC2_TAGS}",
    "AWS::EC2::SecurityGroup": "ec2:CreateSecurityGroup ec2:DeleteSecurityGroup ec2:DescribeSecurityGroups "
    "ec2:AuthorizeSecurityGroupEgress ec2:AuthorizeSecurityGroupIngress ec2:RevokeSecurityGroupEgress "
    f"ec2:RevokeSecurityGroupIngress {_EC2_TAGS}",
    "AWS::EC2::SecurityGroupIngress": "ec2:AuthorizeSecurityGroupIngress ec2:RevokeSecurityGroupIngress "
    "ec2:DescribeSecurityGroups ec2:DescribeSecurityGroupRules",
    "AWS::EC2::Subnet": "ec2:CreateSubnet ec2:DeleteSubnet ec2:DescribeSubnets ec2:ModifySubnetAttribute "
    f"ec2:DescribeAvailabilityZones {_EC2_TAGS}",
    "AWS::EC2::SubnetRouteTableAssociation": "ec2:AssociateRouteTable ec2:DisassociateRouteTable "
    "ec2:ReplaceRouteTableAssociation ec2:DescribeRouteTables ec2:DescribeSubnets",
    "AWS::EC2::VPC": "ec2:CreateVpc ec2:DeleteVpc ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:ModifyVpcAttribute "
    f"ec2:DescribeNetworkAcls ec2:DescribeSecurityGroups {_EC2_TAGS}",
    "AWS::EC2::VPCEndpoint": "ec2:CreateVpcEndpoint ec2:DeleteVpcEndpoints ec2:DescribeVpcEndpoints "
    f"ec2:ModifyVpcEndpoint ec2:DescribeVpcEndpointServices ec2:DescribePrefixLists {_EC2_TAGS}",
    "AWS::EC2::VPCGatewayAttachment": "ec2:AttachInternetGateway ec2:DetachInternetGateway "
    "ec2:DescribeInternetGateways",
    "AWS::ECS::Cluster": "ecs:CreateCluster ecs:DeleteCluster ecs:DescribeClusters ecs:UpdateCluster "
    "ecs:UpdateClusterSettings ecs:PutClusterCapacityProviders ecs:TagResource ecs:UntagResource",
    "AWS::ECS::Service": "ecs:CreateService ecs:DeleteService ecs:DescribeServices ecs:UpdateService "
    "ecs:DescribeServiceDeployments ecs:ListServiceDeployments ecs:DescribeServiceRevisions ecs:TagResource "
    "ecs:UntagResource iam:PassRole",
    "AWS::ECS::TaskDefinition": "ecs:RegisterTaskDefinition ecs:DeregisterTaskDefinition ecs:DescribeTaskDefinition "
    "ecs:DeleteTaskDefinitions ecs:TagResource ecs:UntagResource iam:PassRole",
    "AWS::Events::EventBus": "events:CreateEventBus events:DeleteEventBus events:DescribeEventBus "
    "events:UpdateEventBus events:PutPermission events:RemovePermission events:TagResource events:UntagResource "
    "events:ListTagsForResource",
    "AWS::IAM::Policy": "iam:PutRolePolicy iam:DeleteRolePolicy iam:GetRolePolicy",
    "AWS::IAM::Role": "iam:CreateRole iam:DeleteRole iam:GetRole iam:UpdateRole iam:UpdateAssumeRolePolicy "
    "iam:AttachRolePolicy iam:DetachRolePolicy iam:ListAttachedRolePolicies iam:ListRolePolicies iam:GetRolePolicy "
    "iam:PutRolePolicy iam:DeleteRolePolicy iam:PutRolePermissionsBoundary iam:DeleteRolePermissionsBoundary "
    "iam:TagRole iam:UntagRole iam:ListRoleTags",
    "AWS::KMS::Key": "kms:CreateKey kms:DescribeKey kms:EnableKeyRotation kms:DisableKeyRotation "
    "kms:GetKeyPolicy kms:GetKeyRotationStatus kms:ListResourceTags kms:PutKeyPolicy kms:ScheduleKeyDeletion "
    "kms:TagResource kms:UntagResource kms:UpdateKeyDescription",
    "AWS::Lambda::Alias": "lambda:CreateAlias lambda:DeleteAlias lambda:GetAlias lambda:UpdateAlias "
    "lambda:PutProvisionedConcurrencyConfig lambda:GetProvisionedConcurrencyConfig "
    "lambda:DeleteProvisionedConcurrencyConfig",
    "AWS::Lambda::EventSourceMapping": "lambda:CreateEventSourceMapping lambda:DeleteEventSourceMapping "
    "lambda:GetEventSourceMapping lambda:UpdateEventSourceMapping lambda:TagResource lambda:UntagResource "
    "lambda:ListTags",
    # The code is read from the CDK's bucket.
    "AWS::Lambda::Function": "lambda:CreateFunction lambda:DeleteFunction lambda:GetFunction "
    "lambda:GetFunctionConfiguration lambda:UpdateFunctionCode lambda:UpdateFunctionConfiguration "
    "lambda:PutFunctionConcurrency lambda:DeleteFunctionConcurrency lambda:GetFunctionCodeSigningConfig "
    "lambda:GetFunctionRecursionConfig lambda:GetRuntimeManagementConfig lambda:TagResource lambda:UntagResource "
    "lambda:ListTags iam:PassRole s3:GetObject",
    "AWS::Lambda::Permission": "lambda:AddPermission lambda:RemovePermission lambda:GetPolicy",
    "AWS::Lambda::Version": "lambda:PublishVersion lambda:DeleteFunction lambda:GetFunction "
    "lambda:GetFunctionConfiguration lambda:ListVersionsByFunction",
    "AWS::Logs::LogGroup": "logs:CreateLogGroup logs:DeleteLogGroup logs:DescribeLogGroups logs:PutRetentionPolicy "
    "logs:DeleteRetentionPolicy logs:AssociateKmsKey logs:DisassociateKmsKey logs:TagResource logs:UntagResource "
    "logs:ListTagsForResource logs:DescribeIndexPolicies logs:GetDataProtectionPolicy",
    "AWS::SNS::Subscription": "sns:Subscribe sns:Unsubscribe sns:GetSubscriptionAttributes "
    "sns:SetSubscriptionAttributes sns:ListSubscriptionsByTopic",
    "AWS::SNS::Topic": "sns:CreateTopic sns:DeleteTopic sns:GetTopicAttributes sns:SetTopicAttributes "
    "sns:GetDataProtectionPolicy sns:ListSubscriptionsByTopic sns:ListTagsForResource sns:TagResource "
    "sns:UntagResource",
    "AWS::SNS::TopicPolicy": "sns:SetTopicAttributes sns:GetTopicAttributes",
    "AWS::SQS::Queue": "sqs:CreateQueue sqs:DeleteQueue sqs:GetQueueAttributes sqs:GetQueueUrl "
    "sqs:SetQueueAttributes sqs:ListQueueTags sqs:TagQueue sqs:UntagQueue",
    "AWS::SQS::QueuePolicy": "sqs:SetQueueAttributes sqs:GetQueueAttributes",
}
ACTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {kind: frozenset(actions.split()) for kind, actions in _BY_TYPE.items()}
)
