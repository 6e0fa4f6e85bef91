"""The text of a file that does not say how it is encoded."""

import codecs
import re
from collections.abc import Callable
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    # The longer ones first: each begins with the mark of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED: Final = re.compile(
    rb"""<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]{2,40})|<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_DECLARED_WITHIN: Final = 2048
_DECLARABLE: Final = ("utf-8", "iso8859", "cp", "koi8", "shift_jis", "euc_", "iso2022_jp", "gb", "big5", "mac", "tis")
# What browsers take these names for.
_SUPERSETS: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
_SAMPLE: Final = 65_536

_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROLS: Final = 0.005
_MOST_REPLACED: Final = 0.002

_SINGLE_HIGH_BYTE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_HIGH_BYTE: Final = re.compile(rb"[\x80-\xff]")
_HIGH: Final = re.compile("[^\x00-\x7f]")
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fc]")
_JAPANESE: Final = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3\u3000-\u303f]")
_HAN: Final = re.compile("[\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e]")
_CYRILLIC: Final = re.compile("[\u0430-\u044f\u0451]")
_SHIFT_JIS_PAIR: Final = re.compile(rb"[\x81-\x9f][\x40-\x7e\x80-\xfc]")


def text_of(data: bytes) -> str | None:
    """Decode a file.

    In this order: its byte order mark, UTF-8, UTF-16 without a mark, what an XML or HTML head declares, and then what
    the bytes look like: Japanese (Shift JIS), Russian (Windows), Korean, Chinese (GB 18030), else Western (Windows).

    Parameters
    ----------
    data : bytes
        The file.

    Returns
    -------
    str or None
        Without its mark; ``None`` when it is no text.
    """
    text = _decoded(data)
    sample = text[:_SAMPLE]
    return None if len(_CONTROL.findall(sample)) > _MOST_CONTROLS * len(sample) else text


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace").removeprefix("\ufeff")
    wide = _utf16_without_mark(data[:_SAMPLE])
    if wide:
        return data.decode(wide, errors="replace")
    text = data.decode("utf-8", errors="replace")
    # A stray byte, or one cut off at the end, makes no other encoding of it.
    if text.count("\ufffd") <= _MOST_REPLACED * len(text):
        return text
    declared = _declared(data[:_DECLARED_WITHIN])
    return data.decode(declared or _looks_like(data[:_SAMPLE]), errors="replace")


def _utf16_without_mark(sample: bytes) -> str | None:
    """Recognise UTF-16 by the zeros of its Latin letters, digits and line ends."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    units = len(sample) // 2
    if units and max(even, odd) > units * 0.2 and min(even, odd) < units * 0.02:
        return "utf-16-le" if odd > even else "utf-16-be"
    return None


def _declared(head: bytes) -> str | None:
    match = _DECLARED.search(head)
    if match is None:
        return None
    try:
        name = codecs.lookup((match[1] or match[2]).decode("ascii")).name
    except (LookupError, UnicodeDecodeError):
        return None
    # Python knows codecs that no page may ask for.
    return _SUPERSETS.get(name, name) if name.startswith(_DECLARABLE) else None


def _looks_like(sample: bytes) -> str:
    high = len(_HIGH_BYTE.findall(sample))
    # An accented letter or a curly quote stands between plain ones; other scripts come in runs.
    if len(_SINGLE_HIGH_BYTE.findall(sample)) <= high / 2:
        for encoding, fits in _LIKENESSES:
            text = _strictly(sample, encoding)
            if text is not None and fits(sample, text):
                return encoding
    return "cp1252"


def _strictly(sample: bytes, encoding: str) -> str | None:
    try:
        # The sample may end within a character.
        return codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _share(pattern: re.Pattern[str], text: str) -> float:
    high = _HIGH.findall(text)
    return len(pattern.findall(text)) / len(high) if high else 0.0


def _is_japanese(sample: bytes, text: str) -> bool:
    # Names and addresses have no kana; their first bytes are ones that the other encodings hardly use.
    pairs = len(_SHIFT_JIS_PAIR.findall(sample))
    typical = _share(_KANA, text) > 0.1 or pairs > len(_HIGH.findall(text)) / 2
    return typical and _share(_JAPANESE, text) > 0.9


_LIKENESSES: Final[tuple[tuple[str, Callable[[bytes, str], bool]], ...]] = (
    ("cp932", _is_japanese),
    # Small letters are far more than capitals, which no run of Chinese or Korean looks like.
    ("cp1251", lambda _, text: _share(_CYRILLIC, text) > 0.6),
    ("cp949", lambda _, text: _share(_HANGUL, text) > 0.8),
    ("gb18030", lambda _, text: _share(_HAN, text) > 0.9),
)
