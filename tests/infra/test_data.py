"""What must not be lost, and what may be by stage."""

from typing import Any

import pytest

from shared.adapters.dynamodb import schema
from shared.adapters.s3vectors import schema as vectors
from tests.infra.templates import Synthesised, only, properties_of, resources_of, text_of


def table(synthesised: Synthesised, start: str) -> dict[str, Any]:
    tables = resources_of(synthesised.data, "AWS::DynamoDB::Table")
    return only([resource for name, resource in tables.items() if name.startswith(start)])


@pytest.mark.parametrize(("start", "spec"), [("Memory", schema.MEMORY_TABLE), ("Checkpoints", schema.CHECKPOINT_TABLE)])
def test_a_table_has_the_keys_that_the_adapters_use(prod: Synthesised, start: str, spec: schema.TableSpec) -> None:
    properties = table(prod, start)["Properties"]
    assert properties["KeySchema"] == [
        {"AttributeName": spec.partition_key, "KeyType": "HASH"},
        {"AttributeName": spec.sort_key, "KeyType": "RANGE"},
    ]
    indexes = {index["IndexName"]: index for index in properties.get("LocalSecondaryIndexes", [])}
    assert indexes.keys() == {index.name for index in spec.local_indexes}
    for index in spec.local_indexes:
        deployed = indexes[index.name]
        assert deployed["KeySchema"][1] == {"AttributeName": index.sort_key, "KeyType": "RANGE"}
        assert deployed["Projection"]["ProjectionType"] == "INCLUDE"
        assert set(deployed["Projection"]["NonKeyAttributes"]) == set(index.projected)
    assert {kind["AttributeType"] for kind in properties["AttributeDefinitions"]} == {"S"}


@pytest.mark.parametrize("start", ["Memory", "Checkpoints"])
def test_a_table_is_on_demand_expires_rows_and_can_be_put_back(prod: Synthesised, dev: Synthesised, start: str) -> None:
    for stage in (prod, dev):
        properties = table(stage, start)["Properties"]
        assert properties["BillingMode"] == "PAY_PER_REQUEST"
        assert properties["TimeToLiveSpecification"] == {"AttributeName": schema.TTL, "Enabled": True}
        assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


@pytest.mark.parametrize("start", ["Memory", "Checkpoints"])
def test_prod_keeps_its_tables_and_dev_may_lose_them(prod: Synthesised, dev: Synthesised, start: str) -> None:
    kept, lost = table(prod, start), table(dev, start)
    assert (kept["DeletionPolicy"], kept["Properties"]["DeletionProtectionEnabled"]) == ("Retain", True)
    assert kept["UpdateReplacePolicy"] == "Retain"
    assert (lost["DeletionPolicy"], lost["Properties"]["DeletionProtectionEnabled"]) == ("Delete", False)


@pytest.mark.parametrize("start", ["Memory", "Checkpoints"])
def test_prod_encrypts_with_a_key_of_its_own(prod: Synthesised, dev: Synthesised, start: str) -> None:
    encryption = table(prod, start)["Properties"]["SSESpecification"]
    assert encryption["SSEType"] == "KMS"
    assert text_of(encryption["KMSMasterKeyId"]) == "<Key.Arn>"
    assert only(properties_of(prod.data, "AWS::KMS::Key"))["EnableKeyRotation"] is True
    assert table(dev, start)["Properties"]["SSESpecification"] == {"SSEEnabled": False}, "a key that AWS owns"
    assert not resources_of(dev.data, "AWS::KMS::Key")


