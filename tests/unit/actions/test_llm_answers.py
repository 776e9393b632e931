"""How long are answers of a language model kept in memory?"""

from __future__ import annotations

import copy
import time

from rl_rewriter.actions.llm_answers import AnswersInMemory
from rl_rewriter.caching.config import DAY_S, CacheConfig


def test_an_answer_is_used_for_a_limited_time() -> None:
    answers = AnswersInMemory(CacheConfig(seconds=0.001))
    answers.put("m", "p", "old")
    time.sleep(0.002)
    assert answers.get("m", "p") is None
    assert AnswersInMemory()._kept.config.seconds == DAY_S


def test_long_answers_make_room_before_memory_runs_out() -> None:
    answers = AnswersInMemory(CacheConfig(max_bytes=50_000))
    for number in range(10):
        answers.put("m", str(number), "x" * 10_000)
    assert answers.get("m", "0") is None
    assert answers.get("m", "9") == "x" * 10_000


def test_a_copy_has_the_answers_and_goes_its_own_way() -> None:
    answers = AnswersInMemory()
    answers.put("m", "p", "kept")
    twin = copy.deepcopy(answers)
    twin.put("m", "q", "its own")
    assert twin.get("m", "p") == "kept"
    assert answers.get("m", "q") is None
