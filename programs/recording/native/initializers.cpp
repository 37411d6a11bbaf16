// llama_sampler_init_NAME of every sampler.
//
// A name may have several signatures, by release (harness/llama_cpp/signatures.toml). On x86-64 and
// AArch64 whole numbers and floats travel in registers of their own, in the order of their kind. So a
// function with as many of each as the longest signature passes all of them on, whatever the release;
// only their names need to know it. No signature that changed has more than six whole numbers.
#include "recorder.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the recorder knows how x86-64 and AArch64 pass arguments, and no other processor"
#endif

typedef uint64_t Whole;  // of any width: what is above it in the register is passed on, too
static int32_t i32(Whole value) { return static_cast<int32_t>(value); }
static uint32_t u32(Whole value) { return static_cast<uint32_t>(value); }
static const void *pointer(Whole value) { return reinterpret_cast<const void *>(value); }

namespace {

struct Creating {
    Thread *thread;
    explicit Creating(Thread *t) : thread(t) { if (thread) thread->creating++; }
    ~Creating() { if (thread) thread->creating--; }
};

// A grammar's source, or another text: none with --no-text.
std::string json_string(Whole text) {
    auto value = static_cast<const char *>(pointer(text));
    return value && settings.text ? json_text(value, std::char_traits<char>::length(value)) : "null";
}

std::string strings(Whole list, Whole n) {
    auto values = static_cast<const char *const *>(pointer(list));
    std::string out = "[";
    for (Whole i = 0; values && i < n; i++)
        out += (i ? "," : "") + json_string(reinterpret_cast<Whole>(values[i]));
    return out + "]";
}

std::string tokens(Whole list, Whole n) {
    auto values = static_cast<const int32_t *>(pointer(list));
    std::string out = "[";
    for (Whole i = 0; values && i < n; i++) out += (i ? "," : "") + std::to_string(values[i]);
    return out + "]";
}

std::string biases(Whole list, int32_t n) {
    auto values = static_cast<const Bias *>(pointer(list));
    std::string out = "[";
    for (int32_t i = 0; values && i < n; i++) watch_biased(values[i].token);
    for (int32_t i = 0; values && i < n; i++)
        out += std::string(i ? "," : "") + "[" + std::to_string(values[i].token) + "," +
               json_real(static_cast<double>(values[i].bias)) + "]";
    return out + "]";
}

// The interfaces of libllama's own samplers. Each thread that adds one may add it again.
const unsigned most_interfaces = 128;
const void *interfaces[most_interfaces];
unsigned n_interfaces = 0;

const void *interface_of(const void *sampler) { return *static_cast<const void *const *>(sampler); }

void know_interface(const void *sampler) {
    if (is_of_libllama(sampler)) return;
    unsigned at = __atomic_fetch_add(&n_interfaces, 1, __ATOMIC_RELAXED);
    if (at < most_interfaces) __atomic_store_n(interfaces + at, interface_of(sampler), __ATOMIC_RELAXED);
}

// Call libllama's initializer and write what it made of which arguments.
template <class F, class A>
void *made_by(const char *sampler, const char *symbol, F call, A arguments, uint32_t seed = 0) {
    Thread *thread = this_thread();
    void *made;
    {
        Creating creating(thread);
        Call depth(thread);
        made = call();
    }
    if (made) know_interface(made);
    recorded([&] {  // also of a null sampler
        Line line("init", thread);
        line.address("s", made).word("sampler", sampler).word("symbol", symbol).begin("args");
        arguments(line);
        line.end();
        write_line(line);
        if (made && seed == UINT32_MAX) draws_own_seed(made);
    });
    return made;
}

// Arguments of a release whose order is not known: the registers.
void registers(Line &line, std::vector<Whole> wholes, std::vector<float> reals) {
    std::string out = "[";
    for (Whole value : wholes) out += (out.size() > 1 ? "," : "") + std::to_string(value);
    line.raw("wholes", out + "]");
    out = "[";
    for (float value : reals)
        out += (out.size() > 1 ? "," : "") + json_real(static_cast<double>(value));
    line.raw("reals", out + "]");
}

}  // namespace

