"""Small synthetic JSON documents: records, settings, logs, answers."""

import json
from collections.abc import Callable
from random import Random

from recipe import words as w


def record(r: Random) -> object:
    """Return an account."""
    return {
        "id": r.randint(1, 9999),
        "name": f"{r.choice(w.NOUNS)}_{r.randint(1, 99)}",
        "email": w.mail(r),
        "active": r.random() < 0.8,
        "tags": r.sample(w.ADJECTIVES, r.randint(0, 3)),
    }


def order(r: Random) -> object:
    """Return an order with its items."""
    items = [
        {"sku": w.identifier(r), "quantity": w.small(r), "price": round(r.uniform(1, 200), 2)}
        for _ in range(r.randint(1, 3))
    ]
    return {
        "order_id": w.identifier(r),
        "date": w.date(r),
        "items": items,
        "currency": r.choice(w.CURRENCIES),
        "status": r.choice(w.STATES),
    }


def settings(r: Random) -> object:
    """Return a configuration file."""
    return {
        "version": w.version(r),
        "debug": r.random() < 0.3,
        "server": {
            "host": f"{r.choice(w.HOSTS)}.example.com",
            "port": r.choice((80, 443, 8000, 8080, 9090)),
        },
        "logging": {"level": r.choice(w.LEVELS), "file": w.path_name(r)},
        "features": {r.choice(w.NOUNS): r.random() < 0.5 for _ in range(r.randint(1, 4))},
    }


def log(r: Random) -> object:
    """Return a line or two of a structured log."""
    return [
        {
            "time": f"{w.date(r)}T{w.clock(r)}:00Z",
            "level": r.choice(w.LEVELS),
            "service": r.choice(w.HOSTS),
            "message": f"{r.choice(w.VERBS)} {r.choice(w.NOUNS)}: {r.choice(w.STATES)}",
        }
        for _ in range(r.randint(1, 4))
    ]


def answer(r: Random) -> object:
    """Return a page of an interface's results."""
    results = [
        {"title": w.topic(r), "url": w.link(r), "score": round(r.random(), 3)}
        for _ in range(r.randint(1, 4))
    ]
    return {
        "query": w.topic(r),
        "page": r.randint(1, 9),
        "results": results,
        "next": r.choice((None, w.link(r))),
    }


def function(r: Random) -> object:
    """Return a function call as JSON."""
    return {
        "type": "function",
        "function": {
            "name": f"{r.choice(w.VERBS)}_{r.choice(w.NOUNS)}",
            "arguments": {
                "path": w.path_name(r),
                "limit": w.small(r),
                "recursive": r.random() < 0.5,
            },
        },
    }


MAKERS: tuple[Callable[[Random], object], ...] = (record, order, settings, log, answer, function)


def json_document(r: Random) -> str:
    """Return one document, on one line or indented."""
    return json.dumps(r.choice(MAKERS)(r), indent=r.choice((None, 2, 2, 4)))
