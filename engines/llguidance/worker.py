"""llguidance (the extra `llguidance`): GBNF by way of its own converter to Lark.

`no_forcing`: otherwise a forced text allows only the token that the tokenizer would choose for it,
not all tokens that the grammar allows.
"""

import importlib
import importlib.metadata

from sampler_parity.engines.shared.grammars import engine
from sampler_parity.engines.shared.grammars.guidance import Matcher, library, tokenizer_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import Vocab

OPTIONS = '%llguidance {"no_forcing": true}'


class Worker(engine.Worker):
    name = "llguidance"

    def library_version(self) -> str:
        library()
        return f"llguidance {importlib.metadata.version('llguidance')}"

    def lark_of(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> str:
        if grammar_root != "root":
            raise Unsupported("its GBNF converter begins with the rule root and no other")
        convert = importlib.import_module("llguidance.gbnf_to_lark").gbnf_to_lark
        try:
            converted: str = convert(grammar_str)
        except Exception as error:  # it has no error of its own for some
            raise InputError("gbnf_to_lark", " ".join(str(error).split())) from None
        return converted.replace("%llguidance {}", OPTIONS, 1)

    def matcher(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> Matcher:
        lark = self.lark_of(grammar_str, grammar_root, vocab)
        made = library().LLMatcher(
            tokenizer_of(vocab), library().LLMatcher.grammar_from_lark(lark), log_level=0
        )
        return Matcher(made, len(vocab))
