"""How far a fit may climb, and how many queries it may hurt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.training.config import FitConfig


@dataclass(frozen=True)
class LadderOptions:
    """Whether a fit may climb up to a blend of views, and how many queries it may hurt."""

    blend: Annotated[
        bool,
        typer.Option(
            "--blend/--no-blend",
            help="Whether a blend of the query, of the documents it finds, of the conversation and "
            "of BM25 is learned beside the choice of an action; served only where it pays. "
            "Where there is an --actions, one that doesn't choose it leaves it out, too.",
        ),
    ] = True
    prior: Annotated[
        bool,
        typer.Option(
            "--prior/--no-prior",
            help="Whether a blend starts from weights that were learned on other collections and "
            "come with this package, or from the query.",
        ),
    ] = False
    hurt_limit: Annotated[
        float | None,
        typer.Option(
            help="Share of the queries that may fall below keep, from 0 to 1, such as 0.06: a "
            "blend is served only where its predicted advantage is clear enough for that, and the "
            "query is kept elsewhere; a single action to every query only if it hurts no more, and "
            "else to those who are expected to gain most. By cross-fitting, with a standard error "
            "to spare, so that 0 never lets anything through. No limit by default."
        ),
    ] = None

    def applied_to(self, fit: FitConfig, patterns: str | None = None) -> FitConfig:
        """The library's settings of a fit, with these.

        Args:
            fit: All other settings.
            patterns: What --actions says, which may leave the blend out; None where it isn't given.

        Raises:
            InputError: The limit is no share, there is no pattern, or a prior is asked for where no
                blend is learned.
        """
        from rl_rewriter.benchmark.action_choice import learns_blend
        from rl_rewriter.training.blend.config import BlendConfig
        from rl_rewriter.training.ladder.config import LadderConfig

        is_chosen = learns_blend(patterns)
        self._refuse_unused_prior(patterns, is_chosen)
        ladder = replace(fit.ladder or LadderConfig(), hurt_limit=self.hurt_limit)
        blend = replace(fit.blend or BlendConfig(), prior="shipped" if self.prior else None)
        return replace(fit, ladder=ladder, blend=blend if self.blend and is_chosen else None)

    def _refuse_unused_prior(self, patterns: str | None, is_chosen: bool) -> None:
        """Raise where a prior is asked for and no blend would start from it."""
        if self.prior and not self.blend:
            raise InputError(
                "--prior is what a blend starts from, and --no-blend learns none: leave out one of "
                "the two"
            )
        if self.prior and not is_chosen:
            raise InputError(
                f"--prior is what a blend starts from, and --actions {patterns!r} learns none: "
                'choose "blend" by a pattern, too, or leave out --prior'
            )
