// The life of samplers: made, put into chains, copied, freed, and what they accept.
#include "recorder.h"

static void write_about(const char *event, const Thread *thread, const char *key, const void *value,
                        const char *other_key = nullptr, const void *other_value = nullptr) {
    recorded([&] {
        Line line(event, thread);
        line.address(key, value);
        if (other_key) line.address(other_key, other_value);
        write_line(line);
    });
}

EXPORTED void *llama_sampler_init(void *interface, void *context) {
    auto next = NEXT(llama_sampler_init);
    void *made = next ? next(interface, context) : nullptr;
    Thread *thread = this_thread();
    if (!made || !thread || thread->creating) return made;
    recorded([&] {
        auto name_of = other<const char *(const void *)>("llama_sampler_name");
        const char *name = name_of ? name_of(made) : nullptr;
        Line line("init", thread);
        line.address("s", made).raw("sampler", "null").word("name", name ? name : "");
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
    write_about("add", this_thread(), "c", chain, "s", sampler);
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
    Call call(thread);
    if (next) next(sampler);
}

EXPORTED void llama_sampler_reset(void *sampler) {
    auto next = NEXT(llama_sampler_reset);
    Thread *thread = this_thread();
    if (sampler) write_about("reset", thread, "s", sampler);
    Call call(thread);
    if (next) next(sampler);
}

EXPORTED void llama_sampler_accept(void *sampler, int32_t token) {
    auto next = NEXT(llama_sampler_accept);
    Thread *thread = this_thread();
    if (sampler && thread && thread->depth == 0)
        recorded([&] {
            Line line("accept", thread);
            line.address("s", sampler).whole("token", token);
            write_line(line);
        });
    Call call(thread);
    if (next) next(sampler, token);
}
