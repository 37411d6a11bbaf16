"""xgrammar refuses GBNF's empty alternative, with it most grammars that llama.cpp makes of JSON
schemas, and `.`.

    pip install xgrammar
    python finding_31_xgrammar.py

Exit status 1 while it is so.
"""

import sys

import xgrammar


def read(grammar: str) -> str:
    try:
        xgrammar.Grammar.from_ebnf(grammar)
    except RuntimeError as error:
        return f"refused: {str(error).splitlines()[0]}"
    return "read"


met = []
for grammar in ('root ::= "a" | space\nspace ::= | " "', "root ::= .", 'root ::= "a" | ""'):
    got = read(grammar)
    print(f"{grammar!r}\n  expected read\n  got      {got}")
    met.append(got == "read")
sys.exit(int(not all(met)))
