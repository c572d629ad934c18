"""What DynamoDB and SQS have in common: how a client is made, what a failure means, and when a call is made again."""
