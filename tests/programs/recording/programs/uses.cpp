// `uses MODEL NAME`: a generation loop that misuses samplers, or its right neighbour, by its name.

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "llama.h"

typedef std::vector<llama_token> Tokens;
typedef std::vector<llama_sampler *> Stages;

static llama_model * model;
static const llama_vocab * vocab;
static llama_context * ctx;
static int n_vocab;

static Tokens tokens_of(const std::string & text, bool first = true) {
    Tokens tokens(text.size() + 2);
    tokens.resize(llama_tokenize(vocab, text.data(), text.size(), tokens.data(), tokens.size(), first, true));
    return tokens;
}

static const char * prompt = "The list of names: one, two, three, one, two,";

static void decode(Tokens tokens) {
    if (llama_decode(ctx, llama_batch_get_one(tokens.data(), tokens.size()))) fprintf(stderr, "no decode\n");
}

// Decode tokens of several sequences, each at its position; the last one of each has logits.
static void decode_of(const std::vector<Tokens> & texts, std::vector<int> & n) {
    llama_batch batch = llama_batch_init(256, 0, 1);
    for (size_t seq = 0; seq < texts.size(); seq++)
        for (size_t i = 0; i < texts[seq].size(); i++) {
            int at = batch.n_tokens++;
            batch.token[at] = texts[seq][i];
            batch.pos[at] = n[seq]++;
            batch.n_seq_id[at] = 1;
            batch.seq_id[at][0] = seq;
            batch.logits[at] = i + 1 == texts[seq].size();
        }
    if (llama_decode(ctx, batch)) fprintf(stderr, "no decode\n");
    llama_batch_free(batch);
}

static llama_sampler * chain_of(const Stages & stages) {
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    for (llama_sampler * stage : stages) llama_sampler_chain_add(chain, stage);
    return chain;
}

static llama_sampler * penalties() { return llama_sampler_init_penalties(n_vocab, 64, 1.0f, 0.4f, 0.0f); }
static llama_sampler * usual(uint32_t seed = 7) {
    return chain_of({penalties(), llama_sampler_init_top_k(40), llama_sampler_init_temp(0.8f), llama_sampler_init_dist(seed)});
}
static llama_sampler * no_history(uint32_t seed = 7) {
    return chain_of({llama_sampler_init_top_k(40), llama_sampler_init_temp(0.8f), llama_sampler_init_dist(seed)});
}
static llama_sampler * grammar(const char * rules = "root ::= [a-z ]+ \".\"") {
    return llama_sampler_init_grammar(vocab, rules, "root");
}
static llama_sampler * strict() { return chain_of({grammar(), llama_sampler_init_dist(4)}); }
static llama_sampler * lazy(const char * trigger, const char * rules) {
    return llama_sampler_init_grammar_lazy_patterns(vocab, rules, "root", &trigger, 1, nullptr, 0);
}

static void accept(llama_sampler * chain, const Tokens & tokens) {
    for (llama_token token : tokens) llama_sampler_accept(chain, token);
}

// Apply a sampler to the last row, and return the token that it selects.
static llama_token applied(llama_sampler * sampler) {
    const float * logits = llama_get_logits_ith(ctx, -1);
    std::vector<llama_token_data> row(n_vocab);
    for (int i = 0; i < n_vocab; i++) row[i] = {i, logits[i], 0};
    llama_token_data_array array = {row.data(), row.size(), -1, false};
    llama_sampler_apply(sampler, &array);
    return array.selected < 0 ? -1 : array.data[array.selected].id;
}

static llama_token sampled(llama_sampler * chain) { return llama_sampler_sample(chain, ctx, -1); }

// Decode a text, then draw tokens and decode them; return those.
static Tokens generate(int n, Tokens text, const std::function<llama_token()> & draw) {
    Tokens drawn;
    decode(text);
    for (int i = 0; i < n; i++) {
        drawn.push_back(draw());
        decode({drawn.back()});
    }
    return drawn;
}
static Tokens generate(int n, llama_sampler * chain, const std::string & text = prompt) {
    return generate(n, tokens_of(text), [&] { return sampled(chain); });
}
static void forget() { llama_memory_clear(llama_get_memory(ctx), true); }

// Two sequences; a chain for each may be the same.
static void two_sequences(llama_sampler * first, llama_sampler * second) {
    std::vector<Tokens> texts = {tokens_of(prompt), tokens_of("Once upon a time")};
    std::vector<int> n = {0, 0};
    for (int i = 0; i < 12; i++) {
        int rows[] = {int(texts[0].size()) - 1, int(texts[0].size() + texts[1].size()) - 1};
        decode_of(texts, n);
        texts = {{llama_sampler_sample(first, ctx, rows[0])}, {llama_sampler_sample(second, ctx, rows[1])}};
    }
}

