"""The page of a recording, in headless Chromium: tokens are picked by keyboard, and found."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.programs.pages.recording import (
    Piece,
    StageRow,
    TokenRow,
    lines_of,
    recording_page,
    rows_of,
    write_recording,
)
from tests.programs.recording.small_program import small_recording
from tests.support.axe import fetch, violations
from tests.support.chromium import See, chromium
from tests.support.command_line import cli
from tests.support.html_page import Page, policy, problems

KEYS = """(page) => {
  const view = page.defaultView;
  const press = (key) => page.activeElement.dispatchEvent(
    new view.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const text = (id) => page.getElementById(id).innerText.replace(/\\s+/g, ' ').trim();
  const cells = () => [...page.querySelectorAll('#picked .stages tbody tr')].map(
    (row) => [...row.cells].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim()));
  const tokens = [...page.querySelectorAll('[role=option]')];
  return JSON.stringify((() => { %s })());
}"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a small recording: tokens c, c and a; temp does nothing at the third."""
    folder = tmp_path_factory.mktemp("recording")
    assert small_recording(folder, wrong=2) == [2, 2, 0]
    return recording_page("Recording: small", lines_of(folder), rows_of(folder, []), 10)


def planted(text: str, old: str, new: str) -> str:
    """Return a page with a fault in its script or its data."""
    assert old in text
    text = text.replace(old, new)
    return re.sub(r"default-src 'none'; [^\"]*", lambda _: policy(text), text, count=1)


def answers(see: See, act: str, *pages: str, width: int = 1280) -> list[Any]:
    """Return what an act finds out on each page; None for a page that threw."""
    return [json.loads(seen.answer or "null") for seen in see([*pages], width, act=KEYS % act)]


def assert_answer(
    see: See, act: str, page: str, expected: Any, faults: Sequence[tuple[str, str]]
) -> None:
    """Assert what an act finds out on a page, and that it finds out another thing with each fault.

    faults: a part of the page's script, and what stands there instead.
    """
    wrong = [planted(page, old, new) for old, new in faults]
    right, *others = answers(see, act, page, *wrong)
    assert right == expected
    assert [fault for fault, other in zip(faults, others, strict=True) if other == expected] == []


PICK = """
tokens[0].focus();
press('Escape'); press('ArrowRight'); press('Enter');
const first = [page.activeElement === tokens[1], text('picked-head'), cells()];
press('Escape');
return [...first, text('picked-head'), page.activeElement === tokens[1]];
"""
PICKED = [
    True,
    "Token 2: c (2)",
    [
        # 0.2 of 0.4 + 0.3 + 0.2; then 0.2**2 of 0.4**2 + 0.3**2 + 0.2**2
        ["top_k k=3", "4 → 3", "removed 1: d -2.303", "-1.609", "0.2222", "identical"],
        [
            *("temp temp=0.5", "3"),
            "changed 3: a -0.9163 → -1.833, b -1.204 → -2.408, c -1.609 → -3.219",
            *("-3.219", "0.1379", "identical"),
        ],
        ["dist seed=1", "3", "nothing", "-3.219", "0.1379", "identical"],
    ],
    "No token is picked",
    True,
]


@pytest.mark.slow
def test_a_token_picked_by_keyboard_shows_its_stages(see: See, small: str) -> None:
    faults = [
        ("event.key === 'Enter' || event.key === ' ') pick", "false) pick"),
        ("ArrowRight: () => state.at + 1", "ArrowRight: () => state.at + 2"),
        ("now = { n, mass, logit, p };", "now = { n, mass, logit, p: mass };"),
        ("state.picked >= 0) unpick()", "state.picked > 9) unpick()"),
    ]
    assert_answer(see, PICK, small, PICKED, faults)


