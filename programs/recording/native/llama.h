// The structures of libllama that the recorder reads, alike in every release (see llama.h there).
#pragma once
#include <cstddef>
#include <cstdint>

struct Candidate { int32_t id; float logit; float p; };
struct Candidates { Candidate *data; size_t size; int64_t selected; bool sorted; };
struct Bias { int32_t token; float bias; };
struct SequenceSampler { int32_t sequence; void *sampler; };
struct Batch {
    int32_t n_tokens;
    int32_t *token;
    float *embd;
    int32_t *pos;
    int32_t *n_seq_id;
    int32_t **seq_id;
    int8_t *logits;
    uint64_t before_b3943[3];  // all_pos_0, all_pos_1, all_seq_id: passed on, as Params is
};
// llama_model_params and llama_context_params of any release: passed on as they are, by value. They
// are shorter than this; the rest of the copy is stack of the caller, and nobody reads it.
struct Params { uint64_t words[40]; };
struct ChainParams { bool no_perf; };
