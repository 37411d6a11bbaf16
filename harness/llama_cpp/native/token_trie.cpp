// token_trie.h, through llama.cpp's public llama_sampler_init.

#include "token_trie.h"

#include "cache.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>

using token_trie::Entry;
using token_trie::Payload;
using token_trie::Refused;
using token_trie::Trie;

namespace {

constexpr int LIMIT = int(token_trie::MAX_LEAF);

void say(ggml_log_level level, const std::string & line) {
    ggml_log_callback log;
    void * data;
    llama_log_get(&log, &data);
    log(level, (line + "\n").c_str(), data);
}

// A use of a trie, and where in it a text is. Inactive, its place is still followed, from the root.
struct Position {
    token_trie_cache * cache;
    Entry * entry;
    int mode;
    bool compact;
    const Trie *first = nullptr, *last = nullptr;  // of the spans that follow each other
    const Trie * trie = nullptr;
    int32_t node = 0;
    bool active = true;
    int age = 0;  // tokens since the span was opened: the document's position_in_span

    Position(token_trie_cache * cache, Entry * entry, int mode, bool compact)
        : cache(cache), entry(entry), mode(mode), compact(compact) {}
    Position(const Position & other) { *this = other, cache->acquire(entry); }
    ~Position() { cache->release(entry); }

    bool constrains() const { return active && !trie->is_leaf(node); }
    void apply(llama_token_data_array * candidates) const;
    void accept(llama_token token);
    void go_to(const Trie * span, bool opened) { trie = span, node = 0, active = opened, age = 0; }
    void reset() { go_to(first, false); }

private:
    Position & operator=(const Position &) = default;  // without a use of the trie
};

// Whether the children stand at the positions of their ids, as they do if nothing was moved.
bool at_their_ids(const llama_token_data_array * c, const int32_t * first, const int32_t * end) {
    if (size_t(end[-1]) >= c->size) return false;
    return std::all_of(first, end, [&](int32_t id) { return c->data[id].id == id; });
}

// children: where they stand, before it and behind it.
void keep_only(llama_token_data_array * c, std::vector<size_t> & children) {
    for (size_t i = 0; i < children.size(); i++) c->data[i] = c->data[children[i]];
    std::iota(children.begin(), children.end(), size_t(0));
    c->size = children.size();
}

// Whole words are written: three of 32 bytes for eight candidates where a store a logit takes eight,
// which at 128,256 candidates is the time of a step. Aligned, for a store across the end of a cache
// line is two. kept, masked: of three words.
template <class Word>
inline __attribute__((always_inline)) void mask_words(llama_token_data * at,
        const llama_token_data * end, const Word * kept, const Word * masked) {
    constexpr int CANDIDATES = sizeof(Word) / sizeof(float);  // that three words are
    static_assert(sizeof(llama_token_data) == 12 && offsetof(llama_token_data, logit) == 4);
    auto aligned = [&] { return reinterpret_cast<uintptr_t>(at) % sizeof(Word) == 0; };
    for (; at < end && !aligned(); at++) at->logit = -INFINITY;
    for (; end - at >= CANDIDATES; at += CANDIDATES)
        for (int i = 0; i < 3; i++) {
            char * place = reinterpret_cast<char *>(at) + sizeof(Word) * i;
            Word word;
            std::memcpy(&word, place, sizeof(word));
            word = (word & kept[i]) | masked[i];
            std::memcpy(place, &word, sizeof(word));
        }
    for (; at < end; at++) at->logit = -INFINITY;
}

constexpr uint32_t KEEP = UINT32_MAX, INF = 0xff800000;  // the bits of -inf

#if defined(__x86_64__)
__attribute__((target("avx2"))) void mask_wide(
        llama_token_data * at, const llama_token_data * end) {
    typedef uint32_t Word __attribute__((vector_size(32)));
    const Word kept[] = {{KEEP, 0, KEEP, KEEP, 0, KEEP, KEEP, 0},
        {KEEP, KEEP, 0, KEEP, KEEP, 0, KEEP, KEEP}, {0, KEEP, KEEP, 0, KEEP, KEEP, 0, KEEP}};
    const Word masked[] = {{0, INF, 0, 0, INF, 0, 0, INF}, {0, 0, INF, 0, 0, INF, 0, 0},
        {INF, 0, 0, INF, 0, 0, INF, 0}};
    mask_words(at, end, kept, masked);
}
#endif

void mask(llama_token_data * at, const llama_token_data * end) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return mask_wide(at, end);
#endif
    typedef uint32_t Word __attribute__((vector_size(16)));
    const Word kept[] = {{KEEP, 0, KEEP, KEEP}, {0, KEEP, KEEP, 0}, {KEEP, KEEP, 0, KEEP}};
    const Word masked[] = {{0, INF, 0, 0}, {INF, 0, 0, INF}, {0, 0, INF, 0}};
    mask_words(at, end, kept, masked);
}

