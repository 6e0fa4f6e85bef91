"""The messages of the ingestion's own queue, beside S3's events. Ids only; producer and consumer read this module."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from shared.domain.errors import EverthreadError, InvalidIdError, MalformedEventError
from shared.domain.ids import DocumentId, UserId, parse_document_id, user_id_or_none


class ObjectGoneError(EverthreadError):
    """The uploaded object is not there any more."""

    code = "OBJECT_GONE"


def _legal_user(value: str) -> str:
    if user_id_or_none(value) is None:
        raise ValueError("no legal user id")
    return value


def _legal_document(value: str) -> str:
    try:
        canonical = parse_document_id(value)
    except InvalidIdError as error:
        raise ValueError("no document id") from error
    if canonical != value:
        raise ValueError("no canonical document id")
    return value


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    version: Literal[1] = 1
    user_id: Annotated[UserId, AfterValidator(_legal_user)]


class _OfADocument(_Message):
    document_id: Annotated[DocumentId, AfterValidator(_legal_document)]
    run: str


class IngestionStep(_OfADocument):
    """A run is to go on, from where the document's record says that it is.

    Parameters
    ----------
    user_id, document_id : str
        Whose document, and which.
    run : str
        Whose step it is; with another run on the record there is nothing to do.
    stalls : int
        How many steps in a row have brought the document no further.
    """

    kind: Literal["step"] = "step"
    stalls: int = Field(default=0, ge=0)


class DocumentRemoval(_OfADocument):
    """A document is to go with everything it has.

    Parameters
    ----------
    user_id, document_id : str
        Whose document, and which.
    run : str
        The run that had it when its owner deleted it; a newer one means that it was uploaded again, and stays.
    key : str
        The object.
    sha256 : str
        Of its bytes, where it is known: the document's row does not say any more.
    """

    kind: Literal["remove"] = "remove"
    sha256: str = ""
    key: str = Field(min_length=1)


class UserRemoval(_Message):
    """Everything that a user has in the knowledge base is to go: the account is being deleted.

    Parameters
    ----------
    user_id : str
        Whose. Who queues it has to have made sure that this user, or an administrator, asked for it.
    """

    kind: Literal["remove_user"] = "remove_user"


IngestionMessage = IngestionStep | DocumentRemoval | UserRemoval
"""What may be in the queue beside S3's events."""

_ANY: Final[TypeAdapter[IngestionMessage]] = TypeAdapter(Annotated[IngestionMessage, Field(discriminator="kind")])


def message_of(body: object) -> IngestionMessage:
    """Read a message of the queue.

    Raises
    ------
    MalformedEventError
        When it is none.
    """
    try:
        return _ANY.validate_python(body)
    except ValidationError:
        raise MalformedEventError("The message is no step of an ingestion.") from None
