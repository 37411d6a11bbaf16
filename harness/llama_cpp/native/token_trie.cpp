// token_trie.h, through llama.cpp's public llama_sampler_init.

#include "token_trie.h"

#include "cache.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

using token_trie::Payload;
using token_trie::Refused;
using token_trie::Trie;
using token_trie::Use;

namespace {

constexpr int LIMIT = int(token_trie::MAX_LEAF);

// line: with its end.
void say(ggml_log_level level, const char * line) {
    ggml_log_callback log;
    void * data;
    llama_log_get(&log, &data);
    log(level, line, data);
}

// For callers in C: null for what is refused, and without memory. llama.cpp's log says which.
template <class Make> auto or_null(Make make) noexcept -> decltype(make()) {
    try {
        try {
            return make();
        } catch (const Refused & refused) {
            say(GGML_LOG_LEVEL_ERROR, ("token trie: " + std::string(refused.what()) + "\n").c_str());
        }
    } catch (const std::bad_alloc &) {
        say(GGML_LOG_LEVEL_ERROR, "token trie: out of memory\n");
    }
    return nullptr;
}

// Where the children of a node stand. There is room for them beforehand: a step takes no memory.
struct Children : std::vector<size_t> {
    explicit Children(size_t most) { reserve(most); }
    Children(const Children & other) : Children(other.capacity()) {}
};

// A use of a trie, and where in it a text is. Inactive, its place is still followed, from the root.
struct Position {
    Use use;
    int mode;
    bool compact;
    mutable Children children;
    const Trie *first = nullptr, *last = nullptr;  // of the spans that follow each other
    const Trie * trie = nullptr;
    int32_t node = 0;
    bool active = true;
    int age = 0;  // tokens since the span was opened: the document's position_in_span

    Position(const Use & use, int mode, bool compact)
        : use(use), mode(mode), compact(compact), children(use.entry->payload.most_children) {}