bool is_of_libllama(const void *sampler) {
    for (const void *&one : interfaces) {
        const void *known = __atomic_load_n(&one, __ATOMIC_RELAXED);
        if (!known) break;
        if (known == interface_of(sampler)) return true;
    }
    return false;
}

#define MADE(sampler, name, passed, ...)                                              \
    {                                                                                 \
        auto next = NEXT(name);                                                       \
        return made_by(                                                               \
            sampler, #name, [&] { return next ? next passed : nullptr; },             \
            [&](Line &line) { (void)line; __VA_ARGS__; });                            \
    }
#define DRAWN(sampler, name, passed, ...)                                             \
    {                                                                                 \
        auto next = NEXT(name);                                                       \
        return made_by(                                                               \
            sampler, #name, [&] { return next ? next passed : nullptr; },             \
            [&](Line &line) { __VA_ARGS__; }, u32(seed));                             \
    }

EXPORTED void *llama_sampler_init_greedy() MADE("greedy", llama_sampler_init_greedy, (), )
EXPORTED void *llama_sampler_init_softmax() MADE("softmax", llama_sampler_init_softmax, (), )

EXPORTED void *llama_sampler_init_dist(Whole seed)
DRAWN("dist", llama_sampler_init_dist, (seed), line.whole("seed", u32(seed)))

EXPORTED void *llama_sampler_init_top_k(Whole k)
MADE("top_k", llama_sampler_init_top_k, (k), line.whole("k", i32(k)))

#define OF_P(sampler, name, first)                 \
    EXPORTED void *name(float p, size_t min_keep)  \
    MADE(sampler, name, (p, min_keep), line.real(first, p).whole("min_keep", min_keep))

OF_P("top_p", llama_sampler_init_top_p, "p")
OF_P("min_p", llama_sampler_init_min_p, "p")
OF_P("typical_p", llama_sampler_init_typical, "p")
OF_P("tail_free", llama_sampler_init_tail_free, "z")

EXPORTED void *llama_sampler_init_temp(float temp)
MADE("temp", llama_sampler_init_temp, (temp), line.real("temp", temp))

EXPORTED void *llama_sampler_init_temp_ext(float temp, float delta, float exponent)
MADE("temp_ext", llama_sampler_init_temp_ext, (temp, delta, exponent),
     line.real("temp", temp).real("delta", delta).real("exponent", exponent))

EXPORTED void *llama_sampler_init_xtc(float p, float t, size_t min_keep, Whole seed)
MADE("xtc", llama_sampler_init_xtc, (p, t, min_keep, seed),
     line.real("p", p).real("t", t).whole("min_keep", min_keep).whole("seed", u32(seed)))

EXPORTED void *llama_sampler_init_top_n_sigma(float n)
MADE("top_n_sigma", llama_sampler_init_top_n_sigma, (n), line.real("n", n))

EXPORTED void *llama_sampler_init_mirostat(Whole n_vocab, Whole seed, float tau, float eta, Whole m)
DRAWN("mirostat", llama_sampler_init_mirostat, (n_vocab, seed, tau, eta, m),
     line.whole("n_vocab", i32(n_vocab)).whole("seed", u32(seed)).real("tau", tau).real("eta", eta)
         .whole("m", i32(m)))

EXPORTED void *llama_sampler_init_mirostat_v2(Whole seed, float tau, float eta)
DRAWN("mirostat_v2", llama_sampler_init_mirostat_v2, (seed, tau, eta),
     line.whole("seed", u32(seed)).real("tau", tau).real("eta", eta))

EXPORTED void *llama_sampler_init_adaptive_p(float target, float decay, Whole seed)
MADE("adaptive_p", llama_sampler_init_adaptive_p, (target, decay, seed),
     line.real("target", target).real("decay", decay).whole("seed", u32(seed)))

