"""Actions beside the built-in ones: arms of a file, live language models, and a choice of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rl_rewriter.actions.base import Action, strength_suffix
from rl_rewriter.actions.language_model import LanguageModel
from rl_rewriter.actions.llm import LlmRewrite, Prefetched
from rl_rewriter.actions.llm_prompts import PROMPTS
from rl_rewriter.actions.precomputed import ARM_PREFIX
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.action_choice import choose_actions
from rl_rewriter.benchmark.own_objects import load_object
from rl_rewriter.benchmark.rewrites import Rewrites, strengths_for
from rl_rewriter.errors import InputError
from rl_rewriter.types import Needs, OnProgress, Query

ANSWERS = "llm_answers.sqlite"
"""File in the cache folder that keeps what language models answered."""


@dataclass(frozen=True, kw_only=True)
class ActionSources:
    """Where further actions come from, and which of all are compared.

    Attributes:
        rewrites: Rewrites of a file.
        llm: Language models or actions of the user's own, each as "MODULE:OBJECT".
        patterns: What to choose (see :func:`~rl_rewriter.benchmark.action_choice.choose_actions`);
            None for everything.
        cache_dir: Where answers of language models are kept; None keeps them for this run alone.
    """

    rewrites: Rewrites | None = None
    llm: tuple[str, ...] = ()
    patterns: str | None = None
    cache_dir: Path | None = None


def extend_actions(
    actions: ActionSpace,
    queries: Sequence[Query],
    offers: Needs,
    sources: ActionSources,
    on_progress: OnProgress | None = None,
) -> tuple[ActionSpace, tuple[str, ...]]:
    """Add the arms of a file and of language models, choose, and ask the models chosen.

    Language models are asked about all queries now, several at a time; what comes later looks their
    answers up.

    Args:
        actions: What there is already.
        queries: All queries that will be rewritten.
        offers: What the retriever offers.
        sources: What to add and to choose.
        on_progress: Told how many queries a language model was asked about.

    Returns:
        The actions, and what a reader of their figures should know, a sentence each.

    Raises:
        InputError: A model cannot be loaded or fails on every query, or a pattern fits nothing.
    """
    precomputed = (
        sources.rewrites.actions(queries, strengths=strengths_for(offers))
        if sources.rewrites
        else []
    )
    live = llm_actions(sources.llm, offers, sources.cache_dir)
    extended = actions.extended([*precomputed, *live])
    if sources.patterns is not None:
        extended = choose_actions(extended, sources.patterns)
    return _asked(extended, queries, on_progress or (lambda stage, done, total: None))


def llm_actions(
    specs: Sequence[str], offers: Needs = Needs.NOTHING, cache_dir: Path | None = None
) -> list[Action]:
    """One action for each model and usual prompt, called ``llm:<prompt>/<object>``.

    Args:
        specs: "MODULE:OBJECT" of a chat model, of a function from prompt to text, or of an action,
            which is taken as it is.
        offers: What the retriever offers; half-way forms where it searches mixes of vectors.
        cache_dir: Where answers are kept.

    Raises:
        InputError: An object cannot be loaded or asked.
    """
    names = Counter(spec.partition(":")[2] for spec in specs)
    made: list[Action] = []
    for spec in dict.fromkeys(specs):
        short = spec.partition(":")[2]
        made.extend(
            _actions_of(
                spec, short if names[short] == 1 else spec, strengths_for(offers), cache_dir
            )
        )
    return made


def _actions_of(
    spec: str, short: str, strengths: Sequence[float], cache_dir: Path | None
) -> Iterator[Action]:
    found = load_object(spec)
    if isinstance(found, Action):
        yield found
        return
    try:
        model = (
            found
            if isinstance(found, LanguageModel)
            else LanguageModel(found, answers=cache_dir and cache_dir / ANSWERS)
        )
    except InputError as error:
        raise InputError(f"{spec}: {error}") from error
    for strength in strengths:
        for prompt in PROMPTS:
            name = f"{ARM_PREFIX}{prompt}/{short}{strength_suffix(strength)}"
            yield LlmRewrite(model, name, prompt, strength)


def _asked(
    actions: ActionSpace, queries: Sequence[Query], tell: OnProgress
) -> tuple[ActionSpace, tuple[str, ...]]:
    """The same actions with the answers of their language models fetched."""
    fetched: dict[tuple[int, str], Prefetched] = {}
    ready: list[Action] = []
    for action in actions:
        if not isinstance(action, LlmRewrite):
            ready.append(action)
            continue
        key = (id(action.ask), action.prompt)
        if key not in fetched:
            fetched[key] = _fetched(action, queries, tell)
        ready.append(replace(action, ask=fetched[key].action.ask))
    notes = [note for each in fetched.values() for note in each.notes()]
    return ActionSpace(tuple(ready)), tuple(notes)


def _fetched(action: LlmRewrite, queries: Sequence[Query], tell: OnProgress) -> Prefetched:
    stage = f"asking {action.name}"
    found = action.prefetch(queries, lambda done: tell(stage, done, len(queries)))
    if found.n_asked and found.n_failed == found.n_asked:
        raise InputError(
            f"{action.name}: the language model failed on all {found.n_asked} queries "
            f"({found.problem})"
        )
    return found
