"""webgpu/browser: the same shaders in a headless Chromium, on its software adapter SwiftShader.

The page browser.html asks a server of this process for work. The buffers travel with each stage.
"""

import atexit
import json
import resource
import shutil
import subprocess
import tempfile
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.webgpu import worker
from sampler_parity.engines.webgpu.device import BINDINGS, READ, Rows, Shaders
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.environment import lift_memory_limit

PAGE = Path(__file__).with_name("browser.html")
FLAGS = [
    "--headless", "--no-sandbox", "--no-first-run", "--disable-quic", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
]  # fmt: skip
TIMEOUT_S = 120.0


class Browser:
    """A browser with the page open. Raises Unsupported without Chromium or without an adapter."""

    def __init__(self, shaders: Shaders) -> None:
        self.shaders = shaders
        names = ("chromium", "chromium-browser", "google-chrome")
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            raise Unsupported("Chromium is not installed")
        self.jobs: Queue[dict[str, Any]] = Queue()
        self.answers: Queue[dict[str, Any]] = Queue()
        server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        profile = tempfile.mkdtemp()
        command = [program, *FLAGS, f"--user-data-dir={profile}"]
        page = f"http://127.0.0.1:{server.server_port}/"
        quiet = subprocess.DEVNULL
        limits = resource.getrlimit(resource.RLIMIT_AS)
        lift_memory_limit()  # a worker's: Chromium reserves more addresses than it uses
        started = subprocess.Popen([*command, page], stdin=quiet, stdout=quiet, stderr=quiet)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        atexit.register(ended, started, profile)
        hello = self.answer()
        self.summary = hello["summary"]
        self.build = " ".join(word for word in hello["build"].split() if "Chrom" in word)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        jobs, answers = self.jobs, self.answers

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # one connection for all jobs
            disable_nagle_algorithm = True  # else each answer waits 40 ms

            def do_GET(self) -> None:
                self.reply("text/html", PAGE.read_bytes())

            def do_POST(self) -> None:
                answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.reply("application/json", json.dumps(jobs.get()).encode())

            def reply(self, kind: str, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Print nothing: standard error is the harness's."""

        return Handler

    def answer(self) -> dict[str, Any]:
        """Wait for the page. Raises Unsupported for an error, and if none comes in time."""
        try:
            answer = self.answers.get(timeout=TIMEOUT_S)
        except Empty:
            raise Unsupported(f"Chromium did not answer within {TIMEOUT_S:g} s") from None
        if "error" in answer:
            raise Unsupported(str(answer["error"]))
        return answer

    def rows(self, logits: NDArray[np.float32]) -> "BrowserRows":
        return BrowserRows(self, logits)


def ended(browser: "subprocess.Popen[bytes]", profile: str) -> None:
    browser.terminate()
    try:
        browser.wait(10)
    except subprocess.TimeoutExpired:
        browser.kill()
    shutil.rmtree(profile, ignore_errors=True)


class BrowserRows(Rows):
    """Rows of a browser: they stay here between stages."""

    def __init__(self, on: Browser, logits: NDArray[np.float32]) -> None:
        self.on = on
        super().__init__(logits)

    def make(self, sizes: dict[str, int]) -> None:
        self.memory = {name: bytearray(size) for name, size in sizes.items() if name in READ}
        self.scratch = sizes["scratch"]

    def put(self, name: str, values: NDArray[Any], at: int = 0) -> None:
        self.memory[name][at : at + values.nbytes] = np.ascontiguousarray(values).tobytes()

    def dispatch(self, stage: str, given: dict[str, NDArray[Any]]) -> None:
        sent = {name: bytes(content) for name, content in self.memory.items()}
        sent |= {name: values.tobytes().ljust(16, b"\0") for name, values in given.items()}
        job = {
            "code": self.on.shaders.source(stage),
            "buffers": {n: b64encode(sent[n]).decode() for n in BINDINGS if n in sent},
            "scratch": self.scratch,
            "groups": len(given["tasks"]),
        }
        self.on.jobs.put(job)
        self.memory = {name: bytearray(b64decode(got)) for name, got in self.on.answer().items()}

    def words(self, names: tuple[str, ...]) -> dict[str, NDArray[np.uint32]]:
        return {name: np.frombuffer(self.memory[name], np.uint32).copy() for name in names}


class Worker(worker.Worker):
    name = "webgpu/browser"
    flushes_subnormals = True  # SwiftShader does

    def device(self, shaders: Shaders) -> Any:
        return Browser(shaders)
