"""Rules that hold after any sequence of changes to a registry."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rl_rewriter.errors import InputError
from rl_rewriter.rollout.registry import PolicyRegistry
from tests.unit.rollout.parts import policy

N = 4


class Changes(RuleBasedStateMachine):
    """Compares a registry with a plain list of what was served."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.registry = PolicyRegistry(self.folder, who="tester")
        self.versions: dict[int, str] = {0: self.registry.add(policy(0))}
        self.changes = 1

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(number=st.integers(0, N - 1))
    def add(self, number: int) -> None:
        self.changes += number not in self.versions
        self.versions[number] = self.registry.add(policy(number))

    @rule(
        number=st.integers(0, N - 1), share=st.sampled_from([0.1, 0.5, 1.0]), shadow=st.booleans()
    )
    def promote(self, number: int, share: float, shadow: bool) -> None:
        if number not in self.versions:
            return
        before = self.registry.state()
        self.registry.promote(self.versions[number], share=share, shadow=shadow)
        self.changes += 1
        after = self.registry.state()
        assert after.current.version == self.versions[number]
        if before.current.is_full and before.current.version not in (None, after.current.version):
            assert after.baseline == before.current.version or (
                after.current.version == before.baseline
            )

    @precondition(lambda self: self.registry.current().version is not None)
    @rule()
    def roll_back(self) -> None:
        baseline = self.registry.baseline()
        self.registry.roll_back("why not")
        self.changes += 1
        assert self.registry.current().version == baseline
        assert self.registry.current().is_full

    @rule(number=st.integers(0, N - 1))
    def remove(self, number: int) -> None:
        version = self.versions.get(number)
        if version is None:
            return
        is_free = not self.registry.state().role(version)
        try:
            self.registry.remove(version)
        except InputError:
            assert not is_free
        else:
            assert is_free
            del self.versions[number]
            self.changes += 1

    @invariant()
    def everything_is_told_and_there(self) -> None:
        state = self.registry.state()
        assert state.revision == self.changes
        assert [event["revision"] for event in self.registry.history()] == [
            *range(1, self.changes + 1)
        ]
        assert set(state.policies) == set(self.versions.values())
        assert self.registry.verify() == ()

    @invariant()
    def nothing_is_its_own_baseline(self) -> None:
        state = self.registry.state()
        used = (*state.previous, state.current.version)
        assert state.baseline is None or state.baseline != state.current.version
        assert set(used) - {None} <= set(state.policies)


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
