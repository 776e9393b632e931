"""The published forms of JSON objects: every key, and the type of its value."""

from __future__ import annotations

from typing import Any

NUMBER_OR_NULL = (float, type(None))
INTERVAL = [float, float]
TEST = {"delta": float, "p_value": float, "p_t": float, "p_holm": float, "ci95": INTERVAL}
ARM: dict[Any, Any] = {
    "label": str,
    "value": float,
    "ci95": INTERVAL,
    "metrics": {str: float},
    "hurt_share": float,
    "helped_share": float,
    "worst_decile": float,
    "searches_per_query": float,
    "llm_calls_per_query": float,
    "embedded_per_query": float,
    "cost": float,
    "versus_keep": (dict, type(None)),
}
KIND: dict[Any, Any] = {
    "n": int,
    "keep": float,
    "best_fixed": float,
    "policy": float,
    "oracle": float,
    "action_share": {str: float},
}
COLLECTION: dict[Any, Any] = {
    "name": str,
    "n_documents": int,
    "n_queries": int,
    "retriever": str,
    "embedder": str,
    "metric": str,
    "protocol": str,
    "actions": {str: float},
    "best_fixed": {"action": str, "value": float},
    "policy": {
        "value": float,
        "hurt_share": float,
        "helped_share": float,
        "action_share": {str: float},
        "searches_per_query": float,
        "llm_calls_per_query": float,
    },
    "oracle": float,
    "tests": {"policy_vs_keep": TEST, "policy_vs_best_fixed": TEST},
    "seconds": {
        "embed": float,
        "reward_table": float,
        "train": float,
        "decide_p50_ms": float,
        "decide_p95_ms": float,
    },
    "verdict": str,
    "notes": list,
    "seeds": list,
    "folds": int,
    "n_train": int,
    "headroom": (dict, type(None)),
    "arms": {str: ARM},
    "by_kind": {str: KIND},
    "seed_values": list,
    "calibration": list,
}
"""One collection of ``results.json``; what ``evaluate`` and ``demo`` print."""
RESULTS: dict[Any, Any] = {"schema": int, "seed": int, "collections": list}
"""What ``benchmark`` prints and ``results.json`` holds."""
DEMO = COLLECTION | {"artifacts": {"policy": str, "log": str, "report": str}}
HEADROOM: dict[Any, Any] = {
    "schema": int,
    "name": str,
    "n_queries": int,
    "n_groups": int,
    "metric": str,
    "keep": float,
    "actions": {str: float},
    "best_fixed": {"action": str, "value": float, "ci95": INTERVAL},
    "oracle": float,
    "oracle_corrected": float,
    "oracle_correction": str,
    "predicted": (dict, type(None)),
    "predictable": NUMBER_OR_NULL,
    "differ_share": float,
    "by_kind": dict,
    "queries_needed": (int, type(None)),
    "verdict": str,
}
TRAIN: dict[Any, Any] = {
    "schema": int,
    "out": str,
    "policy_version": str,
    "algorithm": str,
    "seconds": float,
    "episodes": int,
    "validation": {"keep": float, "best_fixed": float, "policy": float},
    "kl": float,
    "ladder": (dict, type(None)),
    "warnings": list,
}
DECISION: dict[Any, Any] = {
    "schema": int,
    "type": str,
    "id": str,
    "time": float,
    "query": str,
    "history_len": int,
    "action": str,
    "strength": float,
    "texts": list,
    "propensity": float,
    "probabilities": {str: float},
    "state": (list, type(None)),
    "state_schema": str,
    "policy_version": str,
    "policy_name": str,
    "explored": bool,
    "reason": str,
    "documents": list,
    "latency_ms": float,
    "cost": float,
    "tags": dict,
}


def assert_has_form(value: Any, form: Any, where: str = "") -> None:
    """Check keys and types all the way down.

    Args:
        value: What was printed.
        form: A type, a tuple of types, a list or a mapping of forms; ``{str: T}`` stands for any
            names, at least one of them.
        where: Names the part in a failure.
    """
    if isinstance(form, dict):
        assert isinstance(value, dict), f"{where} is {value!r}"
        if str in form:
            assert value, f"{where} is empty"
        else:
            assert set(value) == set(form), where
        for key, part in value.items():
            assert_has_form(part, form.get(key, form.get(str)), f"{where}.{key}")
    elif isinstance(form, list):
        assert len(value) == len(form), f"{where} is {value!r}"
        for part, part_form in zip(value, form, strict=True):
            assert_has_form(part, part_form, where)
    else:
        types = form if isinstance(form, tuple) else (form,)
        assert type(value) in types, f"{where} is {value!r}"
