// Linked with a whole libllama: `vocab PATH` reads a GGUF file as llama.cpp does.

#include "words.hpp"

const char * const VOCABULARY = "file";

// Made in main, where a lack of memory is an error. Kept to the end, and so are their models.
static std::vector<const llama_vocab *> & vocabularies() {
    static auto & all = *new std::vector<const llama_vocab *>{ nullptr };
    return all;
}

int read_vocabulary(Words & words) {
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    const std::string path = words.bytes();
    const llama_model * model = llama_model_load_from_file(path.c_str(), params);
    if (!model) {
        fprintf(stderr, "llama.cpp cannot load %s\n", path.c_str());
        exit(2);
    }
    vocabularies().push_back(llama_model_get_vocab(model));
    return (int) vocabularies().size() - 1;
}

const llama_vocab * vocabulary(int handle) {
    return vocabularies().at(handle);
}
