"""The checkpointer: an append-only log on DynamoDB.

Who uses it needs three names; what they do, and why, is told in ``docs/decisions/0002-append-only-checkpoint-log.md``.
"""

from shared.adapters.dynamodb.checkpointer.messages import DynamoThreadMessages
from shared.adapters.dynamodb.checkpointer.purge import DynamoCheckpoints
from shared.adapters.dynamodb.checkpointer.saver import DynamoDBSaver, checkpointer_for

__all__ = ["DynamoCheckpoints", "DynamoDBSaver", "DynamoThreadMessages", "checkpointer_for"]
