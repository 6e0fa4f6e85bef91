"""What a terminal may be given of a text that somebody else wrote: letters, and nothing that it would obey."""

from typing import Final

_PICTURES: Final = 0x2400
_REPLACEMENT: Final = 0xFFFD

# ESC, CSI and OSC move the cursor, colour, rename the window, write to the clipboard. Each is shown as a sign of its
# own (U+241B for ESC). A carriage return would write over what is there; models use it before a line's end only.
_SHOWN: Final = {
    **{code: _PICTURES + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    ord("\r"): None,
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    # What turns the order of the letters around, so that a line says something else than it holds.
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),
    # Half a letter, which no terminal's encoding has.
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),
}


def shown(text: str) -> str:
    """Give a text without control characters but tab and newline."""
    return text.translate(_SHOWN)
