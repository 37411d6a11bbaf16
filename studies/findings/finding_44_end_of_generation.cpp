// llama.cpp b11549: the end of a generation ends matching along a draft, and not rejection.
//
//     c++ -std=c++17 finding_44_end_of_generation.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>

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
    llama_token end = 0;
    while (!llama_vocab_is_eog(llama_model_get_vocab(model), end)) end++;
    const llama_tokens draft = {end, end};
    const std::vector<int> outputs = decoded(context, draft);
    common_params_sampling params;
    params.logit_bias = {{end, 1000}};  // certain at each place
    const auto matched = common_sampler_sample_and_accept_n(
        common_sampler_init(model, params), context, outputs, draft);
    const auto judged = common_sampler_sample_and_accept_n_rejection(
        common_sampler_init(model, params), context, outputs, draft, {{{end, 0, 1}}, {{end, 0, 1}}}, false);
    std::puts("a draft of two ends of generation, both certain: tokens by matching, by rejection");
    std::printf("  expected %zu\n  got      %zu\n", matched.size(), judged.size());
    return matched.size() != judged.size();
}
