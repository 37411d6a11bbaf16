"""The actions that the synthetic transcripts call, most used first.

Each has a question, the parameters that the question names and parameters
that a call may leave out.
"""

from collections.abc import Callable
from random import Random

from recipe import words as w

Maker = Callable[[Random], object]


def one_of(*choices: object) -> Maker:
    """Make a maker that picks one of the given values."""
    return lambda r: r.choice(choices)


def number(low: int, high: int) -> Maker:
    """Make a maker of whole numbers."""
    return lambda r: r.randint(low, high)


def pick(choices: list[str]) -> Maker:
    """Make a maker that picks from a word list."""
    return lambda r: r.choice(choices)


# action: (question, required parameters, optional parameters).  The braces in
# the question are filled from the parameters, so the call can be read off it.
Schema = tuple[str, dict[str, Maker], dict[str, Maker]]
ACTIONS: dict[str, Schema] = {
    "search_files": (
        "Find the files that match {pattern}.",
        {"pattern": lambda r: "*" + r.choice(w.EXTENSIONS)},
        {"path": pick(w.FOLDERS), "limit": w.small},
    ),
    "read_file": (
        "What does {path} say?",
        {"path": w.path_name},
        {"start_line": number(1, 400), "limit": w.small},
    ),
    "web_search": (
        "Look up the {query} on the web.",
        {"query": w.topic},
        {"limit": w.small, "language": pick(w.LANGUAGES)},
    ),
    "write_file": (
        "Write a note about the {content} to {path}.",
        {"path": w.path_name, "content": w.topic},
        {"append": one_of(True, False)},
    ),
    "run_command": (
        "Run {command} for me.",
        {
            "command": one_of(
                "ls -la",
                "git status",
                "pytest -q",
                "make test",
                "python -m build",
                "git log --oneline",
                "df -h",
            )
        },
        {"timeout": one_of(10, 30, 60, 120)},
    ),
    "calculate": (
        "What is {expression}?",
        {"expression": lambda r: f"{r.randint(2, 99)} {r.choice('+-*/')} {r.randint(2, 99)}"},
        {"precision": number(1, 6)},
    ),
    "get_weather": (
        "What is the weather in {city}?",
        {"city": pick(w.CITIES)},
        {"unit": one_of("celsius", "fahrenheit"), "days": number(1, 7)},
    ),
    "list_directory": (
        "What is in the {path} folder?",
        {"path": pick(w.FOLDERS)},
        {"recursive": one_of(True, False)},
    ),
    "send_email": (
        "Tell {to} about the {subject}.",
        {"to": w.mail, "subject": w.topic},
        {"priority": one_of("low", "normal", "high")},
    ),
    "query_database": (
        "How many rows of {table} are {state}?",
        {"table": pick(w.NOUNS), "state": pick(w.STATES)},
        {"limit": w.small},
    ),
    "create_ticket": (
        "Open a ticket to {title}.",
        {"title": w.task},
        {"priority": one_of("low", "normal", "high"), "assignee": w.identifier},
    ),
    "update_ticket": (
        "Mark {ticket_id} as {state}.",
        {"ticket_id": w.identifier, "state": pick(w.STATES)},
        {"comment": w.task},
    ),
    "fetch_url": ("What is at {url}?", {"url": w.link}, {"timeout": one_of(10, 30, 60)}),
    "translate_text": (
        "Say '{text}' in another language.",
        {"text": w.topic, "target": pick(w.LANGUAGES)},
        {"formal": one_of(True, False)},
    ),
    "create_event": (
        "Plan a meeting to {title} on {date}.",
        {"title": w.task, "date": w.date},
        {"time": w.clock, "duration_minutes": one_of(15, 30, 45, 60, 90)},
    ),
    "set_reminder": (
        "Remind me to {text} at {time}.",
        {"text": w.task, "time": w.clock},
        {"repeat": one_of("never", "daily", "weekly")},
    ),
    "list_events": ("What is planned for {date}?", {"date": w.date}, {"limit": w.small}),
    "get_stock_price": (
        "What is {symbol} trading at?",
        {"symbol": one_of("AAA", "BRX", "CNTO", "DLT", "EXM")},
        {"currency": pick(w.CURRENCIES)},
    ),
    "convert_currency": (
        "How much is {amount} {source} in {target}?",
        {"amount": w.small, "source": pick(w.CURRENCIES), "target": pick(w.CURRENCIES)},
        {"date": w.date},
    ),
    "get_directions": (
        "How do I get from {origin} to {destination}?",
        {"origin": pick(w.CITIES), "destination": pick(w.CITIES)},
        {"mode": one_of("train", "car", "walk", "bus")},
    ),
    "summarize_document": (
        "Sum up {document_id}.",
        {"document_id": w.identifier},
        {"max_words": one_of(50, 100, 200)},
    ),
    "delete_file": ("Remove {path}.", {"path": w.path_name}, {"confirm": one_of(True, False)}),
    "move_file": (
        "Move {source} to {target}.",
        {"source": w.path_name, "target": w.path_name},
        {"overwrite": one_of(True, False)},
    ),
    "count_words": ("How long is {path}?", {"path": w.path_name}, {"unique": one_of(True, False)}),
    "play_music": (
        "Play something {mood}.",
        {"mood": one_of("calm", "happy", "slow", "loud", "quiet")},
        {"volume": number(1, 10)},
    ),
    "set_temperature": (
        "Make it {degrees} degrees in the {room}.",
        {"degrees": number(16, 25), "room": one_of("kitchen", "office", "bedroom", "hall")},
        {"unit": one_of("celsius", "fahrenheit")},
    ),
    "track_order": (
        "Where is {order_id}?",
        {"order_id": w.identifier},
        {"detailed": one_of(True, False)},
    ),
    "book_flight": (
        "Get me from {origin} to {destination} on {date}.",
        {"origin": pick(w.CITIES), "destination": pick(w.CITIES), "date": w.date},
        {"class": one_of("economy", "business"), "seats": number(1, 4)},
    ),
    "create_branch": (
        "Start a branch to {purpose}.",
        {"purpose": w.task},
        {"base": one_of("main", "develop", "release")},
    ),
    "rollback_release": (
        "Undo the release of {service}.",
        {"service": pick(w.HOSTS)},
        {"version": lambda r: f"{r.randint(0, 4)}.{r.randint(0, 9)}.{r.randint(0, 9)}"},
    ),
}
