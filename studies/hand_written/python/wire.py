"""The line protocol (version 2), for engines that are written in Python.

An engine hands `serve` an object with

    name, version, arithmetic      for the greeting
    samplers                       {name: class}; class(engine, given, n_vocab) makes a stage
    fresh(logits)                  candidates of a row (a NumPy float32 array)
    export(candidates)             -> ids, logits, p as NumPy arrays

Candidates have `sorted` and `selected`, and `token()`.
"""
import copy
import json
import mmap
import secrets
import sys

import numpy as np

VERSION = 2
RANDOM_SEED = 4294967295
DTYPES = ["float32", "bfloat16", "float16"]


class Refused(Exception):
    """Becomes an ErrorReply."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def rejected(message):
    return Refused("rejected", message)


def unsupported(message):
    return Refused("unsupported", message)


def number(value):
    """A JSON number, or one of the strings "inf", "-inf" and "nan"."""
    return float(value)


def real_seed(seed):
    """The seed to use: the given one, or a new random one."""
    seed = int(seed) & 0xFFFFFFFF
    return secrets.randbits(64) >> 1 if seed == RANDOM_SEED else seed


class Stage:
    """A sampler. Those with a memory override accept and reset."""

    def __init__(self, engine, given, n_vocab):
        self.engine, self.n_vocab = engine, n_vocab
        self.read(given)

    def read(self, given):
        """Read the parameters."""

    def apply(self, c):
        raise NotImplementedError

    def accept(self, token):
        pass

    def reset(self):
        pass

    def clone(self):
        return copy.deepcopy(self, {id(self.engine): self.engine})

    def draw_many(self, c, n):
        """Tokens of n draws from the same candidates."""
        tokens = []
        for _ in range(n):
            again = c.copy()
            self.apply(again)
            tokens.append(again.token())
        return tokens


class Chain:
    def __init__(self, stages):
        self.stages = stages

    def accept(self, token):
        for stage in self.stages:
            stage.accept(token)

    def reset(self):
        for stage in self.stages:
            stage.reset()

    def clone(self):
        return Chain([stage.clone() for stage in self.stages])


class Scratch:
    def __init__(self, path):
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 0)

    def view(self, end):
        if end > len(self.map):
            self.map = mmap.mmap(self.file.fileno(), 0)
        return self.map

    def rows(self, rows):
        at, count, n = rows["at"], rows["count"], rows["n"]
        dtype = rows.get("dtype", "float32")
        size = 4 if dtype == "float32" else 2
        raw = self.view(at + count * n * size)[at : at + count * n * size]
        if dtype == "float32":
            values = np.frombuffer(raw, "<f4")
        elif dtype == "float16":
            values = np.frombuffer(raw, "<f2").astype(np.float32)
        elif dtype == "bfloat16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            raise unsupported(f"rows of {dtype}")
        return values.reshape(count, n)

    def write(self, at, raw):
        self.view(at + len(raw))[at : at + len(raw)] = raw


class Session:
    def __init__(self, engine):
        self.engine = engine
        self.scratch = None

    # requests

    def hello(self, request):
        asked = request.get("protocol", VERSION)
        if asked not in (1, VERSION):
            raise unsupported(f"protocol {asked}")
        self.scratch = Scratch(request["scratch"])
        capabilities = ["run", "draws", "numbers", "no_vocab"] + (["batch"] if asked == VERSION else [])
        return {
            "protocol": asked,
            "name": self.engine.name,
            "version": self.engine.version,
            "device": "cpu",
            "capabilities": capabilities,
            "samplers": list(self.engine.samplers),
            "dtypes": DTYPES,
            "arithmetic": self.engine.arithmetic,
            "random": "own",
        }

    def run(self, request):
        rows = self.scratch.rows(request["rows"])
        chains = []
        for _ in range(request.get("instances", 1)):
            chains.append(self.build(request["chain"], request["n_vocab"], request.get("history", ())))
        out = Output(self, request)
        tokens, stages = [], []
        for step in request["steps"]:
            for what, i in step.get("before", ()):
                if what == "reset":
                    chains[i].reset()
                elif what == "clone":
                    chains.append(chains[i].clone())
                else:
                    raise unsupported(f"operation {what}")
            token, results = self.step(chains[step.get("instance", 0)], rows, step, out)
            tokens.append(token)
            stages.append(results)
        reply = {"tokens": tokens, "ns": 0}
        if out.wanted:
            reply["stages"] = stages
        return reply

    def batch(self, request):
        rows = self.scratch.rows(request["rows"])
        sequences = request["sequences"]
        live = []
        out = Output(self, request)
        tokens, stages = [], []
        for step in request["steps"]:
            for what, *places in step.get("before", ()):
                i = places[0]
                if what == "join":
                    one = sequences[i]
                    text = list(one.get("prompt", ())) + list(one.get("output", ()))
                    live.append(self.build(one["chain"], request["n_vocab"], text))
                elif what == "leave":
                    live.pop(i)
                elif what == "clone":
                    live.append(live[i].clone())
                elif what == "swap":
                    j = places[1]
                    live[i], live[j] = live[j], live[i]
                elif what == "reset":
                    live[i].reset()
                else:
                    raise unsupported(f"operation {what}")
            drawn = [self.step(live[one["at"]], rows, one, out) for one in step.get("sample", ())]
            tokens.append([token for token, _ in drawn])
            stages.append([results for _, results in drawn])
        reply = {"tokens": tokens, "ns": 0}
        if out.wanted:
            reply["stages"] = stages
        return reply

    def draws(self, request):
        row = self.scratch.rows(request["rows"])[request.get("row", 0)]
        chain = self.build(request["chain"], request["n_vocab"], request.get("history", ()))
        n = request["n"]
        *filters, last = chain.stages
        if request.get("filters_once", False):
            c = self.engine.fresh(row)
            for stage in filters:
                stage.apply(c)
            tokens = last.draw_many(c, n)
        else:
            tokens = []
            for _ in range(n):
                c = self.engine.fresh(row)
                for stage in chain.stages:
                    stage.apply(c)
                tokens.append(c.token())
        if any(token is None for token in tokens):
            raise rejected("the chain selects no token")
        self.scratch.write(request["out"], np.asarray(tokens, "<i4").tobytes())
        return {"ns": 0}

    # parts

    def build(self, chain, n_vocab, history):
        stages = []
        for spec in chain:
            ((name, given),) = spec.items()
            if name not in self.engine.samplers:
                raise unsupported(f"no sampler {name}")
            stages.append(self.engine.samplers[name](self.engine, given or {}, n_vocab))
        chain = Chain(stages)
        for token in history:
            chain.accept(token)
        return chain

    def step(self, chain, rows, step, out):
        c = self.engine.fresh(rows[step["row"]])
        results = []
        for stage in chain.stages:
            stage.apply(c)
            results.append(out.stage(c))
        token = c.token()
        accept = step.get("accept", "selected")
        if accept == "selected":
            accept = token
        if accept is not None:
            chain.accept(accept)
        return token, results

    def answer(self, request):
        handler = {"hello": self.hello, "run": self.run, "batch": self.batch, "draws": self.draws}
        if request["do"] not in handler:
            raise unsupported(f"no request {request['do']}")
        return handler[request["do"]](request)


class Output:
    """Where the stages of a request go."""

    def __init__(self, session, request):
        self.session = session
        self.wanted = request.get("detail", "stages") == "stages"
        self.at = request.get("out", 0)

    def stage(self, c):
        if not self.wanted:
            return None
        ids, logits, p = self.session.engine.export(c)
        raw = ids.astype("<i4").tobytes() + logits.astype("<f4").tobytes() + p.astype("<f4").tobytes()
        self.session.scratch.write(self.at, raw)
        result = {"at": self.at, "n": len(ids), "sorted": c.sorted, "selected": c.selected}
        self.at += len(raw)
        return result


def serve(engine):
    session = Session(engine)
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        if request["do"] == "bye":
            return
        try:
            reply = {"ok": True, **session.answer(request)}
        except Refused as refusal:
            reply = {"ok": False, "kind": refusal.kind, "message": str(refusal)}
        if "number" in request:
            reply["number"] = request["number"]
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
