"""llguidance's GBNF converter makes rules greedy and reads classes as regular expressions.

    pip install llguidance
    python finding_31_llguidance.py

Exit status 1 while it is so. Its tokens here are the 256 bytes.
"""

import sys
from typing import Any

import llguidance
from llguidance import LLMatcher, LLTokenizer, gbnf_to_lark


class Bytes:
    bos_token_id, eos_token_id, special_token_ids = None, 256, (256,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"\xff<end>")

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


TOKENIZER: Any = LLTokenizer(llguidance.TokenizerWrapper(Bytes()), eos_token=[256])


def allowed(grammar: str, text: str) -> set[int]:
    """Return the tokens that may follow the text; the converter takes GBNF as llama.cpp has it."""
    lark = gbnf_to_lark.gbnf_to_lark(grammar)
    matcher = LLMatcher(TOKENIZER, '%llguidance {"no_forcing": true}\n' + lark)
    matcher.consume_tokens(list(text.encode()))
    mask = matcher.compute_bitmask()
    return {token for token in range(257) if mask[token // 8] >> token % 8 & 1}


def main() -> int:
    met = []
    for what, grammar, text, token in (
        ("word ::= [a-z]+ before x: may the text end behind abx",
         'root ::= word "x"\nword ::= [a-z]+', "abx", 256),
        ("[a-d&&c-f]: is b one of its characters", "root ::= [a-d&&c-f]+", "", ord("b")),
        (".: is it a newline, too", "root ::= .", "", ord("\n")),
    ):  # fmt: skip
        got = token in allowed(grammar, text)
        print(f"{what}\n  expected True\n  got      {got}")
        met.append(got)
    return int(not all(met))


sys.exit(main())
