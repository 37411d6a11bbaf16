// Faults between a program and libllama, one by the environment variable FAULT. The recorder stands
// before this library: it records what the program asks for, and what the faulty library leaves.

#include <dlfcn.h>
#include <link.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>

struct Interface { const char *(*name)(const void *); };
struct Sampler { const Interface *interface; };
struct Candidate { int32_t id; float logit, p; };
struct Candidates { Candidate *data; size_t size; int64_t selected; bool sorted; };

static bool fault(const char *name) {
    static const char *chosen = getenv("FAULT");
    return chosen && !strcmp(chosen, name);
}

static bool is(const void *sampler, const char *name) {
    auto its_name = static_cast<const Sampler *>(sampler)->interface->name;
    return its_name && !strcmp(its_name(sampler), name);
}

// The function of libllama, which Python opened for itself alone.
template <class F> static F *real(const char *name, F *) {
    typedef void *Dlsym(void *, const char *);
    static Dlsym *find = reinterpret_cast<Dlsym *>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
    static void *library = nullptr;
    auto look = [](dl_phdr_info *info, size_t, void *) {
        if (!library && strstr(info->dlpi_name, "/libllama."))
            library = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
        return 0;
    };
    if (!library) dl_iterate_phdr(look, nullptr);
    return reinterpret_cast<F *>(find(library, name));
}
#define REAL(name) static auto next = real(#name, &name)

static int accepted = 0;
static int32_t held = -1;
static void *held_by = nullptr;

extern "C" {

void llama_sampler_apply(void *s, Candidates *c) {
    REAL(llama_sampler_apply);
    if (fault("a stage is skipped") && is(s, "top-p")) return;
    if (fault("temp is ignored") && is(s, "temp")) return;
    next(s, c);
    if (fault("penalties twice") && is(s, "penalties")) next(s, c);
    if (fault("one more is drawn") && is(s, "dist")) next(s, c);
    if (fault("the last survivor is lost") && is(s, "min-p") && c->size > 1) c->size--;
    if (fault("one logit is off by a bit") && is(s, "temp")) {
        int32_t bits;
        memcpy(&bits, &c->data[c->size - 1].logit, 4);
        bits ^= 1;
        memcpy(&c->data[c->size - 1].logit, &bits, 4);
    }
}

void llama_sampler_accept(void *s, int32_t token) {
    REAL(llama_sampler_accept);
    if (is(s, "chain")) {
        accepted++;
        if (fault("an accept is dropped") && accepted % 5 == 0) return;
        if (fault("the history is shifted by one")) {
            int32_t late = held;
            held = token;
            if (late < 0) return;
            return next(s, late);
        }
        if (fault("two slots are mixed") && accepted % 7 == 0 && held_by) return next(held_by, token);
        held_by = s;
    }
    next(s, token);
}

void llama_sampler_reset(void *s) {
    REAL(llama_sampler_reset);
    if (fault("a stale seed after a reset") && is(s, "dist")) return;
    if (fault("penalties keep their history") && is(s, "penalties")) return;
    next(s);
}

void *llama_sampler_clone(const void *s) {
    REAL(llama_sampler_clone);
    void *made = next(s);
    static auto reset = real("llama_sampler_reset", &llama_sampler_reset);
    if (fault("a clone begins its stream anew") && is(s, "dist")) reset(made);
    if (fault("a clone has no history") && is(s, "dry")) reset(made);
    return made;
}

void *llama_sampler_init_top_k(int32_t k) {
    REAL(llama_sampler_init_top_k);
    return next(fault("k plus one") ? k + 1 : k);
}

void *llama_sampler_init_xtc(float p, float t, size_t min_keep, uint32_t seed) {
    REAL(llama_sampler_init_xtc);
    return next(p, t, min_keep, fault("another seed") ? seed + 1 : seed);
}

void *llama_sampler_init_logit_bias(int32_t n_vocab, int32_t n, const void *biases) {
    REAL(llama_sampler_init_logit_bias);
    return next(n_vocab, fault("a bias is lost") ? n - 1 : n, biases);
}

void *llama_sampler_init_dry(const void *vocab, float multiplier, float base, int32_t allowed,
                             int32_t last_n, const char **breakers, size_t n) {
    REAL(llama_sampler_init_dry);
    return next(vocab, multiplier, base, allowed, last_n, breakers, fault("no breakers") ? 0 : n);
}

void *llama_sampler_init_min_p(float p, size_t min_keep) {
    REAL(llama_sampler_init_min_p);
    return next(p, fault("min_keep is another") ? 20 : min_keep);
}

}  // extern "C"
