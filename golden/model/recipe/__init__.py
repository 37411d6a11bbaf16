"""The recipe that makes ``small.gguf``; see ``golden/model/README.md``.

Run the steps from ``golden/model/`` in this order; WORK is any empty folder::

    python -m recipe.train --work WORK
    python -m recipe.write_gguf --work WORK --out small.gguf
    python -m recipe.prompts --gguf small.gguf --out ../prompts.jsonl
"""
