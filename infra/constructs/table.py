"""A DynamoDB table made from the definition that the adapters and their tests use."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.stages import Stage
from shared.adapters.dynamodb.schema import TableSpec


class Table(Construct):
    """An on-demand table with time to live.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    spec : TableSpec
        Its keys and indexes.
    stage : Stage
        Recovery, protection and whether the table outlives the stack.
    key : kms.Key or None
        Encrypts the table; a key that AWS owns when there is none.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, spec: TableSpec, stage: Stage, key: kms.Key | None
    ) -> None:
        super().__init__(scope, construct_id)
        table = dynamodb.Table(
            self,
            "Table",
            partition_key=_text(spec.partition_key),
            sort_key=_text(spec.sort_key),
            time_to_live_attribute=spec.ttl,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=stage.point_in_time_recovery
            ),
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else dynamodb.TableEncryption.DEFAULT,
            encryption_key=key,
            deletion_protection=stage.keep_data,
            removal_policy=RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY,
        )
        for index in spec.local_indexes:
            table.add_local_secondary_index(
                index_name=index.name,
                sort_key=_text(index.sort_key),
                projection_type=dynamodb.ProjectionType.INCLUDE,
                non_key_attributes=list(index.projected),
            )
        self.name = table.table_name
        self.arn = table.table_arn
        self.index_arns = [f"{self.arn}/index/{index.name}" for index in spec.local_indexes]


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
