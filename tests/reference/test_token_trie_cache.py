"""The cache of tries: kept and dropped entries; no two payloads share an entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.reference import ChainError
from sampler_parity.reference.trie import CACHE_SIZE, Payload, TrieCache, cache_key
from tests.support.tries import payload


def cache(size: int = CACHE_SIZE) -> tuple[TrieCache[str], list[Payload]]:
    """A cache of the model ids, and what it built."""
    built: list[Payload] = []

    def build(read: Payload) -> str:
        built.append(read)
        return read.model_id

    return TrieCache(build, size), built


def test_the_same_payload_is_built_once() -> None:
    tries, built = cache()
    first, second = tries.acquire(payload([1])), tries.acquire(payload([1]))
    assert first == second
    assert len(built) == 1
    assert tries.entries[first[0]].users == 2


def test_payloads_that_differ_in_the_model_alone_have_entries_of_their_own() -> None:
    tries, _ = cache()
    assert [tries.acquire(payload([1], model=m))[1] for m in "ab"] == ["a", "b"]


def test_the_key_is_sha_256_of_the_text() -> None:
    # printf '' | sha256sum
    assert cache_key("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_beyond_128_the_least_recently_used_that_is_not_in_use_goes() -> None:
    assert CACHE_SIZE == 128
    tries, built = cache()
    keys = [tries.acquire(payload([i]))[0] for i in range(CACHE_SIZE)]
    for key in keys[1:]:
        tries.release(key)
    tries.release(tries.acquire(payload([1]))[0])  # used again: now 2 is the oldest out of use
    tries.release(tries.acquire(payload([CACHE_SIZE]))[0])
    assert len(tries.entries) == CACHE_SIZE
    assert [keys[i] in tries.entries for i in range(4)] == [True, True, False, True]
    assert len(built) == CACHE_SIZE + 1


def test_a_release_too_many_is_refused() -> None:
    tries, _ = cache()
    key, _ = tries.acquire(payload([1]))
    tries.release(key)
    with pytest.raises(ValueError, match="is not in use"):
        tries.release(key)


def test_a_payload_that_is_refused_leaves_nothing() -> None:
    tries, _ = cache()
    with pytest.raises(ChainError):
        tries.acquire("{}")
    assert not tries.entries


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_no_entry_in_use_is_dropped_and_no_more_than_needed_are_kept(
    uses: list[tuple[int, bool]],
) -> None:
    tries, _ = cache(size=2)
    held: list[str] = []
    for which, release in uses:
        if release and held:
            tries.release(held.pop(which % len(held)))
        else:
            held.append(tries.acquire(payload([which]))[0])
        assert set(held) <= set(tries.entries)
        assert len(tries.entries) <= max(2, len(set(held)))
