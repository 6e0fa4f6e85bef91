"""The index of the knowledge base on Amazon S3 Vectors."""

from typing import Final

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3vectors as s3vectors
from constructs import Construct

from infra.stages import Stage
from shared.adapters.s3vectors.schema import NON_FILTERABLE, SEARCHABLE

_LANGUAGE: Final = "en"
"""Whose endings the search by words knows. Words of other languages are found as they are written; meaning is found
by the vectors, whatever the language."""

# What indexes the vectors in the background, and reads them to do so.
_INDEXER: Final = "indexing.s3vectors.amazonaws.com"


class VectorIndex(Construct):
    """One index for all users, in a vector bucket of its own.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Which deployment.
    dimension : int
        How many numbers each vector has. An index of another dimension is another index: every document has to be
        processed again.
    key : kms.Key or None
        Encrypts vectors and the texts beside them; the service's own key when there is none.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: Stage, dimension: int, key: kms.Key | None
    ) -> None:
        super().__init__(scope, construct_id)
        removal = RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY
        self.bucket = s3vectors.CfnVectorBucket(
            self,
            "Bucket",
            encryption_configuration=s3vectors.CfnVectorBucket.EncryptionConfigurationProperty(
                sse_type="aws:kms" if key else "AES256", kms_key_arn=key.key_arn if key else None
            ),
        )
        self.bucket.apply_removal_policy(removal)
        self.index = s3vectors.CfnIndex(
            self,
            "Index",
            vector_bucket_arn=self.bucket.attr_vector_bucket_arn,
            data_type="float32",
            dimension=dimension,
            distance_metric="cosine",
            metadata_configuration=s3vectors.CfnIndex.MetadataConfigurationProperty(
                non_filterable_metadata_keys=list(NON_FILTERABLE)
            ),
        )
        # Neither the construct library nor the linter knows of it yet. Only such an index searches texts.
        self.index.add_property_override(
            "MetadataConfiguration.TextSearchConfigurations",
            [{"MetadataKey": name, "Language": _LANGUAGE} for name in SEARCHABLE],
        )
        self.index.add_metadata("cfn-lint", {"config": {"ignore_checks": ["E3002"]}})
        self.index.apply_removal_policy(removal)
        if key is not None:
            self._let_the_indexer_read(key)

    @property
    def arn(self) -> str:
        """The index's ARN."""
        return self.index.attr_index_arn

    def _let_the_indexer_read(self, key: kms.Key) -> None:
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(_INDEXER)],
                actions=["kms:Decrypt"],
                resources=["*"],  # a key's policy speaks of that key
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
