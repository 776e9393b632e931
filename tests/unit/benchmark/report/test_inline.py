"""What stands in script elements can neither end them nor become code."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.report.inline import content_security_policy, json_text, script_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_json_means_the_same_and_has_no_character_that_html_reads(value: Any) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_json_that_browsers_refuse_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text([float("nan")])


def test_code_cannot_end_its_element() -> None:
    code = "a = '</script>'; b = '</SCRIPT >';\r\nc = '<!-- <script>'; d = '</b>'\r"
    assert script_text(code) == (
        "a = '<\\/script>'; b = '<\\/SCRIPT >';\nc = '<\\!-- <script>'; d = '</b>'\n"
    )


def test_only_scripts_of_the_page_are_allowed() -> None:
    policy = dict(
        part.split(" ", 1) for part in content_security_policy(["let a = 1", "ü"]).split("; ")
    )
    digests = [
        base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        for code in ("let a = 1", "ü")
    ]
    assert policy["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "connect-src" not in policy
