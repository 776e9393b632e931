"""An action of your own: a frozen dataclass, trained, saved and loaded with the built-in ones.

Run ``python examples/own_action.py``. Employees ask with abbreviations that no document holds.
"""

import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rl_rewriter import Budget, Evidence, Needs, Query, Rewrite, RLQueryRewriter, default_actions
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.config import FitConfig, ReinforceConfig

GLOSSARY = {
    "pto": "paid time off", "vpn": "virtual private network", "po": "purchase order",
    "kpi": "performance indicators", "nda": "non disclosure agreement", "wfh": "working at home",
    "sso": "single sign on", "ot": "overtime hours",
}  # fmt: skip
ASKED = ("how do I request {}", "who approves {}", "{} rules", "where is the form for {}",
         "what counts as {}", "{} deadline", "can a trainee get {}", "change my {}")  # fmt: skip


@dataclass(frozen=True)
class SpellOut:
    """Spells out the abbreviations of a glossary."""

    name: str = "spell_out"
    strength: float = 1.0
    needs: Needs = Needs.NOTHING  # text alone; see Needs for what else can be asked for

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        words = evidence.query.text.split()
        if not any(word in GLOSSARY for word in words):
            return None  # nothing to do: the query is kept
        return Rewrite(texts=(" ".join(GLOSSARY.get(word, word) for word in words),))


def main(folder: Path) -> None:
    retriever = Bm25Retriever(
        {short: f"Handbook: {long}. Request, approval, form." for short, long in GLOSSARY.items()}
    )
    queries, qrels = [], {}
    for (short, long), form in product(GLOSSARY.items(), ASKED):
        for text in (form.format(short), form.format(long)):
            queries.append(Query(text, id=text))
            qrels[text] = {short: 1.0}

    actions = default_actions(retriever.offers).extended([SpellOut()])
    rewriter = RLQueryRewriter(retriever, actions=actions, seed=0)
    config = FitConfig(
        reinforce=ReinforceConfig(updates=300), reward=RewardConfig(rewrite_cost=0.05)
    )
    print("validation:", rewriter.fit(queries, qrels, config=config).validation)
    rewriter.save(folder)

    patient = Budget(seconds=None)  # so that this decides alike on any machine; else it's a second
    loaded = RLQueryRewriter.load(folder, retriever=retriever, actions=[SpellOut()], budget=patient)
    for question in ("who grants vpn", "who grants virtual private network"):
        decision = loaded.decide(question)
        print(f"{question!r} -> {decision.action}: {decision.rewrite.text!r}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary) / "policy")
