"""Runs the ``rl-rewriter`` command within the process of the tests."""

from __future__ import annotations

import sys

import pytest

from rl_rewriter.cli import main


def exit_code(*arguments: object) -> int:
    """What the entry function ends with for these arguments; it prints where a shell would see it.

    Args:
        arguments: What stands behind the command's name.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["rl-rewriter", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return code or 0