PICTURE = """
tokens[2].click();
const svg = page.querySelector('.picture svg');
const widths = [...svg.querySelectorAll('.mass')].map((bar) => bar.getAttribute('width'));
const differing = svg.querySelectorAll('.differs').length;
return [svg.getAttribute('aria-label'), widths, differing, cells()[1][5],
  [...page.querySelectorAll('#picked dd')].map((one) => one.innerText), text('counted')];
"""


@pytest.mark.slow
def test_the_picture_has_survivors_and_mass_and_names_what_differs(see: See, small: str) -> None:
    said = (
        "before the chain: 4 survivors, mass 1, p 0.4; top_k: 3 survivors, mass 0.9, p 0.4444; "
        "temp: 3 survivors, mass 0.9, p 0.4444"
    )
    facts = [
        "0.4444, 1.17 bits of surprisal",
        "rank 1 of 4, p 0.4",
        "1.846 bits before the chain",  # 0.4 log 0.4 + 0.3 log 0.3 + 0.2 log 0.2 + 0.1 log 0.1
        "0.1281; the token has [0, 0.4444)",
        "a stage differs from the reference",
    ]
    counted = "3 tokens in 1 text. Tokens with a stage that differs from the reference: 1. "
    counted += "Not judged: 0."
    picture = [said, ["270", "243", "243"], 1, "diverged: logits", facts, counted]
    assert_answer(see, PICTURE, small, picture, [("wide * share", "wide * share * share")])


def token(number: int, text: int = 1, **fields: object) -> TokenRow:
    stages = (StageRow("top_k", "k=4", 4, 0.9, 1.0, 0.5),)
    row = {"before": 10, "p": 0.5, "logit": 1.0, "model_p": 0.4, "stages": stages} | fields
    row = {"piece": Piece(number, f" t{number}")} | row
    return TokenRow(number, text=text, **row)  # type: ignore[arg-type]


def page_of(rows: Iterable[TokenRow], most: int = 10) -> str:
    return recording_page("Recording: x", ["Private."], rows, most)


def with_properties() -> list[TokenRow]:
    """Return two texts, each property at a token of its own."""
    return [
        token(1),
        token(2, stages=(StageRow("top_k", "k=4", 4, 0.9, 1.0, 0.5, "diverged: logits"),)),
        token(3, forced_by="grammar", favourite_removed_by="grammar"),
        token(4, forced_by="top_k"),
        token(5, favourite_removed_by="xtc"),
        token(6, 2, p=0.0499),
        token(7, 2, p=0.05),
        token(8, 2, differs_from_greedy=True),
        token(9, 2, accepted=False),
        token(10, 2, stages=(StageRow("own", verdict="not judged: unknown"),)),
    ]


FIND = """
const property = page.getElementById('property');
return [...property.options].map((option) => {
  property.value = option.value;
  property.dispatchEvent(new view.Event('change'));
  const found = [];
  for (const key of ['n', 'n', 'p']) {
    press(key);
    found.push(text('picked-head').match(/\\d+/)[0]);
  }
  return [option.text, ...found, page.querySelectorAll('.hit').length];
});
"""
FOUND = [
    ["a stage differs from the reference (1)", "2", "2", "2", 1],
    ["forced by a grammar: it left one token, or removed the favourite (1)", "3", "3", "3", 1],
    ["forced: one survivor before the draw (2)", "4", "3", "4", 2],
    ["the chain removed the model's favourite (2)", "5", "3", "5", 2],
    ["drawn from the tail: p below 0.05 (1)", "6", "6", "6", 1],
    ["greedy takes another token (1)", "8", "8", "8", 1],
    ["drawn and not accepted (1)", "9", "9", "9", 1],
    ["a stage was not judged (1)", "10", "10", "10", 1],
]


@pytest.mark.slow
def test_tokens_are_found_by_property_in_all_texts(see: See) -> None:
    faults = [
        ("(holds << bit)", "(holds << (bit ^ 1))"),
        ("?? ordered[0];", ";"),
        ("if (hit[0] !== state.text) open(hit[0]);", ""),
    ]
    assert_answer(see, FIND, page_of(with_properties()), FOUND, faults)


