"""What a Bedrock model id tells of the model behind it."""

import re
from typing import Final

# anthropic.claude-…, us.anthropic.claude-…, and either behind the last slash of an ARN.
_REGION_OF_PROFILE: Final = re.compile(r"(?:us-gov|apac|amer|global|us|eu|jp|au|sa|ca|in)\.(?=[a-z0-9-]+\.)")
_APPLICATION_PROFILE: Final = ":application-inference-profile/"

# Prompt caching began with Claude 3.5 Haiku, 3.5 Sonnet v2 and 3.7, and with Amazon Nova.
_WITHOUT_CACHE: Final = re.compile(
    r"anthropic\.claude-(?:v2|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet-20240620)", re.ASCII
)


def foundation_model(model_id: str) -> str:
    """Give the id of the model behind an id, an inference profile or an ARN.

    Raises
    ------
    ValueError
        For the ARN of an application inference profile, which does not tell.
    """
    if _APPLICATION_PROFILE in model_id:
        raise ValueError("Name the foundation model behind an application inference profile.")
    return _REGION_OF_PROFILE.sub("", model_id.rpartition("/")[2], count=1)


def provider_of(foundation_model_id: str) -> str:
    """Give who made the model, as Bedrock names them: ``anthropic``, ``amazon``, ..."""
    return foundation_model_id.partition(".")[0]


def takes_cache_points(foundation_model_id: str) -> bool:
    """Tell whether the model reads a marked prefix from cache; to others a cache point is an invalid request."""
    if provider_of(foundation_model_id) == "anthropic":
        return _WITHOUT_CACHE.match(foundation_model_id) is None
    return foundation_model_id.startswith("amazon.nova-")


def takes_cache_points_after_tools(foundation_model_id: str) -> bool:
    """Tell whether a cache point may stand beside a tool's result: with Amazon Nova it may not."""
    return provider_of(foundation_model_id) == "anthropic"
