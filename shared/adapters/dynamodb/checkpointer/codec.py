"""Bodies of items: plain structures as msgpack, compressed when that pays.

A turn is a kilobyte or two of which most repeats in every turn: class names, field names, common words. Deflate finds
that only within one body, so each body is compressed against a dictionary of such text; a turn of usual length then
fits one write unit. The first byte says how the rest is to be read. A dictionary is part of the stored format: a new
one gets a new first byte, and the old one stays.
"""

import zlib
from typing import Any, Final

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_PLAIN: Final = b"\x00"
_DEFLATED: Final = b"\x01"

# What is most common stands last: deflate spends the fewest bits on short distances.
_PROSE: Final = (
    b" understand everything different question important information something following available available example, "
    b"between another without because through should before might could would there their about which these other "
    b"where while after using under being still right years world every first thing think place people little number "
    b"answer please however, currently several possible problem system change create write start point order want need "
    b"make take know good best time work give find used like just also only over such most more some than then them "
    b"they were been have will with your from what when that this into each does here well very much many even back "
    b"It's that's don't you're I'm let me know if you have any questions. Would you like me to help? I can Here are "
    b"some of the most common. For example, you can use it to make sure that this is not the same as \n\n1. **2. **3. "
    b"**\n\n- **:** \n```python\n```\n\n## \n\n### one of the in the to be of a and the to the for the on the is the "
    b"with a "
)
_STRUCTURE: Final = (
    b"\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_meta"
    b"data\x80\xa4type\xa4tool\xa4name\xa0\xa2id\xa0\xactool_call_id\xa0\xa8artifact\xc0\xa6status\xa7success\xb3model"
    b"_validate_json\x94\xbelangchain_core.messages.system\xadSystemMessage\x86\xa7content\xa0tooluse_\xa6userId\xadla"
    b"ngchain_core.messages.modifier\xadRemoveMessage\xae__remove_all__\xa6errors\xa5text\xa9thinking\xa5index\xa4json"
    b"\xad__interrupt__\xaf__pregel_tasks\xaclease_number\xa5alert\xa4fork\xa6update\xa5input\xa7account\xa6__root__"
    b"\xac__previous__\xa7__end__\xa9step\xa5agent\xa6router\xa5tools\xa5model\x85\xb0ResponseMetadata\x82\xaeHTTPStat"
    b"usCode\xcc\xc8\xadRetryAttempts\x00\xaastopReason\xa8tool_use\xaastopReason\xa8end_turn\xa7metrics\x81\xa9latenc"
    b"yMs\x91\xaamodel_name\xb3anthropic.claude\xaemodel_provider\xb0bedrock_converse\xa4type\xa2ai\xa4name\xc0\xa2id"
    b"\xd9$lc_run--\xaatool_calls\x91\x84\xa4name\xa0\xa4args\x80\xa2id\xa0\xa4type\xa9tool_call\xb2invalid_tool_calls"
    b"\x90\xaeusage_metadata\x84\xacinput_tokens\xcd\xadoutput_tokens\xcc\xactotal_tokens\xcd\xb3input_token_details"
    b"\x82\xaecache_creation\x00\xaacache_read\x00\xb3model_validate_json\xa6run_id\xd9$\xa6source\xa4loop\xa4step\xcc"
    b"\xa7parents\x80\x86\xa1v\x04\xa2ts\xd9 2026-11-30T15:48:41.748133+00:00\xa2id\xd9$1f1ecd58-453f-6966-8094-57c025"
    b"ecb224\xb0channel_versions\x85\xa9__start__\xcc\x93\xa8messages\xcc\x95\xb0branch:to:\xadversions_seen\x85\xa9__"
    b"input__\x80\xa9__start__\x81\xa9__start__\xcc\xa6router\x81\xb0branch:to:router\xcc\xa5agent\x81\xafbranch:to:ag"
    b"ent\xcc\xb0updated_channels\x90\x91\xa8messages\xc7\x88\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage"
    b"\x86\xa7content\xd9\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id\xd9$"
    b"\xb3model_validate_json\xc8\x01\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content\xd9\xb1additio"
    b"nal_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0\xa2id\xd9$\xaatool_calls\x90\xb2invalid_tool_c"
    b"alls\x90\xaeusage_metadata\xc0\xb3model_validate_json"
)

_DICTIONARY: Final = _PROSE + _STRUCTURE

# The highest level costs a tenth of a millisecond on a turn's body, and a write unit costs money.
_LEVEL: Final = 9
_RAW_DEFLATE: Final = -15
_MEMORY: Final = 9

# Our own structures hold nothing but texts, bytes, numbers, lists and maps; what the graph put in stands in them as
# bytes of the saver's serializer. So nothing else may ever be built from them.
_STRUCTURES: Final = JsonPlusSerializer(allowed_msgpack_modules=None)


def encode(structure: list[Any] | dict[str, Any]) -> bytes:
    """Write a plain structure as an item's body."""
    _, packed = _STRUCTURES.dumps_typed(structure)
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW_DEFLATE, _MEMORY, zdict=_DICTIONARY)
    deflated = deflate.compress(packed) + deflate.flush()
    return _DEFLATED + deflated if len(deflated) < len(packed) else _PLAIN + packed


def decode(body: bytes) -> Any:  # noqa: ANN401 - whatever was encoded
    """Give back what :func:`encode` was given; tuples come back as lists.

    Raises
    ------
    ValueError
        When the bytes are not a body.
    """
    kind, rest = body[:1], body[1:]
    if kind == _DEFLATED:
        inflate = zlib.decompressobj(_RAW_DEFLATE, zdict=_DICTIONARY)
        try:
            rest = inflate.decompress(rest) + inflate.flush()
        except zlib.error as error:
            raise ValueError("The body cannot be decompressed.") from error
        if not inflate.eof or inflate.unused_data:
            raise ValueError("The body ends early or late.")
    elif kind != _PLAIN:
        raise ValueError(f"Body of unknown kind {kind.hex() or 'none'}.")
    return _STRUCTURES.loads_typed(("msgpack", rest))
