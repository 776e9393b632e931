"""Nodes as the decision log sees them, and as the caller gets them back."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import NodeWithScore

from rl_rewriter.integrations._context import DECISION_ID
from rl_rewriter.types import ScoredDocument


def as_documents(nodes: Any) -> list[ScoredDocument] | None:
    """Ids and scores, None where a retriever gives no score; None of what is no list of nodes."""
    if not isinstance(nodes, list):
        return None
    return [
        ScoredDocument(node.node.node_id, node.score)
        for node in nodes
        if isinstance(node, NodeWithScore)
    ]


def tagged(scored: NodeWithScore, decision_id: str) -> NodeWithScore:
    """A copy with the decision's id in its metadata, unseen by the LLM and the embedding."""
    node = scored.node
    marked = node.model_copy(
        update={
            "metadata": {**node.metadata, DECISION_ID: decision_id},
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, DECISION_ID],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, DECISION_ID],
        }
    )
    return scored.model_copy(update={"node": marked})
