"""The records of a log that policies have not learned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.logs.marks import share_known
from rl_rewriter.policies.checkpoint import Checkpoint


def unseen(
    log: LoggedBandit, checkpoints: Iterable[Checkpoint]
) -> tuple[LoggedBandit, tuple[str, ...]]:
    """Leave out what the policies were trained on, which they would look too good by.

    A policy that was trained on a part of this log tells by its marks. Of that log, the records
    that its training held out to choose by are kept, and those that are later than all of it.

    Returns:
        The records left, and a sentence for each policy that was trained on some of the others.

    Raises:
        InputError: None is left.
    """
    kept, notes = np.ones(len(log), dtype=np.bool_), []
    for checkpoint in checkpoints:
        learned: Mapping[str, Any] = checkpoint.training.get("learned", {})
        if not learned or not share_known(log.decision_ids, learned["marks"]):
            continue
        own = held_out(log.groups, float(learned["held_out_share"]), seed=int(learned["seed"]))
        own |= log.times > float(learned["until"])
        kept &= own
        notes.append(
            f"policy {checkpoint.version} was trained on part of this log: it is judged by "
            f"{int(own.sum())} of {len(log)} records, which were held out then or are later"
        )
    if not kept.any():
        raise InputError(
            "the policies were trained on all records of this log; judge them by another one"
        )
    return (log if kept.all() else log.subset(kept)), tuple(notes)
