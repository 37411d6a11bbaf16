// Models: the vocabulary of each, written once.
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include "recorder.h"

namespace {

struct Known { int number; std::string path; };
struct Models {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::map<const void *, Known> by_address;     // of a vocabulary; of the model before b4529
    std::map<const void *, const void *> contexts;  // -> the same
    int number = 0;
};
Models &models = kept<Models>();

struct Lock : Guard {
    Lock() : Guard(models.mutex) {}
};

// A function by its name since b4529, or the one of before.
template <class F> F *either(const char *name, const char *old) {
    auto found = other<F>(name);
    return found ? found : other<F>(old);
}

const void *vocab_of(const void *model) {
    auto get = other<const void *(const void *)>("llama_model_get_vocab");
    return get && model ? get(model) : model;
}

int type_of(int attributes) {  // llama_token_attr -> GGUF's token_type
    static const int types[][2] = {{1, 2}, {2, 5}, {8, 3}, {16, 4}, {32, 6}};
    for (auto &type : types)
        if (attributes & type[0]) return type[1];
    return 1;
}

std::string piece_of(const void *vocab, int32_t token) {
    typedef int32_t F(const void *, int32_t, char *, int32_t, int32_t, bool);
    static auto piece = other<F>("llama_token_to_piece");
    std::string out(64, '\0');
    int32_t n = piece ? piece(vocab, token, &out[0], 64, 0, true) : 0;
    if (n < 0) {
        out.resize(static_cast<size_t>(-n));
        n = piece(vocab, token, &out[0], -n, 0, true);
    }
    out.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return out;
}

int32_t size_of(const void *vocab) {
    auto size = either<int32_t(const void *)>("llama_vocab_n_tokens", "llama_n_vocab");
    return size ? size(vocab) : 0;
}

std::string vocabulary(const void *vocab, int32_t n, const std::vector<std::string> &pieces) {
    typedef int32_t OfVocab(const void *);
    auto text = either<const char *(const void *, int32_t)>("llama_vocab_get_text", "llama_token_get_text");
    auto score = either<float(const void *, int32_t)>("llama_vocab_get_score", "llama_token_get_score");
    auto attributes = either<int(const void *, int32_t)>("llama_vocab_get_attr", "llama_token_get_attr");
    auto ends = either<bool(const void *, int32_t)>("llama_vocab_is_eog", "llama_token_is_eog");
    auto kind = other<int(const void *)>("llama_vocab_type");
    static const char *kinds[] = {"none", "spm", "bpe", "wpm", "ugm", "rwkv", "plamo2"};
    std::string texts, types, scores, eog, all;
    for (int32_t i = 0; i < n; i++) {
        const char *comma = i ? "," : "";
        const char *of = text ? text(vocab, i) : nullptr;
        texts += comma + (of ? json_text(of, std::char_traits<char>::length(of)) : "null");
        types += comma + std::to_string(attributes ? type_of(attributes(vocab, i)) : 1);
        scores += comma + json_real(score ? static_cast<double>(score(vocab, i)) : 0.0);
        if (ends && ends(vocab, i)) eog += (eog.empty() ? "" : ",") + std::to_string(i);
        all += comma + ("\"" + base64(pieces[static_cast<size_t>(i)]) + "\"");
    }
    unsigned number = kind ? static_cast<unsigned>(kind(vocab)) : 0;
    std::string out = std::string("{\"kind\":\"") + (number < 7 ? kinds[number] : "none") + "\"";
    for (const char *name : {"bos", "eos", "eot"}) {
        auto id = either<OfVocab>((std::string("llama_vocab_") + name).c_str(),
                                  (std::string("llama_token_") + name).c_str());
        out += std::string(",\"") + name + "\":" + std::to_string(id ? id(vocab) : -1);
    }
    return out + ",\"eog\":[" + eog + "],\"texts\":[" + texts + "],\"types\":[" + types +
           "],\"scores\":[" + scores + "],\"pieces\":[" + all + "]}\n";
}

void write_model(const void *vocab, const Known &known) {
    int32_t n = size_of(vocab);
    std::vector<std::string> pieces;
    uint32_t digest = 0;
    for (int32_t i = 0; i < n; i++) {
        pieces.push_back(piece_of(vocab, i));
        digest = crc32(digest, pieces.back().c_str(), pieces.back().size() + 1);
    }
    char hex[20];
    snprintf(hex, sizeof hex, "%08x", digest);
    Line line("model", this_thread());
    line.address("m", vocab).whole("n_vocab", n).word("digest", hex);
    std::string name;
    if (settings.text) {
        std::string suffix = ".model-" + std::to_string(known.number) + ".json";
        if (write_whole_file(suffix, vocabulary(vocab, n, pieces), name)) line.word("file", name);
    }
    if (!known.path.empty()) line.word("path", known.path);
    write_line(line);
}

// The program may change its folder later.
std::string absolute(const char *path) {
    std::unique_ptr<char, void (*)(void *)> full(realpath(path, nullptr), free);
    if (!full && errno == ENOMEM) throw std::bad_alloc();
    return full ? full.get() : path;
}

void know(const void *vocab, const char *path) {
    if (!vocab) return;
    Lock lock;
    auto added = models.by_address.emplace(vocab, Known{0, *path ? absolute(path) : ""});
    if (!added.second) return;
    added.first->second.number = ++models.number;
    write_model(vocab, added.first->second);
}

void *loaded(void *model, const char *path) {
    if (model) recorded([&] { know(vocab_of(model), path ? path : ""); });
    return model;
}

void forget(const void *model) {
    recorded([&] {
        const void *vocab = model ? vocab_of(model) : nullptr;
        Lock lock;
        models.by_address.erase(vocab);
    });
}

}  // namespace

