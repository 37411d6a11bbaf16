// The life of samplers: made, put into chains, copied, freed, and what they accept.
#include <pthread.h>
#include <set>
#include "recorder.h"

// Samplers that were given LLAMA_DEFAULT_SEED: they draw one at their construction and at each reset.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static std::set<const void *> &unseeded = kept<std::set<const void *>>();

void lock_samplers(bool lock) {
    lock ? pthread_mutex_lock(&mutex) : pthread_mutex_unlock(&mutex);
}

static void write_seed(const void *sampler) {
    auto seed = other<uint32_t(const void *)>("llama_sampler_get_seed");
    if (!seed) return;
    Line line("seed", this_thread());
    line.address("s", sampler).whole("seed", seed(sampler));
    write_line(line);
}

static bool is_unseeded(const void *sampler) {
    Guard guard(mutex);
    return unseeded.count(sampler);
}

static void set_unseeded(const void *sampler, bool is) {
    Guard guard(mutex);
    is ? (void)unseeded.insert(sampler) : (void)unseeded.erase(sampler);
}

void draws_own_seed(const void *sampler) {
    set_unseeded(sampler, true);
    write_seed(sampler);
}

static void write_about(const char *event, const Thread *thread, const char *key, const void *value,
                        const char *other_key = nullptr, const void *other_value = nullptr) {
    recorded([&] {
        Line line(event, thread);
        line.address(key, value);
        if (other_key) line.address(other_key, other_value);
        write_line(line);
    });
}

// What a sampler calls itself. llama_sampler_name calls a name function that is not there.
static std::string name_of(const void *sampler) {
    struct Interface { const char *(*name)(const void *); };
    struct Sampler { const Interface *interface; };
    const Interface *interface = sampler ? static_cast<const Sampler *>(sampler)->interface : nullptr;
    const char *name = interface && interface->name ? interface->name(sampler) : nullptr;
    return name ? name : "";
}

EXPORTED void *llama_sampler_init(void *interface, void *context) {
    auto next = NEXT(llama_sampler_init);
    void *made = next ? next(interface, context) : nullptr;
    Thread *thread = this_thread();
    if (!made || !thread || thread->creating) return made;
    recorded([&] {
        Line line("init", thread);
        line.address("s", made).raw("sampler", "null").word("name", name_of(made));
        write_line(line);
    });
    return made;
}

EXPORTED void *llama_sampler_chain_init(ChainParams params) {
    auto next = NEXT(llama_sampler_chain_init);
    Thread *thread = this_thread();
    if (thread) thread->creating++;
    void *made = next ? next(params) : nullptr;
    if (thread) thread->creating--;
    if (made) write_about("chain", thread, "s", made);
    return made;
}

EXPORTED void llama_sampler_chain_add(void *chain, void *sampler) {
    auto next = NEXT(llama_sampler_chain_add);
    if (next) next(chain, sampler);
    recorded([&] {
        Line line("add", this_thread());
        line.address("c", chain).address("s", sampler).word("name", name_of(sampler));
        write_line(line);
    });
}

EXPORTED void *llama_sampler_chain_remove(void *chain, int32_t i) {
    auto next = NEXT(llama_sampler_chain_remove);
    void *removed = next ? next(chain, i) : nullptr;
    recorded([&] {
        Line line("remove", this_thread());
        line.address("c", chain).whole("i", i).address("s", removed);
        write_line(line);
    });
    return removed;
}

EXPORTED void *llama_sampler_clone(const void *sampler) {
    auto next = NEXT(llama_sampler_clone);
    Thread *thread = this_thread();
    void *made = nullptr;
    {
        Call call(thread);
        made = next ? next(sampler) : nullptr;
    }
    if (sampler && made) write_about("clone", thread, "from", sampler, "s", made);
    recorded([&] { if (made && is_unseeded(sampler)) set_unseeded(made, true); });
    return made;
}

EXPORTED void llama_sampler_copy(const void *from, void *to) {
    auto next = NEXT(llama_sampler_copy);
    Thread *thread = this_thread();
    write_about("copy", thread, "from", from, "to", to);
    Call call(thread);
    if (next) next(from, to);
}

// Before the call: as soon as it is free, another thread may get its address.
EXPORTED void llama_sampler_free(void *sampler) {
    auto next = NEXT(llama_sampler_free);
    Thread *thread = this_thread();
    if (sampler) write_about("free", thread, "s", sampler);
    recorded([&] { set_unseeded(sampler, false); });
    Call call(thread);
    if (next) next(sampler);
}

EXPORTED void llama_sampler_reset(void *sampler) {
    auto next = NEXT(llama_sampler_reset);
    Thread *thread = this_thread();
    if (sampler) write_about("reset", thread, "s", sampler);
    Call call(thread);
    if (next) next(sampler);
    recorded([&] { if (sampler && is_unseeded(sampler)) write_seed(sampler); });
}

EXPORTED void llama_sampler_accept(void *sampler, int32_t token) {
    auto next = NEXT(llama_sampler_accept);
    Thread *thread = this_thread();
    if (sampler && thread && thread->depth == 0)
        recorded([&] {
            watch_accepted(token);
            Line line("accept", thread);
            line.address("s", sampler).whole("token", token);
            write_line(line);
        });
    Call call(thread);
    Using use(thread, sampler);
    if (next) next(sampler, token);
}
