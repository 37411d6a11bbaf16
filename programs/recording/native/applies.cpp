// llama_sampler_apply: the candidates before a chain, after each of its stages, and the token.
#include "recorder.h"

static void begin(Thread *thread, const Candidates *candidates) {
    thread->number_of_apply = next_apply();
    thread->outside_ns = 0;
    thread->stages.clear();
    thread->bytes.size = 0;
    thread->begun = false;
    thread->before = taken(thread, candidates, Listed::all);
    thread->begun = true;
}

static void end(Thread *thread, const void *sampler, const Candidates *candidates, uint64_t ns,
                uint64_t start_ns) {
    Reference after = taken(thread, candidates, Listed::stage);
    bool selected = candidates->data && candidates->selected >= 0 &&
                    static_cast<size_t>(candidates->selected) < candidates->size;
    const Candidate *chosen = selected ? candidates->data + candidates->selected : nullptr;
    write_apply(thread, sampler, after, chosen ? chosen->id : -1, chosen ? chosen->p : 0.0f, ns,
                start_ns);
}

// Count nested applies, also when libllama throws through them.
struct Nested {
    Thread *thread;
    explicit Nested(Thread *t) : thread(t) { thread->applies++; }
    ~Nested() { thread->applies--; }
};

EXPORTED void llama_sampler_apply(void *sampler, Candidates *candidates) {
    auto next = NEXT(llama_sampler_apply);
    Thread *thread = sampler && candidates && recording() ? this_thread() : nullptr;
    if (!next) return;
    if (!thread || (thread->applies > 1) || (thread->applies && settings.detail == Detail::tokens))
        return next(sampler, candidates);
    bool top = thread->applies == 0;
    uint64_t start = now_ns(), called = start;
    if (top) {
        recorded([&] { begin(thread, candidates); });
        called = now_ns();
    }
    {
        Call call(thread);
        Nested nested(thread);
        Using use(thread, sampler);
        next(sampler, candidates);
    }
    uint64_t returned = now_ns();
    if (top) {
        uint64_t ns = returned - called - thread->outside_ns;
        recorded([&] { end(thread, sampler, candidates, ns, start); });
    } else {
        // what follows a sampler of the program begins with what that left
        bool known = settings.detail == Detail::stages || is_of_libllama(sampler);
        recorded([&] {
            Reference left = taken(thread, candidates, known ? Listed::stage : Listed::all);
            thread->stages.push_back({sampler, left});
        });
        thread->outside_ns += now_ns() - returned;
    }
}