static const std::map<std::string, std::function<void()>> uses = {
    // misuses
    {"accept behind sample", [] {
        auto chain = usual();
        generate(12, tokens_of(prompt), [&] { auto token = sampled(chain); llama_sampler_accept(chain, token); return token; });
    }},
    {"accept behind sample, with a grammar", [] {
        auto chain = strict();
        generate(12, tokens_of(prompt), [&] { auto token = sampled(chain); llama_sampler_accept(chain, token); return token; });
    }},
    {"apply without accept", [] {
        auto chain = usual();
        generate(12, tokens_of(prompt), [&] { return applied(chain); });
    }},
    {"a chain for each token", [] { generate(12, tokens_of(prompt), [] { return sampled(usual()); }); }},
    {"a reset for each token", [] {
        auto chain = no_history();
        generate(12, tokens_of(prompt), [&] { llama_sampler_reset(chain); return sampled(chain); });
    }},
    {"a reset in a text", [] {
        auto chain = no_history();
        int i = 0;
        generate(16, tokens_of(prompt), [&] { if (++i % 6 == 0) llama_sampler_reset(chain); return sampled(chain); });
    }},
    {"top_k behind dist", [] { generate(12, chain_of({llama_sampler_init_temp(0.4f), llama_sampler_init_dist(1234), llama_sampler_init_top_k(40)})); }},
    {"temp behind greedy", [] { generate(12, chain_of({llama_sampler_init_greedy(), llama_sampler_init_temp(0.7f)})); }},
    {"no last stage", [] { generate(12, chain_of({llama_sampler_init_top_k(40), llama_sampler_init_temp(0.7f)})); }},
    {"accept the token before", [] {
        auto chain = usual();
        llama_token before = 5;
        generate(12, tokens_of(prompt), [&] { auto token = applied(chain); llama_sampler_accept(chain, before); return before = token; });
    }},
    {"the prompt twice", [] {
        auto chain = usual();
        accept(chain, tokens_of(prompt)), accept(chain, tokens_of(prompt));
        generate(12, chain);
    }},
    {"the whole text at each turn", [] {
        auto chain = usual();
        Tokens text = tokens_of(prompt);
        for (const char * turn : {"", " And the next list of names:", " And the last one of them:"}) {
            for (llama_token token : tokens_of(turn, false)) text.push_back(token);
            accept(chain, text);
            forget();
            for (llama_token token : generate(8, text, [&] { return sampled(chain); })) text.push_back(token);
        }
    }},
    {"the prompt in a grammar", [] {
        auto chain = strict();
        accept(chain, tokens_of("Q: 12?", false));
        generate(12, chain);
    }},
    {"a token that the grammar refuses", [] {
        auto chain = strict();
        generate(12, tokens_of(prompt), [&] { applied(chain); llama_sampler_accept(chain, tokens_of("9", false)[0]); return tokens_of("9", false)[0]; });
    }},
    {"a trigger that its grammar refuses", [] {
        auto chain = chain_of({lazy("(one)", "root ::= \"{\" [a-z]+ \"}\""), llama_sampler_init_dist(4)});
        decode(tokens_of(prompt));
        sampled(chain);
        accept(chain, tokens_of(" one", false));
    }},
    {"a chain for two sequences", [] { auto chain = usual(); two_sequences(chain, chain); }},
    {"a null sampler", [] { generate(12, chain_of({penalties(), grammar("root ::= ("), llama_sampler_init_dist(7)})); }},
    {"a freed member", [] {
        auto top_k = llama_sampler_init_top_k(40);
        auto chain = chain_of({top_k, llama_sampler_init_dist(7)});
        generate(4, chain);
        llama_sampler_free(top_k);
        generate(4, chain);
    }},
    // notes
    {"a clone with the same seed", [] { auto chain = no_history(); two_sequences(chain, llama_sampler_clone(chain)); }},
    {"top_p behind top_k 1", [] { generate(12, chain_of({llama_sampler_init_top_k(1), llama_sampler_init_top_p(0.9f, 1), llama_sampler_init_dist(7)})); }},
    {"accept every second token", [] {
        auto chain = usual();
        int i = 0;
        generate(16, tokens_of(prompt), [&] { auto token = applied(chain); if (++i % 2) llama_sampler_accept(chain, token); return token; });
    }},
    {"a chain for each sentence", [] {
        auto chain = no_history();
        int i = 0;
        generate(16, tokens_of(prompt), [&] { if (++i % 6 == 0) chain = no_history(); return sampled(chain); });
    }},
    // right
    {"sample", [] { auto chain = no_history(); generate(12, chain); llama_sampler_free(chain); }},
    {"apply and accept", [] {
        auto chain = usual();
        accept(chain, tokens_of(prompt));
        generate(12, tokens_of(prompt), [&] { auto token = applied(chain); llama_sampler_accept(chain, token); return token; });
    }},
    {"accept behind the decode", [] {
        auto chain = usual();
        llama_token token = -1;
        accept(chain, tokens_of(prompt));
        generate(12, tokens_of(prompt), [&] { if (token >= 0) llama_sampler_accept(chain, token); return token = applied(chain); });
    }},
    {"apply without a history", [] { auto chain = no_history(); generate(12, tokens_of(prompt), [&] { return applied(chain); }); }},
    {"only what is new at each turn", [] {
        auto chain = usual();
        for (const char * turn : {prompt, " And the next list of names:", " And the last one of them:"}) {
            Tokens text = tokens_of(turn, turn == prompt);
            accept(chain, text);
            generate(8, text, [&] { return sampled(chain); });
        }
    }},
    {"a reset at each turn, the whole text again", [] {
        auto chain = usual();
        Tokens text = tokens_of(prompt);
        for (int turn = 0; turn < 3; turn++) {
            llama_sampler_reset(chain);
            accept(chain, text);
            forget();
            for (llama_token token : generate(8, text, [&] { return sampled(chain); })) text.push_back(token);
            for (llama_token token : tokens_of(" And the next list:", false)) text.push_back(token);
        }
    }},
    {"the same seed for each turn", [] {
        for (const char * turn : {prompt, " And the next list of names:", " And the last one of them:"}) {
            auto chain = no_history();
            generate(8, tokens_of(turn, turn == prompt), [&] { return sampled(chain); });
            llama_sampler_free(chain);
        }
    }},
    {"another seed for each token", [] { uint32_t seed = 0; generate(12, tokens_of(prompt), [&] { return sampled(no_history(++seed)); }); }},
    {"a greedy chain for each token", [] { generate(12, tokens_of(prompt), [] { return sampled(chain_of({llama_sampler_init_greedy()})); }); }},
    {"a chain for each token, of one candidate", [] {
        generate(12, tokens_of(prompt), [] { return sampled(chain_of({llama_sampler_init_top_k(1), llama_sampler_init_dist(7)})); });
    }},
    {"a chain with the history for each token", [] {
        Tokens text = tokens_of(prompt);
        uint32_t seed = 0;
        generate(12, text, [&] {
            auto chain = usual(++seed);
            accept(chain, text);
            text.push_back(sampled(chain));
            llama_sampler_free(chain);
            return text.back();
        });
    }},
    {"a shared prompt", [] {
        Tokens text = tokens_of(prompt);
        llama_batch batch = llama_batch_init(256, 0, 2);
        for (llama_token token : text) {
            int at = batch.n_tokens++;
            batch.token[at] = token, batch.pos[at] = at, batch.n_seq_id[at] = 2;
            batch.seq_id[at][0] = 0, batch.seq_id[at][1] = 1, batch.logits[at] = batch.n_tokens == int(text.size());
        }
        llama_decode(ctx, batch);
        llama_batch_free(batch);
        llama_sampler * chains[] = {usual(1), usual(2)};
        std::vector<int> n(2, text.size());
        std::vector<Tokens> texts(2);
        for (int i = 0; i < 10; i++) {
            for (int seq = 0; seq < 2; seq++) texts[seq] = {llama_sampler_sample(chains[seq], ctx, i ? seq : text.size() - 1)};
            decode_of(texts, n);
        }
    }},
    {"one token of each prompt", [] {
        for (int i = 0; i < 8; i++) {
            auto chain = usual();
            forget();
            decode(tokens_of("Is " + std::to_string(i) + " a name? Answer:"));
            printf("%d\n", sampled(chain));
            llama_sampler_free(chain);
        }
    }},
    {"the same text again", [] {
        auto chain = no_history();
        for (int i = 0; i < 3; i++) forget(), llama_sampler_reset(chain), generate(8, chain);
    }},
    {"a grammar behind the draw, then again", [] {  // common_sampler draws first, and asks the grammar then
        auto rules = grammar("root ::= [a-z, ]+");
        auto chain = no_history();
        generate(8, tokens_of(prompt), [&] {
            llama_token token = applied(chain);
            llama_token_data single = {token, 1.0f, 0.0f};
            llama_token_data_array array = {&single, 1, -1, false};
            llama_sampler_apply(rules, &array);
            if (single.logit < -1e30f) {
                auto both = chain_of({llama_sampler_clone(rules), llama_sampler_init_greedy()});
                token = applied(both);
                llama_sampler_free(both);
            }
            llama_sampler_accept(rules, token), llama_sampler_accept(chain, token);
            return token;
        });
    }},
    {"draw again on the same row", [] {
        auto chain = usual();
        generate(8, tokens_of(prompt), [&] {
            applied(chain);
            auto token = applied(chain);
            llama_sampler_accept(chain, token);
            return token;
        });
    }},
    {"a chain for each sequence", [] { two_sequences(usual(1), usual(2)); }},
    {"a chain without a history for two sequences", [] { auto chain = no_history(); two_sequences(chain, chain); }},
    {"drafts", [] {  // of which the first one is often right
        auto chain = usual();
        llama_memory_t memory = llama_get_memory(ctx);
        Tokens batch = tokens_of(prompt);
        std::vector<int> n = {0};
        accept(chain, batch);
        decode_of({batch}, n);
        llama_token token = sampled(chain);
        for (int step = 0; step < 10; step++) {
            int drafts = 3, first = n[0];
            llama_batch rows = llama_batch_init(8, 0, 1);
            for (int i = 0; i <= drafts; i++) {
                rows.token[i] = i ? 275 + i : token;
                rows.pos[i] = n[0] + i, rows.n_seq_id[i] = 1, rows.seq_id[i][0] = 0, rows.logits[i] = true;
                rows.n_tokens++;
            }
            llama_decode(ctx, rows);
            int i = 0;
            token = llama_sampler_sample(chain, ctx, 0);
            while (i < drafts && token == rows.token[i + 1]) token = llama_sampler_sample(chain, ctx, ++i);
            n[0] = first + i + 1;
            llama_memory_seq_rm(memory, 0, n[0], -1);
            llama_batch_free(rows);
        }
    }},
    {"back to a clone", [] {  // three tokens are drawn, refused, and drawn again
        auto chain = usual();
        std::vector<int> n = {0};
        decode_of({tokens_of(prompt)}, n);
        auto saved = llama_sampler_clone(chain);
        int start = n[0];
        llama_token first = sampled(chain), token = first;
        for (int i = 0; i < 4; i++) decode_of({{token}}, n), token = sampled(chain);
        llama_memory_seq_rm(llama_get_memory(ctx), 0, start, -1);
        n[0] = start;
        llama_sampler_free(chain);
        llama_sampler_accept(saved, token = first);
        for (int i = 0; i < 8; i++) decode_of({{token}}, n), token = sampled(saved);
    }},
    {"forced tokens", [] {
        auto chain = usual();
        accept(chain, tokens_of(prompt));
        decode(tokens_of(prompt));
        for (int i = 0; i < 8; i++) {
            llama_token token = sampled(chain);
            accept(chain, {token, 11});
            decode({token, token, 11});
            llama_sampler_accept(chain, token);
        }
    }},
    {"another token than the drawn one", [] {
        auto chain = usual();
        generate(8, tokens_of(prompt), [&] { applied(chain); llama_sampler_accept(chain, 11); return 11; });
    }},
    {"rows that are only scored", [] {
        auto chain = usual();
        for (int i = 0; i < 8; i++) decode(tokens_of(" a row", false)), printf("%d\n", applied(chain));
    }},
    {"a checked null sampler", [] {
        Stages stages = {llama_sampler_init_top_k(40)};
        if (auto bad = grammar("root ::= (")) stages.push_back(bad);
        stages.push_back(llama_sampler_init_dist(7));
        generate(8, chain_of(stages));
    }},
    {"a removed member", [] {
        auto chain = chain_of({llama_sampler_init_top_k(40), llama_sampler_init_dist(7)});
        generate(4, chain);
        llama_sampler_free(llama_sampler_chain_remove(chain, 0));
        generate(4, chain);
        llama_sampler_free(chain);
    }},
    {"each member accepts", [] {
        auto chain = usual();
        accept(chain, tokens_of(prompt));
        generate(8, tokens_of(prompt), [&] {
            auto token = applied(chain);
            for (int i = 0; i < llama_sampler_chain_n(chain); i++) llama_sampler_accept(llama_sampler_chain_get(chain, i), token);
            return token;
        });
    }},
    {"a trigger that its grammar takes", [] {
        auto chain = chain_of({lazy("(one)", "root ::= \"one\" [a-z, ]*"), llama_sampler_init_dist(4)});
        decode(tokens_of(prompt));
        llama_token token = sampled(chain);
        accept(chain, tokens_of(" one", false));
        generate(8, tokens_of(" one", false), [&] { return token = sampled(chain); });
    }},
    {"mirostat", [] { generate(8, chain_of({penalties(), llama_sampler_init_temp(0.8f), llama_sampler_init_mirostat_v2(3, 3.0f, 0.1f)})); }},
};

int main(int, char ** argv) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all();
    model = llama_model_load_from_file(argv[1], llama_model_default_params());
    vocab = llama_model_get_vocab(model);
    n_vocab = llama_vocab_n_tokens(vocab);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 512, params.n_seq_max = 2, params.kv_unified = true, params.n_threads = params.n_threads_batch = 1;
    ctx = llama_init_from_model(model, params);
    uses.at(argv[2])();
    llama_free(ctx);
    llama_model_free(model);
}
