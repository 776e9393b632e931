"""What stands inside the page's script elements, so that no data can become markup or code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def json_text(value: Any) -> str:
    """JSON that can stand in a script element: no character in it means anything to HTML.

    Args:
        value: What ``json`` can write, without NaN.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def script_text(code: str) -> str:
    """JavaScript of ours or of plotly that can stand in a script element.

    A closing tag in a string of the code would end the element, and a carriage return would not
    survive the browser's parser, which the content's hash must.
    """
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    code = re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE)
    return code.replace("<!--", r"<\!--")


def content_security_policy(scripts: Iterable[str]) -> str:
    """A policy under which the page reaches no network and runs these scripts and nothing else.

    Scripts are allowed by their hash: neither a script element nor an event handler that found its
    way into the page would run. Styles are allowed wherever they are, because plotly writes some.

    Args:
        scripts: The content of each script element, to the character.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