ADDRESS = """
const named = ['', '#8', '#3', '#99', '#content'].map((hash) => {
  view.location.hash = hash;
  view.dispatchEvent(new view.Event('hashchange'));
  return text('picked-head');
});
return [...named, page.getElementById('text').value];
"""


@pytest.mark.slow
def test_the_page_begins_with_a_token_and_opens_that_of_the_address(see: See) -> None:
    shown = [f"Token {i}: t{i} ({i})" for i in (1, 8, 3, 3, 3)]
    faults = [
        ("if (state.spans.length) pick(0);\n  addressed", "addressed"),
        ("columns.number.indexOf(wanted)", "wanted"),
    ]
    assert_answer(see, ADDRESS, page_of(with_properties()), [*shown, "0"], faults)


TIMELINE = """
const line = page.getElementById('timeline');
const box = line.getBoundingClientRect();
const clientX = box.left + box.width * 0.75;
line.dispatchEvent(new view.MouseEvent('click', { clientX, bubbles: true }));
const clicked = [text('picked-head'), line.querySelector('.here').getAttribute('d')];
line.focus(); press('ArrowLeft');
return [...clicked, text('picked-head'), line.getAttribute('aria-valuetext'),
  line.querySelectorAll('path').length];
"""


@pytest.mark.slow
def test_a_click_into_the_timeline_goes_to_the_token(see: See) -> None:
    page = page_of([token(i, entropy=i / 2) for i in range(1, 11)])
    shown = [
        *("Token 8: t8 (8)", "M750 0V100", "Token 7: t7 (7)"),
        "token 7:  t7, entropy 3.5 bits, 4 survivors",
        3,
    ]
    assert_answer(see, TIMELINE, page, shown, [("(event.clientX - box.left)", "event.clientX / 2")])


SHADES = """
const of = () => tokens.map((token) => view.getComputedStyle(token).backgroundColor);
const p = of();
page.querySelector('[value=b]').click();
return [p, of(), tokens.map((token) => token.className.trim())];
"""


@pytest.mark.slow
def test_a_switch_shades_by_probability_or_by_surprisal(see: See) -> None:
    rows = [token(i, p=p) for i, p in enumerate((1.0, 0.5, 0.01, None), 1)]
    ((by_p, by_bits, classes),) = answers(see, SHADES, page_of(rows))
    assert classes == ["p0 b0", "p4 b1", "p7 b6 hit", ""]
    assert (by_p[0], by_p[3]) == (by_bits[0], by_bits[3]) == ("rgba(0, 0, 0, 0)",) * 2
    assert len({*by_p}) == len({*by_bits}) == 3
    assert by_p[1] != by_bits[1]


HOSTILE = (
    b"</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">",
    "\u202eevil\x1b[2J\x00".encode(),
    b"\xff\xc3",
    b"&amp;<!--<script>",
)
LOOK = "return [page.getElementById('tokens').innerText, page.querySelectorAll('script').length];"


@pytest.mark.slow
def test_hostile_pieces_run_nothing_and_are_shown_escaped(see: See, tmp_path: Path) -> None:
    small_recording(tmp_path / "r", HOSTILE, steps=40)
    (path,) = write_recording(tmp_path / "r", tmp_path / "out")
    text = path.read_text()
    assert problems(text) == []
    assert not {*"\u202e\x1b\x00"} & {*text}
    broken = text.replace("\\u003c", "<").replace("\\u003e", ">")
    seen, bad = see([text, broken], 1280, act=KEYS % f"tokens[0]?.click(); {LOOK}")
    shown, scripts = json.loads(seen.answer)
    assert (seen.title, scripts) == ("Recording: r", 2)
    for piece in (HOSTILE[0].decode(), "\\u202eevil\\x1b[2J\\x00", "\ufffd"):
        assert piece in shown
    assert "Content Security Policy" in str(bad.console)
    assert bad.answer != seen.answer