void mask_others(llama_token_data_array * c, const std::vector<size_t> & children) {
    llama_token_data * at = c->data;
    for (size_t child : children) {
        mask(at, c->data + child);
        at = c->data + child + 1;
    }
    mask(at, c->data + c->size);
    c->sorted = false;
}

void Position::apply(llama_token_data_array * c) const {
    if (!constrains() || c->size == 0) return;
    const int32_t *first = trie->begin(node), *end = trie->end(node);
    std::vector<size_t> children;
    if (at_their_ids(c, first, end)) {
        children.assign(first, end);
    } else {
        for (size_t i = 0; i < c->size; i++)
            if (std::binary_search(first, end, c->data[i].id)) children.push_back(i);
    }
    auto possible = [&](size_t i) { return c->data[i].logit != -INFINITY; };
    if (compact && std::any_of(children.begin(), children.end(), possible)) keep_only(c, children);
    else mask_others(c, children);
    c->selected = -1;
    if (mode != 0) return;
    c->selected = 0;  // a NaN is never the largest, unless it stands first
    for (size_t i : children)
        if (c->data[i].logit > c->data[c->selected].logit) c->selected = int64_t(i);
}

void Position::accept(llama_token token) {
    int32_t child = trie->child(node, token);
    if (child < 0) {
        active = false;
        child = std::max(trie->child(0, token), 0);
    }
    node = child;
    age++;
    if (active && trie->is_leaf(node) && trie != last) go_to(trie + 1, true);
    active = constrains();
    if (age == LIMIT) {
        say(GGML_LOG_LEVEL_WARN,
            "token trie: 500 tokens without an end of the span: reset; was the clear forgotten?");
        reset();
    }
}

void check(const Payload & payload, int mode, const token_trie_params & params) {
    if (mode != 0 && mode != 1)
        throw Refused("mode", "must be in 0..1, got " + std::to_string(mode));
    std::string model = params.model_id ? params.model_id : "";
    if (!model.empty() && payload.model_id != model)
        throw Refused("modelId", "is for '" + payload.model_id + "', the model is '" + model + "'");
    std::string largest = std::to_string(payload.largest);
    if (params.n_vocab >= 0 && payload.largest >= params.n_vocab)
        throw Refused(payload.largest_place, "the vocabulary has no token " + largest);
}

const Trie * trie_of(const Payload & payload, const char * path) {
    if (!path || !*path) return &payload.tries.front();
    for (const Trie & trie : payload.tries)
        if (trie.path == path) return &trie;
    throw Refused("path '" + std::string(path) + "'", "is none of the payload's");
}

// Raises Refused; then the cache may have kept the payload, and nothing uses it.
std::unique_ptr<Position> open(std::string_view json, int mode, const token_trie_params & params) {
    static auto * const there = new token_trie_cache;  // for samplers that outlive main
    token_trie_cache * cache = params.cache ? params.cache : there;
    Entry * entry = cache->acquire(json);
    auto made = std::make_unique<Position>(cache, entry, mode, params.compact);
    const Payload & payload = entry->payload;
    check(payload, mode, params);
    made->first = trie_of(payload, params.path);
    made->last = params.across ? &payload.tries.back() : made->first;
    made->go_to(made->first, true);
    return made;
}

// As open, for callers in C: null for what is refused, which llama.cpp's log hears of.
std::unique_ptr<Position> opened(
        const char * json, size_t len, int mode, const token_trie_params & params) {
    try {
        if (!json) throw Refused("trie_descriptor_json", "there is none");
        return open({json, len}, mode, params);
    } catch (const std::exception & refused) {
        say(GGML_LOG_LEVEL_ERROR, std::string("token trie: ") + refused.what());
        return nullptr;
    }
}

