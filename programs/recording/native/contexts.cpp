// Contexts: what they decode, the rows of logits that are asked for, and the samplers in their graph.
#include "recorder.h"

static void asked_for(const void *ctx, int32_t row) {
    Thread *thread = recording() ? this_thread() : nullptr;
    if (!thread) return;
    thread->ctx = ctx;
    thread->row = row;
    thread->has_row = true;
}

EXPORTED float *llama_get_logits_ith(void *ctx, int32_t i) {
    asked_for(ctx, i);
    auto next = NEXT(llama_get_logits_ith);
    return next ? next(ctx, i) : nullptr;
}

EXPORTED int32_t llama_sampler_sample(void *sampler, void *ctx, int32_t i) {
    asked_for(ctx, i);
    auto next = NEXT(llama_sampler_sample);
    Using use(recording() ? this_thread() : nullptr, sampler);
    return next ? next(sampler, ctx, i) : -1;
}

template <class F> static std::string list(int32_t from, int32_t to, F item) {
    std::string out = "[";
    for (int32_t i = from; i < to; i++) {
        std::string text = item(i);
        if (!text.empty()) out += (out.size() > 1 ? "," : "") + text;
    }
    return out + "]";
}

static std::string sequences(const Batch &batch, int32_t i) {
    int32_t n = batch.n_seq_id ? batch.n_seq_id[i] : 1;
    auto one = [&](int32_t j) { return std::to_string(batch.seq_id[i][j]); };
    return n == 1 ? one(0) : list(0, n, one);
}

// at: the number of the line's first token in its batch. A sequence is a list where there are many.
static void write_part(const void *ctx, const Batch &batch, int32_t from, int32_t to, int result) {
    Line line("decode", this_thread());
    line.address("ctx", ctx);
    auto token = [&](int32_t i) { return std::to_string(batch.token[i]); };
    auto position = [&](int32_t i) { return std::to_string(batch.pos[i]); };
    auto sequence = [&](int32_t i) { return sequences(batch, i); };
    auto output = [&](int32_t i) {
        bool has = batch.logits ? batch.logits[i] : i == batch.n_tokens - 1;
        return has ? std::to_string(i) : "";
    };
    if (batch.token) line.raw("tokens", list(from, to, token));
    if (batch.pos && batch.token) line.raw("pos", list(from, to, position));
    if (batch.seq_id) line.raw("seq", list(from, to, sequence));
    line.raw("out", list(from, to, output));
    if (from) line.whole("at", from);
    if (result) line.whole("result", result);
    write_line(line);
}

EXPORTED int32_t llama_decode(void *ctx, Batch batch) {
    Thread *thread = recording() ? this_thread() : nullptr;
    if (thread && thread->ctx == ctx) thread->has_row = false;
    recorded([&] { know_context(ctx, thread); });
    auto next = NEXT(llama_decode);
    int32_t result = next ? next(ctx, batch) : -1;
    recorded([&] {
        for (int32_t from = 0; from < batch.n_tokens; from += 4096) {
            int32_t to = batch.n_tokens - from > 4096 ? from + 4096 : batch.n_tokens;
            write_part(ctx, batch, from, to, result);
        }
    });
    return result;
}

static void write_sampler(const void *ctx, int32_t sequence, const void *sampler) {
    recorded([&] {
        Line line("sampler_of_sequence", this_thread());
        line.address("ctx", ctx).whole("seq", sequence).address("s", sampler);
        write_line(line);
    });
}

EXPORTED bool llama_set_sampler(void *ctx, int32_t sequence, void *sampler) {
    auto next = NEXT(llama_set_sampler);
    bool done = next && next(ctx, sequence, sampler);
    if (done) write_sampler(ctx, sequence, sampler);
    return done;
}

// The probability that the graph gave a token; below 0 where it keeps none.
static float sampled_p(void *ctx, int32_t i, int32_t token, const void *caller) {
    static Found of_probs, of_count, of_ids;
    auto probs = of_probs.as<float *(void *, int32_t)>("llama_get_sampled_probs_ith", caller);
    auto count = of_count.as<uint32_t(void *, int32_t)>("llama_get_sampled_probs_count_ith", caller);
    auto ids = of_ids.as<int32_t *(void *, int32_t)>("llama_get_sampled_candidates_ith", caller);
    const float *p = probs && count && ids ? probs(ctx, i) : nullptr;
    const int32_t *id = p ? ids(ctx, i) : nullptr;
    for (uint32_t j = 0, n = p ? count(ctx, i) : 0; j < n; j++)
        if ((id ? id[j] : static_cast<int32_t>(j)) == token) return p[j];
    return -1;
}

EXPORTED int32_t llama_get_sampled_token_ith(void *ctx, int32_t i) {
    auto next = NEXT(llama_get_sampled_token_ith);
    const void *caller = __builtin_return_address(0);
    int32_t token = next ? next(ctx, i) : -1;
    if (token >= 0)
        recorded([&] {
            Line line("sampled", this_thread());
            line.address("ctx", ctx).whole("i", i).whole("token", token);
            float p = sampled_p(ctx, i, token, caller);
            if (p >= 0) line.real("p", static_cast<double>(p));
            write_line(line);
        });
    return token;
}
