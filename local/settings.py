"""What the person at the terminal may choose, by variables."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.faults import LocalFault

ModelMode = Literal["demo", "openai", "bedrock", "scripted"]
"""``demo``: offline, no language model. ``openai``: an OpenAI-compatible server. ``bedrock``: real Bedrock.
``scripted``: for tests."""

Port = Annotated[int, Field(ge=0, le=65535)]


class LocalSettings(BaseModel):
    """The variables of ``make local``; the field's name is the variable's in lower case.

    Parameters
    ----------
    model : str
        What answers; see :data:`ModelMode`.
    local_port : int
        Where the API is served.
    local_cloud_port : int
        Where the local cloud is; 0 takes any free one.
    openai_base_url, openai_model, openai_api_key : str
        For ``MODEL=openai``; the defaults are Ollama's.
    openai_allow_remote : bool
        Whether that server may be on another machine.
    demo_pause : float
        Seconds between two words of the demo model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: ModelMode = "demo"
    local_port: Port = 8024
    local_cloud_port: Port = 4566
    openai_base_url: str = "http://127.0.0.1:11434/v1"
    openai_model: str = "llama3.2"
    openai_api_key: str | None = None
    openai_allow_remote: bool = False
    demo_pause: Annotated[float, Field(ge=0, le=5)] = 0.03

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read the settings from variables; empty ones count as not set.

        Raises
        ------
        LocalFault
            When a value makes no sense; the message names the variable.
        """
        values = {name: environ[name.upper()] for name in cls.model_fields if environ.get(name.upper())}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            wrong = "; ".join(f"{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in error.errors())
            raise LocalFault(f"These settings make no sense: {wrong}.") from error
