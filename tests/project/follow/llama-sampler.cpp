struct llama_sampler_dist {
    const uint32_t seed;
};

static void llama_sampler_dist_apply(struct llama_sampler * smpl, llama_token_data_array * cur_p) {
    // a comment
    draw(cur_p);
}

struct llama_sampler * llama_sampler_init_dist(uint32_t seed) {
    return new llama_sampler_dist { seed };
}
