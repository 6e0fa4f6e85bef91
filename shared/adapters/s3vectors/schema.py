"""Names and limits of the vector index; infra reads this module too.

The index has to be in ``ENHANCED`` mode, by cosine, of 32-bit floats: only then are filters looked at before the
search, and texts searched at all.
"""

from typing import Final

USER_ID: Final = "user_id"
DOCUMENT_ID: Final = "document_id"
TEXT: Final = "text"
PLACE: Final = "place"

NON_FILTERABLE: Final = (TEXT, PLACE)
"""Metadata that no filter may name. What filters may name has 2 KB for each vector, less than a text takes."""
SEARCHABLE: Final = (TEXT,)
"""Metadata whose words are searched: the index's text search configuration."""

VECTORS_A_WRITE: Final = 500
"""How many vectors one call may put or delete."""
QUERY_TEXT_CHARS: Final = 1024
"""How long a text to search for may be."""
FILTER_VALUES: Final = 90
"""How many documents one filter names; the service takes 100 constraints in all."""
