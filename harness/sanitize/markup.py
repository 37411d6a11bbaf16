"""Escape untrusted text in Markdown: no markup, HTML, formula, mention or command."""

from html import escape

from sampler_parity.harness.sanitize.printable import one_line, visible

_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "\\`*_[]|~#@:$\n"}


def safe(text: str, limit: int = 200) -> str:
    """Return it on one line, cut at limit characters with the number left out."""
    return escape(one_line(visible(text), limit), quote=False).translate(_SPECIAL)


def code(text: str, limit: int = 200) -> str:
    return f"<code>{safe(text, limit)}</code>"
