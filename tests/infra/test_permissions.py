"""What each role may do, action by action: a new permission has to be written here too."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.infra.templates import Synthesised, as_list, properties_of, statements_of, text_of

READ = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"]
CHECKPOINTS = [*READ, "dynamodb:BatchWriteItem", "dynamodb:UpdateItem"]
LOGS = ["logs:CreateLogStream", "logs:PutLogEvents"]
OCR = ["textract:DetectDocumentText"]
TRACES = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
MODEL = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
RECEIVE = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
KEY = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"]

EU = ("eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3")
SONNET = "anthropic.claude-sonnet-4-5-20250929-v1:0"
HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"


def profile(model: str) -> str:
    return f"arn:<AWS::Partition>:bedrock:<AWS::Region>:<AWS::AccountId>:inference-profile/eu.{model}"


def models(model: str) -> list[str]:
    return [f"arn:<AWS::Partition>:bedrock:{region}::foundation-model/{model}" for region in EU]


EMBEDDINGS = "arn:<AWS::Partition>:bedrock:<AWS::Region>::foundation-model/amazon.titan-embed-text-v2:0"
OBJECTS = "arn:<AWS::Partition>:s3:::<UploadsBucket>/users/*"
VECTORS = ["s3vectors:DeleteVectors", "s3vectors:GetVectors", "s3vectors:PutVectors", "s3vectors:QueryVectors"]
SEARCH = ["s3vectors:GetVectors", "s3vectors:QueryVectors"]
MEMORY, INDEX, CHECKPOINT_TABLE = "<MemoryTableArn>", "<MemoryTableArn>/index/by_last_message", "<CheckpointsTableArn>"


def rows(*actions: str) -> tuple[list[str], list[str]]:
    return [f"dynamodb:{action}" for action in actions], [MEMORY]


def grants(*pairs: tuple[list[str], list[str]]) -> dict[str, list[str]]:
    """Resource to actions."""
    granted: dict[str, list[str]] = {}
    for actions, resources in pairs:
        for resource in resources:
            granted[resource] = sorted([*granted.get(resource, []), *actions])
    return granted


EVERYWHERE = [(TRACES, ["*"]), (KEY, ["<KeyArn>"])]
EXPECTED = {
    "chat": grants(
        *EVERYWHERE,
        (LOGS, ["<ChatLogs.Arn>"]),
        rows("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
        rows("ConditionCheckItem"),
        (["dynamodb:Query"], [INDEX]),
        (CHECKPOINTS, [CHECKPOINT_TABLE]),
        (["events:PutEvents"], ["<TurnEventsBus.Arn>"]),
        (["sqs:SendMessage"], ["<PurgesQueue.Arn>"]),
        (MODEL, [profile(SONNET), *models(SONNET), profile(HAIKU), *models(HAIKU)]),
        (["bedrock:InvokeModel"], [EMBEDDINGS]),
        (SEARCH, ["<VectorsIndexIndexArn>"]),
        (["s3:PutObject"], [OBJECTS]),
        (KEY, ["<KeyArn>"]),
        (KEY, ["<KeyArn>"]),
    ),
    "summarize": grants(
        *EVERYWHERE,
        (LOGS, ["<SummarizeLogs.Arn>"]),
        rows("GetItem", "Query", "PutItem", "UpdateItem", "ConditionCheckItem"),
        (READ, [CHECKPOINT_TABLE]),
        (["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"], ["<SummarizeDeadLetters.Arn>"]),
        (MODEL, [profile(HAIKU), *models(HAIKU)]),
    ),
    "memory_api": grants(
        *EVERYWHERE,
        (LOGS, ["<MemoryApiLogs.Arn>"]),
        rows("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
        (["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"], [OBJECTS]),
        (["s3:ListBucket"], ["<UploadsBucketArn>"]),
        (KEY, ["<KeyArn>"]),
        (["sqs:SendMessage"], ["<PurgesQueue.Arn>", "<ObjectEventsQueue.Arn>"]),
    ),
    "purge": grants(
        *EVERYWHERE,
        (LOGS, ["<PurgeLogs.Arn>"]),
        rows("GetItem", "Query", "PutItem", "UpdateItem", "BatchWriteItem"),
        (CHECKPOINTS, [CHECKPOINT_TABLE]),
        (RECEIVE, ["<PurgesQueue.Arn>"]),
    ),
    "kb_ingest": grants(
        *EVERYWHERE,
        (LOGS, ["<KbIngestLogs.Arn>"]),
        rows("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
        (["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:GetObjectVersion"], [OBJECTS]),
        (["s3:ListBucket"], ["<UploadsBucketArn>"]),
        (["s3:ListBucketVersions"], ["<UploadsBucketArn>"]),
        (VECTORS, ["<VectorsIndexIndexArn>"]),
        (KEY, ["<KeyArn>"]),
        (KEY, ["<KeyArn>"]),
        (["bedrock:InvokeModel"], [EMBEDDINGS]),
        (["textract:DetectDocumentText"], ["*"]),
        (["sqs:SendMessage"], ["<ObjectEventsQueue.Arn>"]),
        (RECEIVE, ["<ObjectEventsQueue.Arn>"]),
    ),
}


@pytest.mark.parametrize("function", EXPECTED)
def test_a_function_may_do_exactly_this(prod: Synthesised, function: str) -> None:
    role = prod.functions[function]["Role"]["Fn::GetAtt"][0]

    statements = list(statements_of(prod.service, role))

    assert {statement["Effect"] for statement in statements} == {"Allow"}
    assert EXPECTED[function] == grants(
        *(
            (as_list(statement["Action"]), [text_of(resource) for resource in as_list(statement["Resource"])])
            for statement in statements
        )
    )


@pytest.mark.parametrize(
    ("folder", "resource"),
    [("shared/adapters/dynamodb/checkpointer", CHECKPOINT_TABLE), ("shared/adapters/dynamodb", MEMORY)],
)
def test_the_chat_function_may_do_whatever_the_adapters_call(folder: str, resource: str) -> None:
    """A new call in an adapter is a new line above. Scan is for operators, with credentials of their own."""
    called = {
        f"dynamodb:{name.title().replace('_', '')}"
        for module in Path(folder).glob("*.py")
        for name in re.findall(r"_client\.(\w+)", module.read_text(encoding="utf-8"))
    }
    assert called
    assert called - {"dynamodb:Scan", "dynamodb:TransactWriteItems"} <= set(EXPECTED["chat"][resource])


def test_every_function_is_checked_and_has_a_role_of_its_own(prod: Synthesised) -> None:
    assert prod.functions.keys() == EXPECTED.keys()
    roles = [function["Role"]["Fn::GetAtt"][0] for function in prod.functions.values()]
    assert len(set(roles)) == len(roles)


def test_a_role_is_for_lambda_only(prod: Synthesised) -> None:
    for function in prod.functions.values():
        role = prod.service["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
        assert role["AssumeRolePolicyDocument"]["Statement"] == [
            {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}}
        ]


def test_no_policy_has_a_wildcard_but_for_users_objects_and_where_there_are_no_resources(prod: Synthesised) -> None:
    for policy in properties_of(prod.service, "AWS::IAM::Policy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            actions, resources = as_list(statement["Action"]), as_list(statement["Resource"])
            assert not [action for action in actions if "*" in action]
            wide = {text_of(resource) for resource in resources if "*" in text_of(resource)}
            assert wide <= {OBJECTS, "*"}
            if "*" in wide:
                assert set(actions) <= {*TRACES, *OCR}


def test_the_key_is_used_through_the_services_that_keep_data_only(prod: Synthesised) -> None:
    uses = [
        statement
        for policy in properties_of(prod.service, "AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "kms:Decrypt" in as_list(statement["Action"])
    ]
    through = Counter[str]()
    for statement in uses:
        [(condition, value)] = statement["Condition"]["StringEquals"].items()
        assert condition == "kms:ViaService"
        service, _, place = text_of(value).partition(".")
        assert place == "<AWS::Region>.<AWS::URLSuffix>"
        through[service] += 1
    assert through == {"dynamodb": len(EXPECTED), "s3": 3, "s3vectors": 2}


def test_only_the_api_and_the_rule_may_call_a_function(prod: Synthesised) -> None:
    callers = {
        (text_of(permission["FunctionName"]), permission["Principal"]): permission["SourceArn"]
        for permission in properties_of(prod.service, "AWS::Lambda::Permission")
    }
    assert callers.keys() == {
        ("<ChatFunction.Arn>", "apigateway.amazonaws.com"),
        ("<MemoryApiFunction.Arn>", "apigateway.amazonaws.com"),
        ("<SummarizeFunction.Arn>", "events.amazonaws.com"),
    }
    assert all(callers.values()), "each for one source"
