"""llama-cpp-python's server ends at a request with a grammar that cannot be parsed.

    pip install 'llama-cpp-python[server]'
    python finding_58_grammar.py MODEL.gguf

Expected: an error, and a server that answers the next request. Exit status 1 while it is otherwise.
"""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def asked(port: int, **fields: object) -> str:
    body = json.dumps({"prompt": "Hello", "max_tokens": 2, **fields}).encode()
    url, head = f"http://127.0.0.1:{port}/v1/completions", {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=60) as answer:
            return f"status {answer.status}"
    except urllib.error.HTTPError as error:
        return f"status {error.code}"
    except (OSError, urllib.error.URLError) as error:
        return f"no answer: {error}"


def main() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--model", sys.argv[1], "--port", str(port)]
    command = [sys.executable, "-m", "llama_cpp.server", *options]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while asked(port) != "status 200":
            assert server.poll() is None, "the server does not start"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.5)
        got = asked(port, grammar="root ::= (")
        after = asked(port)
    finally:
        server.kill()
        ended = server.wait()
    print('a request with "grammar": "root ::= (", and one behind it')
    print("  expected status 400, status 200")
    print(f"  got      {got}, {after} (the server's exit status: {ended})")
    return int(after != "status 200")


sys.exit(main())