struct Slot {
    int32_t n_vocab;
    llama_sampler * behind;
    std::unique_ptr<Position> trie;
};

Position & trie_of(const llama_sampler * sampler) { return *static_cast<Position *>(sampler->ctx); }
Slot & slot_of(const llama_sampler * sampler) { return *static_cast<Slot *>(sampler->ctx); }

llama_sampler_i trie_functions() {
    llama_sampler_i made{};
    made.name = [](const llama_sampler *) { return "token_trie"; };
    made.accept = [](llama_sampler * s, llama_token token) { trie_of(s).accept(token); };
    made.apply = [](llama_sampler * s, llama_token_data_array * c) { trie_of(s).apply(c); };
    made.reset = [](llama_sampler * s) { trie_of(s).reset(); };
    made.clone = [](const llama_sampler * s) {
        return llama_sampler_init(s->iface, new Position(trie_of(s)));
    };
    made.free = [](llama_sampler * s) { delete &trie_of(s); };
    return made;
}

llama_sampler_i slot_functions() {
    llama_sampler_i made{};
    made.name = [](const llama_sampler *) { return "token_trie_slot"; };
    made.accept = [](llama_sampler * s, llama_token token) {
        if (slot_of(s).trie) slot_of(s).trie->accept(token);
        llama_sampler_accept(slot_of(s).behind, token);
    };
    made.apply = [](llama_sampler * s, llama_token_data_array * c) {
        const Slot & slot = slot_of(s);
        bool selects = slot.trie && slot.trie->mode == 0 && slot.trie->constrains();
        if (slot.trie) slot.trie->apply(c);
        if (!selects) llama_sampler_apply(slot.behind, c);
    };
    made.reset = [](llama_sampler * s) {
        if (slot_of(s).trie) slot_of(s).trie->reset();
        llama_sampler_reset(slot_of(s).behind);
    };
    made.clone = [](const llama_sampler * s) {
        const Slot & slot = slot_of(s);
        auto trie = slot.trie ? std::make_unique<Position>(*slot.trie) : nullptr;
        auto * twin = new Slot{slot.n_vocab, llama_sampler_clone(slot.behind), std::move(trie)};
        return llama_sampler_init(s->iface, twin);
    };
    made.free = [](llama_sampler * s) {
        llama_sampler_free(slot_of(s).behind);
        delete &slot_of(s);
    };
    return made;
}

llama_sampler_i TRIE = trie_functions(), SLOT = slot_functions();

}  // namespace

token_trie_cache * token_trie_cache_init() { return new token_trie_cache; }
void token_trie_cache_free(token_trie_cache * cache) { delete cache; }
token_trie_params token_trie_default_params() { return {nullptr, nullptr, -1, false, false, nullptr}; }

llama_sampler * token_trie_init(const char * json, size_t len, int mode, token_trie_params params) {
    auto trie = opened(json, len, mode, params);
    return trie ? llama_sampler_init(&TRIE, trie.release()) : nullptr;
}

llama_sampler * llama_sampler_init_token_trie(
        const llama_vocab * vocab, const char * json, int mode) {
    token_trie_params params = token_trie_default_params();
    if (vocab) params.n_vocab = llama_vocab_n_tokens(vocab);
    return token_trie_init(json, json ? strlen(json) : 0, mode, params);
}

FfiLlmHandle token_trie_slot_init(const llama_vocab * vocab, llama_sampler * behind) {
    int32_t n_vocab = vocab ? llama_vocab_n_tokens(vocab) : -1;
    return llama_sampler_init(&SLOT, new Slot{n_vocab, behind, nullptr});
}

void eliza_inference_set_token_trie(
        FfiLlmHandle handle, const char * json, size_t len, int mode) {
    token_trie_params params = token_trie_default_params();
    params.n_vocab = slot_of(handle).n_vocab;
    params.compact = true;
    if (auto trie = opened(json, len, mode, params)) slot_of(handle).trie = std::move(trie);
}

void eliza_inference_clear_token_trie(FfiLlmHandle handle) {
    slot_of(handle).trie.reset();
}
