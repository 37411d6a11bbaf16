// llama.cpp b11549: without dist, rejection sampling has the same numbers whatever the seed.
//
//     c++ -std=c++17 finding_42_same_stream.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>
#include <set>
std::vector<llama_token> common_sampler_sample_and_accept_n_rejection(
    common_sampler *, llama_context *, const std::vector<int> & outputs, const llama_tokens & draft,
    const std::vector<std::vector<llama_token_data>> & draft_q, bool grammar_first);

// The model's outputs behind 1, 2, 3 and behind each token of the draft.
static std::vector<int> decoded(llama_context * context, const llama_tokens & draft) {
    llama_tokens text = {1, 2, 3};
    text.insert(text.end(), draft.begin(), draft.end());
    llama_batch batch = llama_batch_init(text.size(), 0, 1);
    std::vector<int> outputs;
    for (int i = 0; i < (int) text.size(); i++) {
        batch.token[i] = text[i], batch.pos[i] = i, batch.logits[i] = true;
        batch.n_seq_id[i] = 1, batch.seq_id[i][0] = 0;
        if (i >= 2) outputs.push_back(i);
    }
    batch.n_tokens = text.size();
    llama_decode(context, batch);
    return outputs;
}

// How many different numbers of tokens come out of 12 seeds.
static size_t lengths(llama_context * context, llama_model * model, const std::vector<int> & outputs, bool dist) {
    std::set<size_t> lengths;
    for (int seed = 0; seed < 12; seed++) {
        common_params_sampling params;
        params.seed = seed, params.adaptive_target = 0.5f;
        params.logit_bias = {{3, 1e8f}, {4, 1e8f}};  // all else is rounded away: 1/2 each
        params.samplers = {COMMON_SAMPLER_TYPE_TEMPERATURE};
        if (!dist) params.samplers.push_back(COMMON_SAMPLER_TYPE_ADAPTIVE_P);
        const std::vector<std::vector<llama_token_data>> q(8, {{3, 0, 1}});
        lengths.insert(common_sampler_sample_and_accept_n_rejection(common_sampler_init(model, params),
            context, outputs, llama_tokens(8, 3), q, false).size());
    }
    return lengths.size();
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    llama_context * context = llama_init_from_model(model, llama_context_default_params());
    const std::vector<int> outputs = decoded(context, llama_tokens(8, 3));
    const size_t dist = lengths(context, model, outputs, true), adaptive = lengths(context, model, outputs, false);
    std::puts("a draft of 8 tokens of p 1/2, 12 seeds: how many lengths come out, with dist, with adaptive_p");
    std::printf("  expected more than 1, more than 1\n  got      %zu, %zu\n", dist, adaptive);
    return adaptive == 1;
}
