"""What must not be lost: the tables, the uploads and the user pool."""

from typing import Final

from aws_cdk import CfnOutput, Environment, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.constructs.table import Table
from infra.constructs.uploads import Uploads
from infra.constructs.users import Users
from infra.constructs.vector_index import VectorIndex
from infra.stages import Stage
from shared.adapters.dynamodb.schema import CHECKPOINT_TABLE, MEMORY_TABLE

UPLOADS_OUTPUT: Final = "UploadsBucket"
"""The output that names the bucket of the uploads."""


class DataStack(Stack):
    """Everything with a state, apart from what can be thrown away and deployed again.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Which deployment.
    env : Environment or None
        Account and region, when they are known.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, env: Environment | None = None) -> None:
        super().__init__(
            scope,
            construct_id,
            stack_name=f"everthread-{stage.name}-data",
            description=f"Everthread {stage.name}: tables, uploads, users",
            termination_protection=stage.keep_data,
            env=env,
        )
        self.key = self._customer_key(stage) if stage.customer_key else None
        self.memory = Table(self, "Memory", spec=MEMORY_TABLE, stage=stage, key=self.key)
        self.checkpoints = Table(self, "Checkpoints", spec=CHECKPOINT_TABLE, stage=stage, key=self.key)
        self.uploads = Uploads(self, "Uploads", stage=stage, key=self.key)
        self.users = Users(self, "Users", stage=stage)
        self.vectors = (
            VectorIndex(self, "Vectors", stage=stage, dimension=stage.embeddings.dimension, key=self.key)
            if stage.index == "s3vectors"
            else None
        )
        for name, value in {
            "MemoryTable": self.memory.name,
            "CheckpointTable": self.checkpoints.name,
            UPLOADS_OUTPUT: self.uploads.bucket.bucket_name,
            "UserPoolId": self.users.pool.user_pool_id,
            "UserPoolClientId": self.users.client.user_pool_client_id,
        }.items():
            CfnOutput(self, name, value=value)

    def _customer_key(self, stage: Stage) -> kms.Key:
        return kms.Key(
            self,
            "Key",
            description=f"Everthread {stage.name}: what users have",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY,
        )
