"""Which model stands behind the local model's address."""

from starlette.types import ASGIApp

from local.faults import ModelFault
from local.loopback import NotLoopbackError
from local.model.bedrock import NoCredentialsError, bedrock_app
from local.model.control import control_routes
from local.model.demo.source import DemoSource
from local.model.openai import OpenAISource
from local.model.scripted import ScriptedSource
from local.model.server import model_app
from local.settings import LocalSettings


def chosen_model(settings: LocalSettings) -> ASGIApp:
    """Build the server of the model that the settings choose.

    Raises
    ------
    ModelFault
        When it cannot be used as things are set.
    """
    match settings.model:
        case "demo":
            return model_app(DemoSource(settings.demo_pause))
        case "scripted":
            source = ScriptedSource(DemoSource(pause=0))
            return model_app(source, control=control_routes(source))
        case "openai":
            return model_app(_openai(settings))
        case "bedrock":
            try:
                return bedrock_app()
            except NoCredentialsError as error:
                raise ModelFault(str(error)) from error


def _openai(settings: LocalSettings) -> OpenAISource:
    try:
        return OpenAISource(
            settings.openai_base_url,
            settings.openai_model,
            api_key=settings.openai_api_key,
            allow_remote=settings.openai_allow_remote,
        )
    except NotLoopbackError as error:
        raise ModelFault(f"OPENAI_BASE_URL: {error} Set OPENAI_ALLOW_REMOTE=1 if that is meant.") from error
