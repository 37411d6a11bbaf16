#define LLAMA_API
// LLAMA_API void llama_sampler_init_in_a_comment(void);
    struct llama_model_params {
        ggml_backend_dev_t * devices; // a list; NULL: all
        const struct llama_model_tensor_buft_override * tensor_buft_overrides;
        int32_t n_gpu_layers;
        enum llama_split_mode split_mode;
        llama_progress_callback progress_callback;
        bool vocab_only;
    };
    typedef struct llama_token_data {
        llama_token id;
        float logit;
        float p;
    } llama_token_data;
    LLAMA_API struct llama_sampler * llama_sampler_init_greedy(void);
    LLAMA_API struct llama_sampler * llama_sampler_init_temp       (float   t);
    LLAMA_API struct llama_sampler * llama_sampler_init_top_p      (float   p, size_t min_keep);
    LLAMA_API struct llama_sampler * llama_sampler_init_penalties(
                         int32_t   n_vocab,        // of the model
                         int32_t   penalty_last_n, // 0: off
                           float   penalty_repeat,
                           float   penalty_freq,
                           float   penalty_present);
    DEPRECATED(LLAMA_API struct llama_sampler * llama_sampler_init_grammar(
            const struct llama_vocab * vocab,
                          const char * grammar_str,
                          const char * grammar_root), "use another");