def test_a_half_character_is_shown_by_the_token_that_completes_it(tmp_path: Path) -> None:
    sampled = small_recording(tmp_path, ["é".encode()[:1], b"b", "é".encode()[1:], b"d"], 3)
    assert sampled == [2, 2, 0]
    rows = list(rows_of(tmp_path, []))
    assert [row.piece.text for row in rows] == ["\\xa9", "\\xa9", "\\xc3"]
    assert [row.shown for row in rows] == ["\ufffd", "\ufffd", ""]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_the_screen_and_has_no_problem(see: See, small: str, width: int) -> None:
    assert problems(small) == []
    for seen in see(
        [small, page_of([])], width, act=KEYS % "tokens[0]?.click(); return tokens.length"
    ):
        assert (seen.scroll_width, seen.console) == (width, [])


@pytest.mark.parametrize(("text", "first"), [(True, "what the model wrote"), (False, "numbers")])
def test_the_page_says_first_what_it_contains(tmp_path: Path, text: bool, first: str) -> None:
    small_recording(tmp_path / "r", text=text)
    done = cli("report", tmp_path / "r", "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out' / 'recording.html'}\n")
    written = (tmp_path / "out" / "recording.html").read_text()
    assert re.search(r"<h1>.*?</h1>\n<p[^>]*>(.*?)</p>", written)[1].count(first) == 1  # type: ignore[index]
    assert ('" c"' in written) == text


def test_a_recording_of_tokens_only_has_their_texts_and_no_stages(tmp_path: Path) -> None:
    small_recording(tmp_path, detail="tokens")
    for row in rows_of(tmp_path, []):
        assert row.stages[0].verdict == "not judged: --detail tokens has no candidates"
        assert (row.piece.text in (" a", " c"), row.top, row.stages[0].mass) == (True, (), None)


def test_a_recording_stands_alone_and_is_html(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    small_recording(folder)
    for arguments in ([folder, folder], [folder, "-f", "md"]):
        done = cli("report", *arguments, "-o", tmp_path / "out")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "-f html" in done.stderr
    (folder / f"{next(folder.glob('*.events')).stem}.0001.arrays").unlink()
    assert cli("report", folder, "-o", tmp_path / "out").returncode == 0  # as after --keep
    events = next(folder.glob("*.events"))
    events.write_bytes(events.read_bytes().replace(b'"k":3', b'"k":2'))
    done = cli("report", folder, "-o", tmp_path / "out")
    assert (done.returncode, "is damaged" in done.stderr) == (2, True)


def test_only_the_first_tokens_of_a_long_recording_are_shown() -> None:
    text = page_of((token(i) for i in range(1, 10**9)), 5)
    assert (" t5" in text, " t6" in text) == (True, False)
    assert "Only the first 5 tokens are shown." in Page(text).text


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("shade", ["p", "b"])
def test_axe_finds_nothing_with_a_picked_token(
    small: str, theme: str, shade: str, tmp_path: Path
) -> None:
    program, axe = chromium(), fetch(tmp_path / "axe")
    if program is None or not axe:
        pytest.skip("unavailable: chromium, or axe-core from npm")
    act = f"document.querySelector('[value={shade}]').click();"
    act += "document.querySelectorAll('[role=option]')[1].click();"
    shaded = page_of([*rows_of_shades(), *with_properties()], 100)
    pale = re.sub(
        "--shade: [0-9 ]+", "--shade: 0 0 0" if theme == "light" else "--shade: 255 255 255", shaded
    )
    for i, text in enumerate((small, shaded, pale)):
        acting = text.replace("</body>", f"<script>{act}</script></body>")
        found = violations(program, axe, acting, theme, tmp_path / str(i))
        assert [rule for rule, _ in found] == ["color-contrast"] * (text == pale)


def rows_of_shades() -> Iterator[TokenRow]:
    for i in range(8):
        yield token(100 + i, p=1.01 - i / 8)
        yield token(200 + i, p=0.9 * 0.5**i)
