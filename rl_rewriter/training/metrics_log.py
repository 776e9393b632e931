"""Training metrics as JSON lines, and in TensorBoard where that is installed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any


class MetricsLog:
    """Writes the metrics of each reported update.

    Args:
        folder: Where ``metrics.jsonl`` and the TensorBoard events go; None writes nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lines = None
        self._board: Any = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._lines = (folder / "metrics.jsonl").open("w", encoding="utf-8")
            self._board = _tensorboard(folder)

    def write(self, update: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one update, named as the field names them (``train/kl``)."""
        if self._lines is not None:
            self._lines.write(json.dumps({"update": update, **metrics}) + "\n")
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(name, value, update)

    def __enter__(self) -> MetricsLog:
        """The log itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the files."""
        for writer in (self._lines, self._board):
            if writer is not None:
                writer.close()


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
