"""Serves the local model to the real AWS client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import boto3
from botocore.config import Config
from langchain_aws import ChatBedrockConverse

from local.model.reply import Source
from local.model.server import model_app
from local.serving import listen, serving

MODEL_ID = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"


def bedrock_client(url: str):
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )


@asynccontextmanager
async def bedrock(source: Source, control=None) -> AsyncIterator:
    async with serving(model_app(source, control=control), listen(0, "")) as url:
        client = bedrock_client(url)
        yield client
        client.close()


@asynccontextmanager
async def chat_model(source: Source, **options) -> AsyncIterator[ChatBedrockConverse]:
    async with bedrock(source) as client:
        yield ChatBedrockConverse(client=client, bedrock_client=client, model=MODEL_ID, **options)