def test_the_bucket_is_private_versioned_and_tells_of_its_objects(prod: Synthesised) -> None:
    bucket = only(properties_of(prod.data, "AWS::S3::Bucket"))
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["NotificationConfiguration"] == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}
    rules = only(bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"])
    assert rules["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"


def test_the_bucket_takes_uploads_from_pages_and_forgets_what_was_deleted(prod: Synthesised) -> None:
    bucket = only(properties_of(prod.data, "AWS::S3::Bucket"))
    assert only(bucket["CorsConfiguration"]["CorsRules"])["AllowedMethods"] == ["PUT"]
    rule = only(bucket["LifecycleConfiguration"]["Rules"])
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert "ExpirationInDays" not in rule, "a document stays until its owner deletes it"


def test_the_bucket_takes_tls_only(prod: Synthesised) -> None:
    policy = only(properties_of(prod.data, "AWS::S3::BucketPolicy"))
    conditions = [
        statement["Condition"] for statement in policy["PolicyDocument"]["Statement"] if statement["Effect"] == "Deny"
    ]
    assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions


def test_uploads_outlive_the_stack_everywhere_but_here(prod: Synthesised, dev: Synthesised, local: Synthesised) -> None:
    policies = [
        only(list(resources_of(stage.data, "AWS::S3::Bucket").values()))["DeletionPolicy"]
        for stage in (prod, dev, local)
    ]
    assert policies == ["Retain", "Retain", "Delete"]


def test_people_are_made_by_an_administrator_unless_the_cloud_is_local(prod: Synthesised, local: Synthesised) -> None:
    made_by_admin = [
        only(properties_of(stage.data, "AWS::Cognito::UserPool"))["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"]
        for stage in (prod, local)
    ]
    assert made_by_admin == [True, False]


def test_passwords_are_long_and_the_pool_is_kept(prod: Synthesised) -> None:
    [pool] = resources_of(prod.data, "AWS::Cognito::UserPool").values()
    assert pool["Properties"]["Policies"]["PasswordPolicy"]["MinimumLength"] >= 12
    assert pool["Properties"]["DeletionProtection"] == "ACTIVE"
    assert pool["DeletionPolicy"] == "Retain"


@pytest.mark.parametrize("stage", ["prod", "dev", "local"])
def test_prods_client_never_sends_a_password(request: pytest.FixtureRequest, stage: str) -> None:
    client = only(properties_of(request.getfixturevalue(stage).data, "AWS::Cognito::UserPoolClient"))
    flows = {"ALLOW_USER_SRP_AUTH", "ALLOW_ADMIN_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"}
    assert set(client["ExplicitAuthFlows"]) == flows | ({"ALLOW_USER_PASSWORD_AUTH"} if stage != "prod" else set())


def test_the_client_holds_no_secret_and_its_tokens_end(prod: Synthesised) -> None:
    client = only(properties_of(prod.data, "AWS::Cognito::UserPoolClient"))
    assert client["GenerateSecret"] is False
    assert client["PreventUserExistenceErrors"] == "ENABLED"
    assert client["IdTokenValidity"] == 60
    # What a user may change about themselves; never an id or a group.
    assert set(client["WriteAttributes"]) == {"email", "name", "picture"}


def test_the_outputs_that_scripts_and_clients_read(prod: Synthesised) -> None:
    named = {name for name in prod.data["Outputs"] if not name.startswith(("Exports", "Publish"))}
    assert named == {"MemoryTable", "CheckpointTable", "UploadsBucket", "UserPoolId", "UserPoolClientId"}
    assert {"ApiUrl", "EventBus", "PurgeQueueUrl", "AlarmTopic", "ChatFunction", "SummarizeFunction"} <= set(
        prod.service["Outputs"]
    )


def test_no_stage_has_a_custom_resource(prod: Synthesised, dev: Synthesised, local: Synthesised) -> None:
    for stage in (prod, dev, local):
        for template in (stage.data, stage.service):
            kinds = {resource["Type"] for resource in template["Resources"].values()}
            assert not [kind for kind in kinds if kind.startswith(("Custom::", "AWS::CloudFormation::Custom"))]


def test_prod_searches_on_s3_vectors_and_the_others_in_the_table(
    prod: Synthesised, dev: Synthesised, local: Synthesised
) -> None:
    index = only(properties_of(prod.data, "AWS::S3Vectors::Index"))
    assert (index["DataType"], index["Dimension"], index["DistanceMetric"]) == ("float32", 1024, "cosine")
    metadata = index["MetadataConfiguration"]
    assert metadata["NonFilterableMetadataKeys"] == list(vectors.NON_FILTERABLE)
    assert [each["MetadataKey"] for each in metadata["TextSearchConfigurations"]] == list(vectors.SEARCHABLE)
    bucket = only(properties_of(prod.data, "AWS::S3Vectors::VectorBucket"))
    assert bucket["EncryptionConfiguration"]["SseType"] == "aws:kms"
    for stage in (dev, local):
        assert not resources_of(stage.data, "AWS::S3Vectors::Index")


def test_prod_keeps_its_vectors(prod: Synthesised) -> None:
    for kind in ("AWS::S3Vectors::Index", "AWS::S3Vectors::VectorBucket"):
        assert only(list(resources_of(prod.data, kind).values()))["DeletionPolicy"] == "Retain"


def test_the_service_that_indexes_vectors_may_read_what_the_key_encrypts(prod: Synthesised) -> None:
    policy = only(properties_of(prod.data, "AWS::KMS::Key"))["KeyPolicy"]["Statement"]
    [reader] = [each for each in policy if each["Principal"] == {"Service": "indexing.s3vectors.amazonaws.com"}]
    assert reader["Action"] == "kms:Decrypt"
    assert text_of(reader["Condition"]["StringEquals"]["aws:SourceAccount"]) == "<AWS::AccountId>"


def test_a_stage_may_be_told_where_to_search_and_what_reads_pictures() -> None:
    from infra.stages import stage_of

    assert stage_of({"stage": "dev", "index": "s3vectors"}).index == "s3vectors"
    assert stage_of({"stage": "prod", "index": "exact", "ocr": "none"}).ocr == "none"
    for wrong in ({"index": "postgres"}, {"ocr": "tesseract"}):
        with pytest.raises(ValueError, match="is one of"):
            stage_of({"stage": "dev", **wrong})
