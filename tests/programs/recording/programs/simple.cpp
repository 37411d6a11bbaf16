// `simple MODEL`: print texts of five chains, as llama.cpp's own example `simple` generates them.

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "llama.h"

static std::string generate(llama_model * model, const std::string & prompt, llama_sampler * chain) {
    const llama_vocab * vocab = llama_model_get_vocab(model);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    params.n_threads = params.n_threads_batch = 1;
    llama_context * ctx = llama_init_from_model(model, params);
    std::vector<llama_token> tokens(prompt.size() + 2);
    tokens.resize(llama_tokenize(vocab, prompt.data(), prompt.size(), tokens.data(), tokens.size(), true, true));
    llama_batch batch = llama_batch_get_one(tokens.data(), tokens.size());
    std::string text;
    llama_token token;
    for (int i = 0; i < 40 && llama_decode(ctx, batch) == 0; i++) {
        token = llama_sampler_sample(chain, ctx, -1);
        if (llama_vocab_is_eog(vocab, token)) break;
        char piece[64];
        text.append(piece, llama_token_to_piece(vocab, token, piece, sizeof piece, 0, true));
        batch = llama_batch_get_one(&token, 1);
    }
    llama_free(ctx);
    return text;
}

int main(int, char ** argv) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all();
    llama_model * model = llama_model_load_from_file(argv[1], llama_model_default_params());
    const llama_vocab * vocab = llama_model_get_vocab(model);
    const char * breakers[] = {"\n", ":"};
    const std::vector<std::vector<llama_sampler *>> chains = {
        {llama_sampler_init_greedy()},
        {llama_sampler_init_top_k(40), llama_sampler_init_top_p(0.95f, 1), llama_sampler_init_temp(0.8f),
         llama_sampler_init_dist(1)},
        {llama_sampler_init_dry(vocab, 0.8f, 1.75f, 2, 64, breakers, 2),
         llama_sampler_init_xtc(0.5f, 0.05f, 1, 7), llama_sampler_init_dist(7)},
        {llama_sampler_init_temp_ext(0.8f, 0.3f, 1.2f), llama_sampler_init_mirostat_v2(3, 3.0f, 0.1f)},
        {llama_sampler_init_grammar(vocab, "root ::= [a-z ]+ \".\"", "root"), llama_sampler_init_dist(4)},
    };
    for (const auto & members : chains) {
        llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
        for (llama_sampler * member : members) llama_sampler_chain_add(chain, member);
        printf("%s\n--\n", generate(model, "The number", chain).c_str());
        llama_sampler * copy = llama_sampler_clone(chain);
        printf("%s\n--\n", generate(model, "Once", copy).c_str());
        llama_sampler_reset(chain);
        printf("%s\n--\n", generate(model, "Once", chain).c_str());
        llama_sampler_free(copy);
        llama_sampler_free(chain);
    }
    llama_model_free(model);
}
