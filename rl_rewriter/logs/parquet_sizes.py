"""Whether a Parquet file says of itself that it unpacks to more than any log or export does."""

from __future__ import annotations

from typing import Any

THRIFT_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 1 << 20}
"""Arguments for opening a file: how much its own description may hold."""
MAX_RATIO = 500
MAX_VALUES_A_ROW = 10_000

_FREE_BYTES = 64 << 20
_FREE_VALUES = 1 << 20


def oversize(file: Any) -> str:
    """What is too large, as the end of a sentence; "" where nothing is.

    It goes by the file's description of its row groups. What lies about itself there, or repeats
    one long text in many rows, isn't noticed: read a stranger's Parquet under a limit of memory.

    Args:
        file: A ``pyarrow.parquet.ParquetFile``.
    """
    metadata = file.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        packed = sum(column.total_compressed_size for column in columns)
        unpacked = sum(column.total_uncompressed_size for column in columns)
        if unpacked > max(_FREE_BYTES, MAX_RATIO * packed):
            return f"row group {number} unpacks to more than {MAX_RATIO} times its size"
        n_values = max((column.num_values for column in columns), default=0)
        if n_values > max(_FREE_VALUES, MAX_VALUES_A_ROW * group.num_rows):
            return f"row group {number} has more than {MAX_VALUES_A_ROW:,} values in a row"
    return ""
