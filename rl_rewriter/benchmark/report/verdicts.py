"""What follows from the numbers, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from rl_rewriter.benchmark.report.record import Record, Room
from rl_rewriter.benchmark.report.wording import difference, percent, value

ROOM = {
    "nothing_to_learn": "there was nothing to learn: no action is reliably better than keep",
    "one_action_is_enough": "one action for every query was expected to be enough",
    "worth_learning": "choosing by query was expected to pay",
    "too_small": "there were too few queries to tell",
}


def headline(records: Sequence[Record]) -> str:
    """The one sentence of the whole run."""
    if len(records) == 1:
        return verdict(records[0])
    directions = [r.versus_keep.direction for r in records if r.versus_keep is not None]
    better, worse = directions.count(1), directions.count(-1)
    if not directions:
        return f"No comparison with keep on any of {len(records)} collections."
    if not better and not worse:
        return f"No difference to leaving queries alone is shown on any of {_of(records)}."
    if not better:
        return (
            f"The policy is worse than leaving queries alone on {worse} of {_of(records)}, and "
            "better on none."
        )
    sentence = f"The policy beats leaving queries alone on {better} of {_of(records)}"
    if worse:
        return f"{sentence} and is worse on {worse}."
    return f"{sentence}."


def verdict(record: Record) -> str:
    """The sentence of one collection: the run's own where it has one."""
    if record.verdict:
        text = record.verdict.strip()
        return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "。")) else ".")
    if record.versus_keep is None:
        return "The run doesn't compare the policy with keep."
    fixed = record.versus_best_fixed.direction if record.versus_best_fixed else None
    if record.versus_keep.direction < 0:
        return "The policy is worse than leaving queries alone: don't deploy it."
    if record.versus_keep.direction == 0:
        return "No gain: the policy isn't reliably better than leaving queries alone."
    return {
        None: "The policy beats leaving queries alone.",
        1: "The policy beats leaving queries alone, and one action for all of them.",
        0: "The policy beats leaving queries alone; one action for all does about as well.",
        -1: "Better than leaving queries alone, but one action for all does better still.",
    }[fixed]


def summary(record: Record) -> list[str]:
    """The sentences below a collection's verdict."""
    sentences = []
    keep, policy = record.values.get("keep"), record.values.get("policy")
    if keep is not None and policy is not None:
        sentences.append(
            f"Over {record.n}, {record.metric} goes from {value(keep)} (every query as it is) to "
            f"{value(policy)} (the policy)."
        )
    if record.versus_keep is not None:
        sentences.append(f"Policy against keep: {difference(record.versus_keep)}.")
    if record.versus_best_fixed is not None:
        sentences.append(
            f"Policy against the best single action: {difference(record.versus_best_fixed)}."
        )
    if record.helped_share is not None and record.hurt_share is not None:
        sentences.append(
            f"{percent(record.helped_share)} of the queries are helped, "
            f"{percent(record.hurt_share)} hurt; the rest score the same."
        )
    return sentences


def room_sentences(room: Room) -> list[str]:
    """What headroom said, for who asks why the policy gained as much or as little as it did."""
    sentences = []
    if room.verdict:
        said = ROOM.get(room.verdict, room.verdict.replace("_", " "))
        sentences.append(f"Headroom, measured before training: {said}.")
    if room.differ_share is not None:
        sentences.append(f"Actions score differently on {percent(room.differ_share)} of queries.")
    if room.oracle_corrected is not None:
        sentences.append(
            "The per-query best less what chance alone would give it: "
            f"{value(room.oracle_corrected)}."
        )
    if room.predictable is not None:
        sentences.append(
            f"A regression on the state captures {percent(room.predictable)} of the gap between "
            "the best single action and the per-query best."
        )
    return sentences


def _of(records: Sequence[Record]) -> str:
    return f"{len(records)} collections"
