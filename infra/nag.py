"""cdk-nag's AWS Solutions rules, and why some of their findings are meant to be so.

A finding that is not accepted here fails the synthesis.
"""

import json
from collections.abc import Iterator
from typing import Final

from aws_cdk import Acknowledgment, App, Validations
from cdk_nag import AwsSolutionsChecks
from constructs import Construct

from infra.constructs.dead_letters import DeadLetters
from infra.stacks.data_stack import UPLOADS_OUTPUT, DataStack
from infra.stacks.service_stack import ServiceStack
from shared.adapters.routes import ROUTES
from shared.domain.uploads import USERS_PREFIX

_NO_ACCESS_LOG: Final = (
    "A log of the bucket would need a second bucket that only grows. Uploads arrive through URLs that we sign, every "
    "change is an event, and CloudTrail's data events can be switched on by an account that must keep an audit trail."
)
_NO_PLUS_TIER: Final = (
    "Threat protection is billed for each active user. The password policy, optional second factor and hidden user "
    "existence do without it; an account can raise the tier without a change of code."
)
_NO_FORCED_MFA: Final = "Optional: the command line and the smoke test sign in with a password alone."
_IS_DEAD_LETTERS: Final = "It is where failures of an event target or an asynchronous function end, with an alarm."
_TRACES: Final = "X-Ray's two write actions know no resource. A test asserts that nothing else is allowed on '*'."
_UPLOADS: Final = "The objects of users, whose keys all start with one. Which user it is, is the function's to check."
_TEXT_SEARCH: Final = "Newer than the schema that is looked at; botocore's model of the service has it."
_PYTHON_3_13: Final = (
    "The bundles hold compiled wheels and bytecode of 3.13, and the streaming runtime client is tested on it. The "
    "version is raised on purpose, in one place, not when AWS adds one."
)
_APPS_VALIDATE: Final = (
    "The apps validate, with messages that say what is wrong; LangGraph's clients send fields that a model of the "
    "gateway would refuse."
)
_GATEWAY_ROLE: Final = "The role with which API Gateway writes logs; AWS asks for exactly this managed policy."
_PUBLIC: Final = "A public route of the table of routes: it says that the service is there and nothing of any user."
_NO_FIREWALL: Final = (
    "A web ACL costs more than the rest of an idle deployment. Throttling and the authorizer stand before every "
    "function; an ACL is associated with the stage from outside when an account has one."
)


def check(app: App, data: DataStack, service: ServiceStack) -> None:
    """Check an app with the rules, less what is accepted.

    Parameters
    ----------
    app : App
        What is checked.
    data, service
        Its stacks.
    """
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    for construct, rule, reason in _accepted(data, service):
        known = rule if "::" in rule.split("[")[0] else f"AwsSolutions::AwsSolutions-{rule}"
        Validations.of(construct).acknowledge(Acknowledgment(id=known, reason=reason))


def _accepted(data: DataStack, service: ServiceStack) -> Iterator[tuple[Construct, str, str]]:
    yield data.uploads, "S1", _NO_ACCESS_LOG
    yield data.users.pool, "COG8", _NO_PLUS_TIER
    yield data.users.pool, "COG2", _NO_FORCED_MFA
    for function in service.functions:
        yield function.role, "IAM5[Resource::*]", _TRACES
        yield function.function, "L1", _PYTHON_3_13
    for function in (service.kb_ingest, service.memory_api, service.chat):
        yield function.role, f"IAM5[Resource::{_objects_of(data)}]", _UPLOADS
    if data.vectors:
        yield data.vectors.index, "CloudFormation-Validate::F3002", _TEXT_SEARCH
    for construct in service.node.find_all():
        if isinstance(construct, DeadLetters):
            yield construct, "SQS3", _IS_DEAD_LETTERS
    api = service.api.rest_api
    yield api, "APIG2", _APPS_VALIDATE
    yield (
        api.node.find_child("CloudWatchRole"),
        "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]",
        _GATEWAY_ROLE,
    )
    yield api.deployment_stage, "APIG3", _NO_FIREWALL
    for route in ROUTES:
        if route.public:
            method = api.root.resource_for_path(route.path).node.find_child(route.method)
            yield method, "APIG4", _PUBLIC
            yield method, "COG4", _PUBLIC


def _objects_of(data: DataStack) -> str:
    """Give the ARN of the users' objects as the rule writes it."""
    bucket = {"Fn::GetStackOutput": {"StackName": data.stack_name, "OutputName": UPLOADS_OUTPUT}}
    return f"arn:<AWS::Partition>:s3:::{json.dumps(bucket, separators=(',', ':'))}/{USERS_PREFIX}*"