EXPORTED void *llama_sampler_init_logit_bias(Whole n_vocab, Whole n_logit_bias, Whole logit_bias)
MADE("logit_bias", llama_sampler_init_logit_bias, (n_vocab, n_logit_bias, logit_bias),
     line.whole("n_vocab", i32(n_vocab)).raw("logit_bias", biases(logit_bias, i32(n_logit_bias))))

EXPORTED void *llama_sampler_init_infill(Whole vocab)
MADE("infill", llama_sampler_init_infill, (vocab), line.raw("vocab", model_address(pointer(vocab))))

EXPORTED void *llama_sampler_init_grammar(Whole vocab, Whole source, Whole root)
MADE("grammar", llama_sampler_init_grammar, (vocab, source, root),
     line.raw("vocab", model_address(pointer(vocab))).raw("grammar_str", json_string(source))
         .raw("grammar_root", json_string(root)))

#define LAZY(sampler, name, triggers)                                                            \
    EXPORTED void *name(Whole vocab, Whole source, Whole root, Whole words, Whole n_words,       \
                        Whole trigger_tokens, Whole n_tokens)                                    \
    MADE(sampler, name, (vocab, source, root, words, n_words, trigger_tokens, n_tokens),         \
         line.raw("vocab", model_address(pointer(vocab))).raw("grammar_str", json_string(source)) \
             .raw("grammar_root", json_string(root)).raw(triggers, strings(words, n_words))      \
             .raw("trigger_tokens", tokens(trigger_tokens, n_tokens)))

LAZY("grammar_lazy_patterns", llama_sampler_init_grammar_lazy_patterns, "trigger_patterns")
LAZY("grammar_lazy", llama_sampler_init_grammar_lazy, "trigger_words")

// As in harness/llama_cpp/signatures.toml; a release between two rows is not guessed.
static void name_penalties(Line &line, const Whole (&w)[6], const float (&f)[3]) {
    int release = release_number(), at = 0;
    bool first = release > 0 && release <= 4291, second = release >= 4435 && release <= 10200;
    if (!first && !second && release < 10361) return registers(line, {w, w + 6}, {f, f + 3});
    if (!second) line.whole("n_vocab", i32(w[at++]));
    if (first) {
        line.whole("special_eos_id", i32(w[at++]));
        line.whole("linefeed_id", i32(w[at++]));
    }
    line.whole("penalty_last_n", i32(w[at++])).real("penalty_repeat", f[0]);
    line.real("penalty_freq", f[1]).real("penalty_present", f[2]);
    if (first)
        line.raw("penalize_nl", w[at] & 1 ? "true" : "false")
            .raw("ignore_eos", w[at + 1] & 1 ? "true" : "false");
}

EXPORTED void *llama_sampler_init_penalties(Whole a, Whole b, Whole c, Whole d, Whole e, Whole f,
                                            float repeat, float freq, float present)
MADE("penalties", llama_sampler_init_penalties, (a, b, c, d, e, f, repeat, freq, present),
     name_penalties(line, {a, b, c, d, e, f}, {repeat, freq, present}))

static void name_dry(Line &line, const Whole (&w)[6], const float (&f)[2]) {
    int release = release_number(), at = 1;
    bool first = release > 0 && release <= 4435, second = release >= 4529 && release <= 10200;
    if (!first && !second && release < 10361) return registers(line, {w, w + 6}, {f, f + 2});
    line.raw(first ? "model" : "vocab", model_address(pointer(w[0])));
    if (second) line.whole("n_ctx_train", i32(w[at++]));
    line.real("dry_multiplier", f[0]).real("dry_base", f[1]);
    line.whole("dry_allowed_length", i32(w[at])).whole("dry_penalty_last_n", i32(w[at + 1]));
    line.raw("seq_breakers", strings(w[at + 2], w[at + 3]));
}

EXPORTED void *llama_sampler_init_dry(Whole a, Whole b, Whole c, Whole d, Whole e, Whole f,
                                      float multiplier, float base)
MADE("dry", llama_sampler_init_dry, (a, b, c, d, e, f, multiplier, base),
     name_dry(line, {a, b, c, d, e, f}, {multiplier, base}))
