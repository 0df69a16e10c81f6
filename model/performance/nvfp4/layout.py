"""The matrix of block scales as matrix multiplications read it: padded to tiles, and swizzled.

A tile has 128 rows and 4 columns, 512 bytes in a row: the scale of row r and column c of a tile is
at ``(r % 32) * 16 + (r // 32) * 4 + c``, and tiles follow each other along the columns (cuBLAS,
section "1D block scaling factors layout").
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4.minifloat import Codes

T = TypeVar("T", bound=np.generic)

TILE_ROWS: Final = 128
TILE_COLUMNS: Final = 4


def padded_shape(rows: int, columns: int) -> tuple[int, int]:
    """The size of a matrix of scales in whole tiles."""
    if rows < 0 or columns < 0:
        raise ModelError(f"a matrix of scales has no {rows} rows of {columns}")
    return -(-rows // TILE_ROWS) * TILE_ROWS, -(-columns // TILE_COLUMNS) * TILE_COLUMNS


def swizzle(scales: Codes) -> Codes:
    """The bytes of a matrix of scales (rows, columns) in the order of the tiles, padded with 0."""
    if scales.ndim != 2:
        raise ModelError(f"scales are swizzled as a matrix; their shape is {scales.shape}")
    rows, columns = padded_shape(*scales.shape)
    padded = np.zeros((rows, columns), dtype=np.uint8)
    padded[: scales.shape[0], : scales.shape[1]] = scales
    return _tiles(padded, rows, columns).reshape(-1)


def unswizzle(swizzled: Codes, rows: int, columns: int) -> Codes:
    """The matrix of scales (rows, columns) in swizzled bytes."""
    high, wide = padded_shape(rows, columns)
    if swizzled.shape != (high * wide,):
        raise ModelError(
            f"{rows} rows of {columns} scales are {high * wide} bytes, not {swizzled.shape}"
        )
    places = _tiles(np.arange(high * wide).reshape(high, wide), high, wide).reshape(-1)
    whole = np.empty(high * wide, dtype=np.uint8)
    whole[places] = swizzled
    return whole.reshape(high, wide)[:rows, :columns]


def _tiles(padded: NDArray[T], rows: int, columns: int) -> NDArray[T]:
    """A padded matrix by tile row, tile column, row modulo 32, row divided by 32, and column."""
    high, wide = rows // TILE_ROWS, columns // TILE_COLUMNS
    return padded.reshape(high, 4, 32, wide, TILE_COLUMNS).transpose(0, 3, 2, 1, 4)
