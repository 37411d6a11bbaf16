// llama.cpp v0.5.0 on Vulkan: in the graph, top_k = 1 of negative logits selects the least likely token.
//
//     c++ -std=c++17 finding_16_vulkan_top_k.cpp -o repro -I SOURCE/include -I SOURCE/ggml/include VULKAN/libllama.vulkan.v0.5.0.so VULKAN/libggml.vulkan.v0.5.0.so -Wl,-rpath,VULKAN
//     ./repro MODEL.gguf VULKAN
//
// SOURCE is llama.cpp's source, VULKAN a folder of its libraries with libggml-vulkan.so (those of the package
// @node-llama-cpp/linux-x64-vulkan here), MODEL.gguf any model. Mesa's llvmpipe is a device: with GGML_VK_VISIBLE_DEVICES=0.
// Prints expected and got, exit status 1 where they differ, 2 without a Vulkan device.

#include <llama.h>

#include <cstdio>
#include <vector>

// The token behind 1, 2, 3 of logits that are all negative, the chain applied in the model's graph or on the CPU.
static llama_token drawn(llama_model * model, bool graph) {
    const int n = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::vector<llama_logit_bias> lower;
    for (llama_token id = 0; id < n; id++) lower.push_back({id, -1000.0f});
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_chain_add(chain, llama_sampler_init_logit_bias(n, n, lower.data()));
    llama_sampler_chain_add(chain, llama_sampler_init_top_k(1));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
    llama_sampler_seq_config config = {0, chain};
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 64;
    if (graph) params.samplers = &config, params.n_samplers = 1;
    llama_context * context = llama_init_from_model(model, params);
    llama_token text[] = {1, 2, 3};
    llama_decode(context, llama_batch_get_one(text, 3));
    return llama_sampler_sample(chain, context, -1);
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all_from_path(arguments[2]);
    if (!llama_supports_gpu_offload()) return std::puts("no Vulkan device here"), 2;
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    const llama_token expected = drawn(model, false), got = drawn(model, true);
    std::printf("logits less 1000, top_k 1, dist: the token on the CPU and in the graph\n"
                "  expected %d\n  got      %d\n", expected, got);
    return expected != got;
}