    bool constrains() const { return active && !trie->is_leaf(node); }
    void apply(llama_token_data_array * candidates) const;
    void accept(llama_token token);
    void go_to(const Trie * span, bool opened) { trie = span, node = 0, active = opened, age = 0; }
    void reset() { go_to(first, false); }
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
    children.clear();
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
            "token trie: 500 tokens without an end of the span: reset; was the clear forgotten?\n");
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

// Raises Refused and std::bad_alloc; then the cache may have kept the payload, and nothing uses it.
std::unique_ptr<Position> open(
        const char * json, size_t len, int mode, const token_trie_params & params) {
    if (!json) throw Refused("trie_descriptor_json", "there is none");
    static auto * const there = new token_trie_cache;  // for samplers that outlive main
    Use use(params.cache ? *params.cache : *there, {json, len});
    auto made = std::make_unique<Position>(use, mode, params.compact);
    const Payload & payload = use.entry->payload;
    check(payload, mode, params);
    made->first = trie_of(payload, params.path);
    made->last = params.across ? &payload.tries.back() : made->first;
    made->go_to(made->first, true);
    return made;
}

// Raises std::bad_alloc, as llama.cpp's own samplers do when they are made.
template <class Context>
llama_sampler * sampler_of(llama_sampler_i * functions, std::unique_ptr<Context> context) {
    llama_sampler * made = llama_sampler_init(functions, context.get());
    context.release();
    return made;
}

struct Free {
    void operator()(llama_sampler * sampler) const { llama_sampler_free(sampler); }
};

struct Slot {
    int32_t n_vocab = -1;
    std::unique_ptr<llama_sampler, Free> behind;
    std::unique_ptr<Position> trie;
};

Position & trie_of(const llama_sampler * sampler) { return *static_cast<Position *>(sampler->ctx); }
Slot & slot_of(const llama_sampler * sampler) { return *static_cast<Slot *>(sampler->ctx); }

extern llama_sampler_i TRIE, SLOT;

llama_sampler_i trie_functions() {
    llama_sampler_i made{};
    made.name = [](const llama_sampler *) { return "token_trie"; };
    made.accept = [](llama_sampler * s, llama_token token) { trie_of(s).accept(token); };
    made.apply = [](llama_sampler * s, llama_token_data_array * c) { trie_of(s).apply(c); };
    made.reset = [](llama_sampler * s) { trie_of(s).reset(); };
    made.clone = [](const llama_sampler * s) {
        return sampler_of(&TRIE, std::make_unique<Position>(trie_of(s)));
    };
    made.free = [](llama_sampler * s) { delete &trie_of(s); };
    return made;
}

llama_sampler_i slot_functions() {
    llama_sampler_i made{};
    made.name = [](const llama_sampler *) { return "token_trie_slot"; };
    made.accept = [](llama_sampler * s, llama_token token) {
        if (slot_of(s).trie) slot_of(s).trie->accept(token);
        llama_sampler_accept(slot_of(s).behind.get(), token);
    };
    made.apply = [](llama_sampler * s, llama_token_data_array * c) {
        const Slot & slot = slot_of(s);
        bool selects = slot.trie && slot.trie->mode == 0 && slot.trie->constrains();
        if (slot.trie) slot.trie->apply(c);
        if (!selects) llama_sampler_apply(slot.behind.get(), c);
    };
    made.reset = [](llama_sampler * s) {
        if (slot_of(s).trie) slot_of(s).trie->reset();
        llama_sampler_reset(slot_of(s).behind.get());
    };
    made.clone = [](const llama_sampler * s) {
        const Slot & slot = slot_of(s);
        auto twin = std::make_unique<Slot>();
        twin->n_vocab = slot.n_vocab;
        twin->behind.reset(llama_sampler_clone(slot.behind.get()));
        if (slot.trie) twin->trie = std::make_unique<Position>(*slot.trie);
        return sampler_of(&SLOT, std::move(twin));
    };
    made.free = [](llama_sampler * s) { delete &slot_of(s); };
    return made;
}

llama_sampler_i TRIE = trie_functions(), SLOT = slot_functions();

}  // namespace

token_trie_cache * token_trie_cache_init() { return new (std::nothrow) token_trie_cache; }
void token_trie_cache_free(token_trie_cache * cache) { delete cache; }
token_trie_params token_trie_default_params() { return {nullptr, nullptr, -1, false, false, nullptr}; }

llama_sampler * token_trie_init(const char * json, size_t len, int mode, token_trie_params params) {
    return or_null([&] { return sampler_of(&TRIE, open(json, len, mode, params)); });
}

llama_sampler * llama_sampler_init_token_trie(
        const llama_vocab * vocab, const char * json, int mode) {
    token_trie_params params = token_trie_default_params();
    if (vocab) params.n_vocab = llama_vocab_n_tokens(vocab);
    return token_trie_init(json, json ? strlen(json) : 0, mode, params);
}

FfiLlmHandle token_trie_slot_init(const llama_vocab * vocab, llama_sampler * behind) {
    llama_sampler * made = or_null([] { return sampler_of(&SLOT, std::make_unique<Slot>()); });
    if (!made) return nullptr;
    slot_of(made).n_vocab = vocab ? llama_vocab_n_tokens(vocab) : -1;
    slot_of(made).behind.reset(behind);
    return made;
}

void eliza_inference_set_token_trie(
        FfiLlmHandle handle, const char * json, size_t len, int mode) {
    token_trie_params params = token_trie_default_params();
    params.n_vocab = slot_of(handle).n_vocab;
    params.compact = true;
    auto opened = [&]() -> std::unique_ptr<Position> { return open(json, len, mode, params); };
    if (auto trie = or_null(opened)) slot_of(handle).trie = std::move(trie);
}

void eliza_inference_clear_token_trie(FfiLlmHandle handle) {
    slot_of(handle).trie.reset();
}
