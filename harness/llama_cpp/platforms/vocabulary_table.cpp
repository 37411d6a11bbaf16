// Linked with llama-sampler.cpp and llama-grammar.cpp alone: what they ask of a vocabulary comes from
// the other end, `vocab EOS EOT N` and of each token its piece, what it is detokenized to, whether
// it is special and whether it ends a generation. What it does not know, how a text is split into
// tokens, it asks: `tokenize SPECIAL TEXT`, and the answer is a line of tokens.

#include "words.hpp"
#include "llama-impl.h"
#include "llama-vocab.h"

#include <cstdarg>
#include <map>

const char * const VOCABULARY = "table";

struct Token {
    std::string piece, detokenized;
    bool special = false, ends = false;
};

struct Table {
    int eos = -1, eot = -1;
    std::vector<Token> tokens;
};

static std::map<const llama_vocab *, Table> tables;
static std::vector<llama_token> ask_tokens(const std::string & text, bool special);

struct llama_vocab::impl {};
llama_vocab::llama_vocab() = default;
llama_vocab::~llama_vocab() = default;

// Made in main, where a lack of memory is an error.
static std::deque<llama_vocab> & vocabularies() {
    static std::deque<llama_vocab> all(1);
    return all;
}

int read_vocabulary(Words & words) {
    Table & table = tables[&vocabularies().emplace_back()];
    table.eos = words.next<int>();
    table.eot = words.next<int>();
    table.tokens.resize(words.next<size_t>());
    for (Token & token : table.tokens) {
        token.piece = words.bytes();
        token.detokenized = words.bytes();
        token.special = words.next<int>() != 0;
        token.ends = words.next<int>() != 0;
    }
    return (int) vocabularies().size() - 1;
}

const llama_vocab * vocabulary(int handle) {
    return handle ? &vocabularies().at(handle) : nullptr;
}

uint32_t llama_vocab::n_tokens() const { return (uint32_t) tables.at(this).tokens.size(); }
bool llama_vocab::is_eog(llama_token id) const { return tables.at(this).tokens.at(id).ends; }
llama_token llama_vocab::token_eos() const { return tables.at(this).eos; }
llama_token llama_vocab::token_eot() const { return tables.at(this).eot; }

const std::string & llama_vocab::token_to_piece(llama_token id) const {
    return tables.at(this).tokens.at(id).piece;
}

int32_t llama_vocab::token_to_piece(
        llama_token id, char * buffer, int32_t length, int32_t, bool special) const {
    const Token & token = tables.at(this).tokens.at(id);
    const std::string piece = token.special && !special ? "" : token.piece;
    if ((int32_t) piece.size() > length) {
        return -(int32_t) piece.size();
    }
    memcpy(buffer, piece.data(), piece.size());
    return (int32_t) piece.size();
}

std::string llama_vocab::detokenize(const std::vector<llama_token> & ids, bool) const {
    return tables.at(this).tokens.at(ids.at(0)).detokenized;  // dry asks for one at a time
}

std::vector<llama_token> llama_vocab::tokenize(
        const std::string & text, bool, bool special) const {
    return ask_tokens(text, special);
}

int32_t llama_vocab::tokenize(
        const char * text, int32_t length, llama_token * tokens, int32_t most, bool, bool special
) const {
    const std::vector<llama_token> asked = ask_tokens(std::string(text, length), special);
    if ((int32_t) asked.size() > most) {
        return -(int32_t) asked.size();
    }
    std::copy(asked.begin(), asked.end(), tokens);
    return (int32_t) asked.size();
}

static std::vector<llama_token> ask_tokens(const std::string & text, bool special) {
    printf("tokenize %d x", special ? 1 : 0);
    for (const unsigned char byte : text) {
        printf("%02x", byte);
    }
    printf("\n");
    fflush(stdout);
    std::string line;
    if (!read_line(line)) {
        exit(1);
    }
    Words words(line);
    std::vector<llama_token> tokens;
    while (words.more()) {
        tokens.push_back(words.next<llama_token>());
    }
    return tokens;
}

// What else the two files call.

static ggml_log_callback logger = nullptr;

void llama_log_set(ggml_log_callback callback, void *) { logger = callback; }

void llama_log_internal(ggml_log_level level, const char * format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (logger) {
        logger(level, text, nullptr);
    }
}

std::string format(const char * format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}

llama_sampler_chain_params llama_sampler_chain_default_params() { return { true }; }

time_meas::time_meas(int64_t & sum, bool) : t_start_us(0), t_acc(sum) {}
time_meas::~time_meas() = default;

void ggml_abort(const char * file, int line, const char * format, ...) {
    fprintf(stderr, "%s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}
