// Each allocation of the compiled trie, and of what it calls of llama.cpp, fails in turn. What is made
// is there or not; what was there works as before; nothing of it is left over in the end.

#include "token_trie.cpp"

#include <cstdio>
#include <cstdlib>
#include <functional>

static long until_failure = -1;  // allocations; below 0 none fails
static bool for_ever = false;
static long failures = 0, living = 0;

void * operator new(size_t n) {
    if (until_failure == 0 || (until_failure > 0 && --until_failure == 0)) {
        failures++;
        if (!for_ever) until_failure = -1;
        throw std::bad_alloc();
    }
    void * made = malloc(n ? n : 1);
    if (!made) abort();
    living++;
    return made;
}
void * operator new(size_t n, const std::nothrow_t &) noexcept {
    try {
        return operator new(n);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void * block) noexcept {
    if (block) living--;
    free(block);
}
void operator delete(void * block, size_t) noexcept { operator delete(block); }

static int logged = 0;
static void count(ggml_log_level, const char *, void *) { logged++; }

static const char * const FIRST =
    R"({"modelId":"a model with a long name","descriptors":[{"path":"a","leaves":[)"
    R"({"name":"a leaf with a long name","tokens":[3,4]},{"name":"y","tokens":[5,6]}]}]})";
static const char * const SECOND =
    R"({"modelId":"m","descriptors":[{"path":"a","leaves":[{"name":"x","tokens":[7,8]}]}]})";

// The ids that are left of 40, as text.
static std::string left_of(llama_sampler * sampler, bool shifted = false) {
    std::vector<llama_token_data> row;
    for (int i = 0; i < 40; i++) row.push_back({(i + (shifted ? 1 : 0)) % 40, float(i), 0});
    llama_token_data_array array{row.data(), row.size(), -1, false};
    llama_sampler_apply(sampler, &array);
    std::string out = std::to_string(array.selected) + ":";
    for (size_t i = 0; i < array.size; i++)
        if (array.data[i].logit != -INFINITY) out += " " + std::to_string(array.data[i].id);
    return out;
}

// Selects the last that is possible. llama.cpp's own samplers leak if they cannot be cloned.
static llama_sampler_i last_functions() {
    llama_sampler_i made{};
    made.name = [](const llama_sampler *) { return "last"; };
    made.apply = [](llama_sampler *, llama_token_data_array * c) {
        for (size_t i = 0; i < c->size; i++)
            if (c->data[i].logit != -INFINITY) c->selected = int64_t(i);
    };
    made.clone = [](const llama_sampler * s) { return llama_sampler_init(s->iface, nullptr); };
    return made;
}
static llama_sampler_i LAST = last_functions();

static void expect(bool is, const std::string & what) {
    if (is) return;
    until_failure = -1;
    printf("wrong: %s\n", what.c_str());
    exit(1);
}

struct Rig {
    token_trie_cache cache;
    token_trie_params params = token_trie_default_params();
    llama_sampler *trie, *slot, *made = nullptr, *behind = nullptr;

    Rig() {
        params.cache = &cache;
        trie = token_trie_init(FIRST, strlen(FIRST), 1, params);
        slot = token_trie_slot_init(nullptr, llama_sampler_init(&LAST, nullptr));
        slot_of(slot).trie = open(FIRST, strlen(FIRST), 1, params);
    }
    ~Rig() {
        for (llama_sampler * one : {trie, slot, made, behind}) llama_sampler_free(one);
        for (const token_trie::Entry & entry : cache.entries) expect(entry.users == 0, "a use is left");
    }
};

// needs: whether it may fail at all: a step of a text takes no memory.
struct Operation {
    const char * name;
    bool needs;
    std::function<void(Rig &)> run;
};

static const std::string BEFORE = "-1: 3 5", SLOT_BEFORE = "5: 3 5", WITH_SECOND = "0: 7";

static const std::vector<Operation> OPERATIONS = {
    {"init", true, [](Rig & r) { r.made = token_trie_init(SECOND, strlen(SECOND), 0, r.params); }},
    {"init that is refused", true, [](Rig & r) {
        r.made = token_trie_init("{\"modelId\":\"m\",\"x\":1}", 21, 0, r.params);
        expect(!r.made, "refused");
    }},
    {"init of what is cached", true,
        [](Rig & r) { r.made = token_trie_init(FIRST, strlen(FIRST), 0, r.params); }},
    {"init slot", true, [](Rig & r) {
        r.made = token_trie_slot_init(nullptr, r.behind);
        if (r.made) r.behind = nullptr;
    }},
    {"clone", true, [](Rig & r) { r.made = llama_sampler_clone(r.trie); }},
    {"clone slot", true, [](Rig & r) { r.made = llama_sampler_clone(r.slot); }},
    {"set", true,
        [](Rig & r) { eliza_inference_set_token_trie(r.slot, SECOND, strlen(SECOND), 0); }},
    {"cache", true, [](Rig &) { token_trie_cache_free(token_trie_cache_init()); }},
    {"accept, and reset", false, [](Rig & r) {
        for (llama_sampler * one : {r.trie, r.slot}) {
            for (int i = 0; i < 2 * LIMIT; i++) llama_sampler_accept(one, i % 7);
            llama_sampler_reset(one);
        }
    }},
    {"clear", false, [](Rig & r) { eliza_inference_clear_token_trie(r.slot); }},
};

// Run an operation with a failure; return whether there was one.
static bool disturbed(const Operation & operation, long nth) {
    long before = living, had = failures;
    {
        Rig rig;
        if (!strcmp(operation.name, "init slot")) rig.behind = llama_sampler_init(&LAST, nullptr);
        const int had_logged = logged;
        bool thrown = false;
        until_failure = nth;
        try {
            operation.run(rig);
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        until_failure = -1;
        const bool failed = failures > had;
        const std::string where = std::string(operation.name) + ", allocation " + std::to_string(nth);
        if (operation.needs) {
            const bool clones = !strncmp(operation.name, "clone", 5);
            expect(!thrown || clones, where + ": throws");
            if (failed && !rig.made && !clones && strcmp(operation.name, "cache"))
                expect(logged > had_logged, where + ": says nothing");
            expect(left_of(rig.trie) == BEFORE, where + ": the trie changes");
            const bool set = !strcmp(operation.name, "set") && !failed;
            expect(left_of(rig.slot) == (set ? WITH_SECOND : SLOT_BEFORE), where + ": the slot changes");
        } else {
            expect(!failed && !thrown, where + ": takes memory");
        }
        rig.made = rig.made ? rig.made : token_trie_init(SECOND, strlen(SECOND), 0, rig.params);
        expect(rig.made != nullptr, where + ": nothing works any more");
    }
    const bool leaks = living != before;
    expect(!leaks, std::string(operation.name) + " leaks");
    return failures > had;
}

static void apply_takes_no_memory(long nth) {
    Rig rig;
    std::vector<llama_token_data> row;
    for (int i = 0; i < 40; i++) row.push_back({i, float(i), 0});
    for (int shift = 0; shift < 2; shift++) {
        for (int i = 0; i < 40; i++) row[size_t(i)] = {(i + shift) % 40, float(i), 0};
        llama_token_data_array array{row.data(), row.size(), -1, false};
        const long had = failures;
        until_failure = nth;
        try {
            llama_sampler_apply(rig.trie, &array);
        } catch (const std::bad_alloc &) {  // counted
        }
        until_failure = -1;
        expect(failures == had, "apply takes memory");
    }
    expect(left_of(rig.trie, true) == BEFORE, "apply");
}

int main() {
    llama_log_set(count, nullptr);
    {  // the cache that is there for all keeps what it read: it is filled before leaks are counted
        Rig rig;
        eliza_inference_set_token_trie(rig.slot, SECOND, strlen(SECOND), 0);
        expect(left_of(rig.trie) == BEFORE && left_of(rig.slot) == WITH_SECOND, "undisturbed");
    }
    apply_takes_no_memory(1);
    for (bool ever : {false, true}) {
        for (const Operation & operation : OPERATIONS) {
            for_ever = ever;
            long nth = 1;
            while (disturbed(operation, nth)) nth++;
        }
    }
    printf("%ld allocations failed in %zu operations, once and from then on\n", failures,
        OPERATIONS.size());
}
