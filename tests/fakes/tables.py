"""The two tables on a mocked DynamoDB, made from the definitions that the data stack deploys."""

from typing import TYPE_CHECKING

from shared.adapters.dynamodb.schema import CHECKPOINT_TABLE, MEMORY_TABLE, TableSpec

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def create_memory_table(client: "DynamoDBClient", name: str = "memory") -> str:
    return _create(client, name, MEMORY_TABLE)


def create_checkpoint_table(client: "DynamoDBClient", name: str = "checkpoints") -> str:
    return _create(client, name, CHECKPOINT_TABLE)


def _create(client: "DynamoDBClient", name: str, spec: TableSpec) -> str:
    key_attributes = {spec.partition_key, spec.sort_key, *(index.sort_key for index in spec.local_indexes)}
    request = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in sorted(key_attributes)],
        "KeySchema": _key_schema(spec.partition_key, spec.sort_key),
    }
    if spec.local_indexes:
        request["LocalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeySchema": _key_schema(spec.partition_key, index.sort_key),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.projected)},
            }
            for index in spec.local_indexes
        ]
    client.create_table(**request)
    client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": spec.ttl})
    return name


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}]
