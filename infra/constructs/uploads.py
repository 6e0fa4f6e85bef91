"""The bucket that people's documents are uploaded to."""

from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.stages import Stage
from shared.adapters.routes import CORS_ORIGIN


class Uploads(Construct):
    """A private, versioned bucket that tells EventBridge about its objects.

    It outlives every stack in an AWS account: nothing but a person deletes what people uploaded.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Which deployment.
    key : kms.Key or None
        Encrypts the objects; S3's own key when there is none.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, key: kms.Key | None) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=key is not None,
            cors=[
                s3.CorsRule(
                    allowed_methods=[s3.HttpMethods.PUT],
                    allowed_origins=[CORS_ORIGIN],
                    allowed_headers=["content-type"],
                    exposed_headers=["ETag"],
                    max_age=int(Duration.hours(1).to_seconds()),
                )
            ],
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="what-is-left-over",
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expired_object_delete_marker=True,
                    # A deleted document is gone for good after a month.
                    noncurrent_version_expiration=Duration.days(30),
                )
            ],
            removal_policy=RemovalPolicy.DESTROY if stage.is_local else RemovalPolicy.RETAIN,
        )
        # Not `event_bridge_enabled=True`: that brings a custom resource, a function with rights on every bucket.
        resource = cast("s3.CfnBucket", self.bucket.node.default_child)
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )
