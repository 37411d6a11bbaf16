// llama.cpp b11549: with mirostat, rejection sampling learns from a token that did not come out.
//
//     c++ -std=c++17 finding_43_mirostat_learns.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
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

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 64;
    llama_context * context = llama_init_from_model(model, small);
    const llama_tokens draft = {3};
    const std::vector<int> outputs = decoded(context, draft);
    std::set<size_t> left;
    for (int seed = 0; seed < 12; seed++) {
        common_params_sampling params;
        params.seed = seed, params.mirostat = 2, params.mirostat_tau = 2, params.mirostat_eta = 1;
        params.temp = 1;  // and float32 has integers alone near 1e7: four tokens, 0.64 to 0.03
        params.logit_bias = {{3, 1e7f}, {4, 1e7f - 1}, {5, 1e7f - 2}, {6, 1e7f - 3}};
        common_sampler * sampler = common_sampler_init(model, params);
        // p / q is above 1: the draft is accepted, and the token that was drawn for it thrown away
        common_sampler_sample_and_accept_n_rejection(sampler, context, outputs, draft,
                                                     {{{3, 0, 1e-12f}}}, false);
        left.insert(common_sampler_get_candidates(sampler, false)->size);
    }
    std::puts("mirostat behind one accepted token, the same in 12 generations: how many sizes of what it leaves next");
    std::printf("  expected 1: it learns from the text\n  got      %zu\n", left.size());
    return left.size() != 1;
}
