"""The ordered set of actions a policy chooses from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.base import KEEP, Action
from rl_rewriter.actions.conversation import BringIn, HistoryInFront
from rl_rewriter.actions.feedback import ExpandWithTerms, FuseWithBm25, MoveTowardDocuments
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.words import Keywords, RarestTerms, TopicInFront, WordsAlike
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.types import Needs, Query

_MISSING: Mapping[str, str] = {
    "PrecomputedRewrite": "the policy was trained with rewrites {name!r} of a file, which is no "
    "part of it; pass the file, --rewrites FILE, or its actions, load(..., actions=[...])",
    "LlmRewrite": "the policy was trained with rewrites {name!r} of a language model, which is no "
    "part of it; pass the model, --llm MODULE:OBJECT, or load(..., actions=[LlmRewrite(...)])",
    "LearnedBlend": "the numbers of the learned blend {name!r} are not beside its name; train the "
    "policy again",
}
"""What to do where an action of this package cannot be restored from its settings alone."""

_JSON_TYPES = (str, int, float, bool, type(None))
"""Fields of other types, such as a client of a language model, are no settings."""

_BUILT_IN: Mapping[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        Keep,
        Keywords,
        RarestTerms,
        TopicInFront,
        ExpandWithTerms,
        MoveTowardDocuments,
        FuseWithBm25,
        BringIn,
        HistoryInFront,
        WordsAlike,
    )
}


@dataclass(frozen=True)
class ActionSpace:
    """Actions in the order of a policy's outputs; the first is always keep.

    Args:
        actions: The actions, keep first, with distinct names.

    Raises:
        InputError: Keep isn't first, a name stands twice, a strength isn't in [0, 1], or an object
            is no action.
    """

    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        """Check what every user of the space relies on."""
        for action in self.actions:
            if not isinstance(action, Action) or isinstance(action, type):
                raise InputError(
                    f"{action!r} is no action: it needs name, strength, needs and rewrite(evidence)"
                )
            if not 0.0 <= action.strength <= 1.0:
                raise InputError(
                    f"strength of action {action.name!r} must lie in [0, 1], got {action.strength}"
                )
        if not self.actions or self.actions[0].name != KEEP:
            raise InputError(f"the first action must be {KEEP!r}, got {self.names[:1]}")
        doubled = {name for name in self.names if self.names.count(name) > 1}
        if doubled:
            raise InputError(f"action names must differ, these stand twice: {sorted(doubled)}")

    def __len__(self) -> int:
        """Number of actions."""
        return len(self.actions)

    def __iter__(self) -> Iterator[Action]:
        """The actions in order."""
        return iter(self.actions)

    def __getitem__(self, index: int) -> Action:
        """The action at a policy's output ``index``."""
        return self.actions[index]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(action.name for action in self.actions)

    def index(self, name: str) -> int:
        """Position of an action by name.

        Raises:
            InputError: There is none of that name.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(f"no action {name!r}; there are: {', '.join(self.names)}") from None

    @cached_property
    def needs(self) -> Needs:
        """What all actions together need."""
        return reduce(or_, (action.needs for action in self.actions), Needs.NOTHING)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of types, settings and order: equal spaces have equal fingerprints."""
        content = json.dumps(self.to_json(), sort_keys=True).encode()
        return hashlib.sha256(content).hexdigest()[:16]

    def mask(self, queries: Sequence[Query], offers: Needs) -> npt.NDArray[np.bool_]:
        """Which actions can be carried out for which query, ``(n, m)`` bool; keep always."""
        possible = self._possible.get(offers.value)
        if possible is None:
            histories = (offers & ~Needs.HISTORY, offers | Needs.HISTORY)
            rows = [[not action.needs & ~has for action in self.actions] for has in histories]
            possible = self._possible[offers.value] = np.asarray(rows, dtype=np.bool_)
        return possible[[int(bool(query.history)) for query in queries]]

    @cached_property
    def _possible(self) -> dict[int, npt.NDArray[np.bool_]]:
        """Offers -> what is possible without and with earlier turns, ``(2, m)``.

        Remembered, since flag arithmetic is slow and every decision asks for the same.
        """
        return {}

    def possible_for(self, queries: Sequence[Query], offers: Needs) -> ActionSpace:
        """This space without actions that none of the queries can carry out.

        Nothing can be learned about an action that is never possible, so no policy should have it.
        """
        possible = np.flatnonzero(self.mask(queries, offers).any(axis=0))
        kept = tuple(self.actions[index] for index in possible)
        return self if len(kept) == len(self) else ActionSpace(kept)

    def named(self, names: Iterable[str]) -> ActionSpace:
        """The actions of these names in this order, keep first; names that aren't here drop out."""
        by_name = {action.name: action for action in self.actions}
        wanted = dict.fromkeys((KEEP, *names))
        return ActionSpace(tuple(by_name[name] for name in wanted if name in by_name))

    def extended(self, actions: Iterable[Action]) -> ActionSpace:
        """This space with further actions at its end."""
        return ActionSpace((*self.actions, *actions))

    def to_json(self) -> list[dict[str, Any]]:
        """One object an action: name, type, needs and, for dataclasses, JSON-typed settings.

        What an action holds beside its settings (a client, the texts of a file) isn't in it.
        """
        return [
            {
                "name": action.name,
                "type": type(action).__name__,
                "needs": action.needs.value,
                "settings": _settings(action),
            }
            for action in self.actions
        ]

    @classmethod
    def from_json(
        cls, records: Sequence[Mapping[str, Any]], own: Iterable[Action] = ()
    ) -> ActionSpace:
        """Rebuild a space from :meth:`to_json`.

        Args:
            records: One object an action.
            own: The user's own actions, matched by name.

        Raises:
            CheckpointError: An action is neither built in nor among ``own``. Rewrites of a file or
                of a language model are in no checkpoint: their actions must be among ``own``.
        """
        by_name = {action.name: action for action in own}
        return cls(tuple(_rebuild(record, by_name) for record in records))


