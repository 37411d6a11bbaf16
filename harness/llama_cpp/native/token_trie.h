/* The token trie as a llama_sampler, compiled: reference/samplers/token_trie.py says what it means,
 * docs/background/token-trie.md how the document that asked for these functions is read. */
#pragma once

#include "llama.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* A trie with the defaults below, the tokens of which the vocabulary must have (NULL: any).
 * mode: 0 selects the largest of the children, 1 leaves that to what follows. NULL for what is
 * refused, and without memory; llama.cpp's log says why. Whoever gets it frees it, or gives it to a
 * chain. A clone without memory throws std::bad_alloc, as those of llama.cpp's samplers do. */
struct llama_sampler * llama_sampler_init_token_trie(
        const struct llama_vocab * vocab, const char * trie_descriptor_json, int mode);

/* Payloads that were read, for all samplers that are made with it, in any thread. One is there for
 * who makes none. Free it after its samplers. NULL without memory. */
struct token_trie_cache;
struct token_trie_cache * token_trie_cache_init(void);
void token_trie_cache_free(struct token_trie_cache * cache);

struct token_trie_params {
    const char * path;     /* of the descriptor; NULL or "": the first */
    const char * model_id; /* to be equal to the payload's; NULL or "": any */
    int32_t n_vocab;       /* every token is below it; -1: any */
    bool compact;          /* remove the other candidates in place of masking them */
    bool across;           /* the end of a leaf opens the next descriptor's span */
    struct token_trie_cache * cache; /* NULL: the one that is there */
};
struct token_trie_params token_trie_default_params(void);

/* The same, of a text that need not end with a zero. */
struct llama_sampler * token_trie_init(
        const char * trie_descriptor_json, size_t len, int mode, struct token_trie_params params);

/* A place in a chain for the tries of span after span, and the samplers behind it, which it owns
 * and mode 0 does without inside a span. It is what set and clear take as their handle. NULL without
 * memory: then the samplers behind it are still yours. */
typedef struct llama_sampler * FfiLlmHandle;
FfiLlmHandle token_trie_slot_init(const struct llama_vocab * vocab, struct llama_sampler * behind);

/* Opens a span at the root. A payload that is refused, or has no memory, leaves all as it was. */
void eliza_inference_set_token_trie(
        FfiLlmHandle handle, const char * trie_payload_json, size_t payload_len, int mode);

/* Ends it, if one is open. */
void eliza_inference_clear_token_trie(FfiLlmHandle handle);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
