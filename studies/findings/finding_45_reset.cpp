// llama.cpp b11549: a reset of common_sampler does not restart rejection sampling.
//
//     c++ -std=c++17 finding_45_reset.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>
#include <string>

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
    const llama_tokens draft(8, 3);
    const std::vector<int> outputs = decoded(context, draft);
    common_params_sampling params;
    params.seed = 1, params.logit_bias = {{3, 1e8f}, {4, 1e8f}};  // all else is rounded away
    params.samplers = {};
    common_sampler * sampler = common_sampler_init(model, params);
    std::string texts[2];
    for (std::string & text : texts) {
        common_sampler_reset(sampler);
        for (llama_token token : common_sampler_sample_and_accept_n_rejection(
                 sampler, context, outputs, draft, std::vector<std::vector<llama_token_data>>(8, {{3, 0, 1}}), false))
            text += " " + std::to_string(token);
    }
    std::puts("seed 1, a draft of 8 tokens; a reset; the same again");
    std::printf("  expected%s\n  got     %s\n", texts[0].c_str(), texts[1].c_str());
    return texts[0] != texts[1];
}