def default_actions(offers: Needs) -> ActionSpace:
    """All built-in actions that a retriever with these offers can carry out."""
    candidates: list[Action] = [
        Keep(),
        Keywords(),
        RarestTerms(),
        TopicInFront(),
        ExpandWithTerms(),
        Keywords(strength=0.5),
        RarestTerms(strength=0.5),
        TopicInFront(strength=0.3),
        ExpandWithTerms(strength=0.3),
        WordsAlike(),
        WordsAlike(strength=0.5),
        MoveTowardDocuments("dense", 1, 0.2),
        MoveTowardDocuments("dense", 1, 0.4),
        MoveTowardDocuments("dense", 3, 0.2),
        MoveTowardDocuments("dense", 3, 0.4),
        MoveTowardDocuments("bm25", 1, 0.2),
        MoveTowardDocuments("bm25", 1, 0.4),
        MoveTowardDocuments("bm25", 3, 0.2),
        MoveTowardDocuments("bm25", 3, 0.4),
        FuseWithBm25(0.1),
        FuseWithBm25(0.2),
        FuseWithBm25(0.4),
        FuseWithBm25(0.6),
        BringIn("last_user", 0.3),
        BringIn("last_user", 0.5),
        BringIn("last_answer", 0.3),
        BringIn("last_answer", 0.5),
        BringIn("first_last", 0.3),
        BringIn("first_last", 0.5),
        BringIn("user_turns", 0.5),
        BringIn("each_turn", 0.3),
        BringIn("each_turn", 0.5),
        BringIn("everything", 0.3),
        HistoryInFront("last_user"),
        HistoryInFront("first_last"),
        HistoryInFront("user_turns"),
        HistoryInFront("last_user", fusion=0.4),
        HistoryInFront("first_last", fusion=0.4),
    ]
    available = offers | Needs.HISTORY
    return ActionSpace(tuple(a for a in candidates if not (a.needs & ~available)))


def _settings(action: Action) -> dict[str, Any]:
    told = getattr(action, "settings", None)
    if callable(told):
        return dict(told())
    if not is_dataclass(action) or isinstance(action, type):
        return {}
    values = {field.name: getattr(action, field.name) for field in fields(action)}
    return {name: value for name, value in values.items() if isinstance(value, _JSON_TYPES)}


def _rebuild(record: Mapping[str, Any], own: Mapping[str, Action]) -> Action:
    name, kind = str(record["name"]), str(record["type"])
    if name in own:
        return own[name]
    if kind in _MISSING:
        raise CheckpointError(_MISSING[kind].format(name=name))
    if kind not in _BUILT_IN:
        raise CheckpointError(
            f"the policy was trained with an action {name!r} of your own ({kind}); "
            f"pass it: load(..., actions=[{kind}(...)])"
        )
    try:
        return cast(Action, _BUILT_IN[kind](**record["settings"]))
    except TypeError as error:
        raise CheckpointError(
            f"settings of action {name!r} are not those of {kind}: {error}"
        ) from None
