"""The one family of exceptions that users of this package meet."""

from __future__ import annotations


class RewriterError(Exception):
    """Root of every error this package raises on purpose; its text is one clear sentence."""


class InputError(RewriterError, ValueError):
    """A query, a judgement, a file or a setting that cannot be used as given."""


class CollectionError(RewriterError):
    """A collection that cannot be searched: empty, unreachable, or of another vector size."""


class CheckpointError(RewriterError):
    """A saved policy that is incomplete, damaged, or made for other actions or features."""


class TrainingError(RewriterError):
    """Training that cannot start or that had to stop, with the step at which it stopped."""


class ServingError(RewriterError):
    """What strict mode raises where a query would be kept since something failed.

    Attributes:
        reason: The name that the decision's reason would have had, such as "timeout".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the query would be kept (fallback:{reason}); strict=True asks for an error instead"
        )
        self.reason = reason

    def __reduce__(self) -> tuple[type[ServingError], tuple[str]]:
        """A copy is made of the reason, not of the sentence."""
        return type(self), (self.reason,)


class MissingExtraError(RewriterError, ImportError):
    """An optional package is not installed; the text holds the line that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed; run: pip install "rl-rewriter[{extra}]"')
        self.package = package
        self.extra = extra
