"""`python recorded_program.py PROGRAM MODEL SETTINGS`: draw two tokens with each of the settings, a
list in a JSON file. PROGRAM: llama-server (xllamacpp), or Llama of llama-cpp-python."""

import json
import sys
from pathlib import Path


def main() -> None:
    program, model, path = sys.argv[1:]
    requests = json.loads(Path(path).read_text(encoding="utf-8"))
    if program == "llama-server":
        from sampler_parity.programs.servers.launch import real_servers
        from tests.programs.recording.programs.server_texts import complete, started

        with started([str(real_servers()[program].script), model], []) as address:
            for request in requests:
                complete(address, **request, n_predict=2)
    else:
        from llama_cpp import Llama

        llama = Llama(model, n_ctx=64, n_threads=1, verbose=False)
        for request in requests:
            llama("The story", max_tokens=2, **request)


if __name__ == "__main__":
    main()
