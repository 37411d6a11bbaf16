// What the tests call of libllama-common v0.5.0. The library is installed without its headers, so
// the declarations are ours: fields and their order are those of common/common.h, functions those
// of common/sampling.h and common/reasoning-budget.h. driver.cpp checks the layout at every init.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <llama.h>

using Tokens = std::vector<llama_token>;

enum common_sampler_type : int {};
enum common_reasoning_budget_state : int {};

struct common_grammar {
    int type;  // 0 none, 1 user, 2 output format, 3 tool calls
    std::string grammar;
};

struct common_grammar_trigger {
    int type;
    std::string value;
    llama_token token;
};

// The driver sets what a test names; the defaults are those of v0.5.0, but for the lists.
struct common_params_sampling {
    uint32_t seed = 0;
    int32_t n_prev = 64, n_probs = 0, min_keep = 0, top_k = 40;
    float top_p = 0.95f, min_p = 0.05f, xtc_probability = 0.0f, xtc_threshold = 0.1f, typ_p = 1.0f;
    float temp = 0.8f, dynatemp_range = 0.0f, dynatemp_exponent = 1.0f;
    int32_t penalty_last_n = 64;
    float penalty_repeat = 1.0f, penalty_freq = 0.0f, penalty_present = 0.0f;
    float dry_multiplier = 0.0f, dry_base = 1.75f;
    int32_t dry_allowed_length = 2, dry_penalty_last_n = 64;
    float adaptive_target = -1.0f, adaptive_decay = 0.9f;
    int32_t mirostat = 0;
    float top_n_sigma = -1.0f, mirostat_tau = 5.0f, mirostat_eta = 0.1f;
    bool ignore_eos = false, no_perf = false, timing_per_token = false;
    uint64_t user_sampling_config = 0;
    std::vector<std::string> dry_sequence_breakers;
    std::vector<common_sampler_type> samplers;
    common_grammar grammar{0, ""};
    bool grammar_lazy = false;
    std::vector<common_grammar_trigger> grammar_triggers;
    std::set<llama_token> preserved_tokens;
    std::vector<llama_logit_bias> logit_bias, logit_bias_eog;
    std::string generation_prompt;
    int32_t reasoning_budget_tokens = -1;
    Tokens reasoning_budget_start;
    std::vector<Tokens> reasoning_budget_end;
    Tokens reasoning_budget_forced;
    std::string reasoning_budget_message;
    bool reasoning_control = false, backend_sampling = false;

    std::string print() const;
};

// The beginning of the library's own structure.
struct common_sampler {
    common_params_sampling params;
    llama_sampler *grmr, *rbudget, *chain;
};

common_sampler * common_sampler_init(const llama_model *, common_params_sampling &);
void common_sampler_free(common_sampler *);
void common_sampler_accept(common_sampler *, llama_token, bool is_generated);
void common_sampler_reset(common_sampler *);
common_sampler * common_sampler_clone(common_sampler *);
void common_sampler_copy(const common_sampler * from, common_sampler * to);
uint32_t common_sampler_get_seed(const common_sampler *);
llama_sampler * common_sampler_get(const common_sampler *);
llama_token common_sampler_sample(common_sampler *, llama_context *, int, bool grammar_first);
std::vector<llama_token> common_sampler_sample_and_accept_n(
    common_sampler *, llama_context *, const Tokens & draft, bool grammar_first);
// Only newer releases have it: a null pointer in the others.
std::vector<llama_token> common_sampler_sample_and_accept_n_rejection(
    common_sampler *, llama_context *, const std::vector<int> & outputs, const Tokens & draft,
    const std::vector<std::vector<llama_token_data>> & draft_q, bool grammar_first)
    __attribute__((weak));
bool common_sampler_reasoning_budget_force(common_sampler *);
llama_token_data_array * common_sampler_get_candidates(common_sampler *, bool do_sort);
llama_token common_sampler_last(const common_sampler *);
std::string common_sampler_print(const common_sampler *);
std::string common_sampler_prev_str(common_sampler *, llama_context *, int n);
char common_sampler_type_to_chr(common_sampler_type);
std::string common_sampler_type_to_str(common_sampler_type);
std::vector<common_sampler_type> common_sampler_types_from_names(const std::vector<std::string> &);
std::vector<common_sampler_type> common_sampler_types_from_chars(const std::string &);

llama_sampler * common_reasoning_budget_init(
    const llama_vocab *, const std::vector<Tokens> & start, const std::vector<Tokens> & end,
    const Tokens & forced, int32_t budget, common_reasoning_budget_state);
common_reasoning_budget_state common_reasoning_budget_get_state(const llama_sampler *);
const Tokens * common_reasoning_budget_get_end_match(const llama_sampler *);
bool common_reasoning_budget_force(llama_sampler *);