void lock_models(bool lock) {
    lock ? pthread_mutex_lock(&models.mutex) : pthread_mutex_unlock(&models.mutex);
}

// A clone of a grammar sampler makes one of a copy of its vocabulary: that is no model.
std::string model_address(const void *vocab) {
    Thread *thread = this_thread();
    if (thread && thread->depth == 0) know(vocab, "");
    return json_address(vocab);
}

// Tell the model of a context when it is first seen.
void know_context(const void *ctx, const Thread *thread) {
    {
        Lock lock;
        if (models.contexts.count(ctx)) return;
    }
    auto get = other<const void *(const void *)>("llama_get_model");
    const void *vocab = get ? vocab_of(get(ctx)) : nullptr;
    know(vocab, "");
    Lock lock;
    models.contexts[ctx] = vocab;
    Line line("context", thread);
    line.address("ctx", ctx).address("m", vocab);
    write_line(line);
}

EXPORTED void *llama_model_load_from_file(const char *path, Params params) {
    auto next = NEXT(llama_model_load_from_file);
    return loaded(next ? next(path, params) : nullptr, path);
}

EXPORTED void *llama_load_model_from_file(const char *path, Params params) {
    auto next = NEXT(llama_load_model_from_file);
    return loaded(next ? next(path, params) : nullptr, path);
}

EXPORTED void *llama_model_load_from_splits(const char **paths, size_t n, Params params) {
    auto next = NEXT(llama_model_load_from_splits);
    return loaded(next ? next(paths, n, params) : nullptr, n ? paths[0] : nullptr);
}

EXPORTED void llama_model_free(void *model) {
    forget(model);
    if (auto next = NEXT(llama_model_free)) next(model);
}

EXPORTED void llama_free_model(void *model) {
    forget(model);
    if (auto next = NEXT(llama_free_model)) next(model);
}

EXPORTED void llama_free(void *ctx) {
    recorded([&] {
        Lock lock;
        models.contexts.erase(ctx);
    });
    if (auto next = NEXT(llama_free)) next(ctx);
}

// A context whose texts are removed: the one of a memory, or itself in old releases. -1: all sequences.
static void write_removed(const void *ctx, int32_t sequence) {
    Line line("removed", this_thread());
    line.address("ctx", ctx).whole("seq", sequence);
    write_line(line);
}

static void removed_of(const void *memory, int32_t sequence) {
    auto get = other<const void *(const void *)>("llama_get_memory");
    std::vector<const void *> all;
    {
        Lock lock;
        for (const auto &known : models.contexts) all.push_back(known.first);
    }
    for (const void *ctx : all)
        if (get && get(ctx) == memory) write_removed(ctx, sequence);
}

EXPORTED void llama_memory_clear(void *memory, bool data) {
    recorded([&] { removed_of(memory, -1); });
    if (auto next = NEXT(llama_memory_clear)) next(memory, data);
}

// Only of whole sequences: a position tells of the others, if the program gives it.
EXPORTED bool llama_memory_seq_rm(void *memory, int32_t sequence, int32_t from, int32_t to) {
    if (from <= 0 && to < 0) recorded([&] { removed_of(memory, sequence); });
    auto next = NEXT(llama_memory_seq_rm);
    return next && next(memory, sequence, from, to);
}

#define CLEARS(name)                                   \
    EXPORTED void name(void *ctx) {                    \
        recorded([&] { write_removed(ctx, -1); });     \
        if (auto next = NEXT(name)) next(ctx);         \
    }
CLEARS(llama_kv_self_clear)
CLEARS(llama_kv_cache_clear)

#define REMOVES(name)                                                               \
    EXPORTED bool name(void *ctx, int32_t sequence, int32_t from, int32_t to) {     \
        if (from <= 0 && to < 0) recorded([&] { write_removed(ctx, sequence); });   \
        auto next = NEXT(name);                                                     \
        return next && next(ctx, sequence, from, to);                               \
    }
REMOVES(llama_kv_self_seq_rm)
REMOVES(llama_kv_cache_seq_rm)
