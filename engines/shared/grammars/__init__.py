"""Other grammar engines, each on GBNF text and on the rules as llama.cpp reads them."""
