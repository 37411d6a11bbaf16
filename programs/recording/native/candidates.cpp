// Copy candidates into the buffer of an apply, and sum them (programs/recording/format.py).
#include <cstring>
#include <cstdlib>
#include <new>
#include <utility>
#include "recorder.h"

Buffer::~Buffer() { free(data); }

char *Buffer::resized(size_t n) {
    if (n > room || !data) {
        size_t more = n + n / 2 + 4096;
        auto moved = static_cast<char *>(realloc(data, more));
        if (!moved) throw std::bad_alloc();
        data = moved;
        room = more;
    }
    size = n;
    return data;
}

void Buffer::swap(Buffer &other) {
    std::swap(data, other.data);
    std::swap(size, other.size);
    std::swap(room, other.room);
}

static const size_t whole_sum = 2048;  // more candidates are summed by every sixteenth
static const uint64_t multiplier = 6364136223846793005ull;

static uint64_t word_of(const Candidate &c) {
    uint32_t bits;
    memcpy(&bits, &c.logit, 4);
    return static_cast<uint64_t>(static_cast<uint32_t>(c.id)) << 32 | bits;
}

static uint64_t sum_of(const Candidate *data, size_t n, unsigned offset, unsigned stride) {
    uint64_t lanes[8] = {};
    size_t i = offset;
    for (; i + 7 * stride < n; i += 8 * stride)
        for (size_t lane = 0; lane < 8; lane++)
            lanes[lane] = lanes[lane] * multiplier + word_of(data[i + lane * stride]) + 1;
    for (size_t lane = 0; i < n; i += stride, lane++)
        lanes[lane] = lanes[lane] * multiplier + word_of(data[i]) + 1;
    uint64_t sum = 0;
    for (uint64_t lane : lanes) sum = sum * multiplier + lane + 1;
    return sum;
}

// Copy the logits; return whether the ids are 0, 1, 2, ...
static bool logits_of(const Candidate *data, size_t n, char *to) {
    int32_t wrong = 0;
    auto logits = reinterpret_cast<float *>(to);
    for (size_t i = 0; i < n; i++) {
        logits[i] = data[i].logit;
        wrong |= data[i].id ^ static_cast<int32_t>(i);
    }
    return wrong == 0;
}

static void columns_of(const Candidate *data, size_t n, char *to, bool p) {
    auto ids = reinterpret_cast<int32_t *>(to);
    auto logits = reinterpret_cast<float *>(to + 4 * n);
    auto ps = reinterpret_cast<float *>(to + 8 * n);
    for (size_t i = 0; i < n; i++) ids[i] = data[i].id;
    for (size_t i = 0; i < n; i++) logits[i] = data[i].logit;
    if (p)
        for (size_t i = 0; i < n; i++) ps[i] = data[i].p;
}

// Tokens that samplers of histories and biases change. A long list is not written, but these are, so
// that a wrong penalty is seen at its own stage. A race loses a token for one array.
static const unsigned most_watched = 256;
static int32_t accepted[most_watched], biased[most_watched];
static unsigned n_accepted = 0, n_biased = 0;

static void watch(int32_t *tokens, unsigned &n, int32_t token) {
    unsigned count = __atomic_load_n(&n, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < count && i < most_watched; i++)
        if (__atomic_load_n(tokens + i, __ATOMIC_RELAXED) == token) return;
    __atomic_store_n(tokens + count % most_watched, token, __ATOMIC_RELAXED);
    __atomic_store_n(&n, count + 1, __ATOMIC_RELAXED);
}

void watch_accepted(int32_t token) { watch(accepted, n_accepted, token); }
void watch_biased(int32_t token) { watch(biased, n_biased, token); }

// Write the watched tokens of a list in vocabulary order; return how many there are.
static size_t watched_of(const Candidate *data, size_t n, Buffer &bytes, size_t at) {
    int32_t ids[2 * most_watched];
    size_t m = 0;
    auto take = [&](const int32_t *tokens, unsigned count) {
        for (unsigned i = 0; i < count && i < most_watched; i++) {
            int32_t token = __atomic_load_n(tokens + i, __ATOMIC_RELAXED);
            auto id = static_cast<size_t>(token);
            if (id < n && data[id].id == token) ids[m++] = token;
        }
    };
    take(accepted, __atomic_load_n(&n_accepted, __ATOMIC_RELAXED));
    take(biased, __atomic_load_n(&n_biased, __ATOMIC_RELAXED));
    if (m == 0) return 0;
    char *to = bytes.resized(at + 8 * m) + at;
    memcpy(to, ids, 4 * m);
    for (size_t i = 0; i < m; i++) memcpy(to + 4 * m + 4 * i, &data[ids[i]].logit, 4);
    return m;
}

// What the stage before left; null for the candidates before all.
static const Reference *last_of(const Thread *thread) {
    if (!thread->stages.empty()) return &thread->stages.back().left;
    return thread->begun ? &thread->before : nullptr;
}

// Return whether the array at `at` is the one of the stage before: many stages of a long list leave it
// as it is.
static bool repeated(Thread *thread, const Reference &now, size_t at) {
    const Reference &last = *last_of(thread);
    if (!last.summed || last.form != now.form || last.n != now.n || now.n == 0) return false;
    if (last.listed != now.listed) return false;
    size_t length = thread->bytes.size - at;
    const char *data = thread->bytes.data;
    return last.at + length <= at && memcmp(data + last.at, data + at, length) == 0;
}

Reference taken(Thread *thread, const Candidates *candidates, Listed listed) {
    Reference now;
    now.n = candidates->data ? candidates->size : 0;
    now.sorted = candidates->sorted;
    now.selected = candidates->selected;
    if (settings.detail == Detail::tokens) return now;
    const Candidate *data = candidates->data;
    if (now.n > whole_sum) {
        now.stride = 16;
        now.offset = thread->number_of_apply % 16;
    }
    now.sum = sum_of(data, now.n, now.offset, now.stride);
    now.summed = true;
    Buffer &bytes = thread->bytes;
    size_t at = bytes.size;
    bool full = settings.detail == Detail::stages;
    if (listed == Listed::all) {
        now.form = "logits";
        if (!logits_of(data, now.n, bytes.resized(at + 4 * now.n) + at)) {
            now.form = "pairs";
            columns_of(data, now.n, bytes.resized(at + 8 * now.n) + at, false);
        }
    } else if (full || now.n <= whole_sum) {
        now.form = full ? "full" : "pairs";
        columns_of(data, now.n, bytes.resized(at + (full ? 12 : 8) * now.n) + at, full);
    } else {
        now.listed = watched_of(data, now.n, bytes, at);
        if (now.listed) now.form = "some";
    }
    if (last_of(thread) && strcmp(now.form, "none") && repeated(thread, now, at)) {
        bytes.resized(at);
        at = last_of(thread)->at;
    }
    now.at = at;
    return now;
}
