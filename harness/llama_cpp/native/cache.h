// Payloads that were read, kept for their next use, in any thread.
#pragma once

#include "payload.h"

#include <list>
#include <mutex>
#include <unordered_map>

namespace token_trie {

constexpr size_t CACHE_SIZE = 128;

struct Entry {
    std::string json;
    Payload payload;
    int users;
};

// By their JSON, the least recently used first. Beyond CACHE_SIZE those of them go that no sampler
// uses; where all are in use the cache grows, for what is in use cannot go.
struct Cache {
    std::mutex mutex;  // of all below
    std::list<Entry> entries;
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_json;

    Entry * acquire(std::string_view json) {
        std::lock_guard<std::mutex> guard(mutex);
        auto known = by_json.find(json);
        if (known == by_json.end()) {
            std::list<Entry> made;  // until it is known by its JSON: then nothing fails any more
            made.push_back({std::string(json), Reader(json).payload(), 0});
            known = by_json.emplace(made.back().json, made.begin()).first;
            entries.splice(entries.end(), made);
        }
        entries.splice(entries.end(), entries, known->second);
        known->second->users++;
        drop();
        return &*known->second;
    }

    void acquire(Entry * entry) {
        std::lock_guard<std::mutex> guard(mutex);
        entry->users++;
    }

    void release(Entry * entry) {
        std::lock_guard<std::mutex> guard(mutex);
        entry->users--;
        drop();
    }

    void drop() {
        for (auto at = entries.begin(); entries.size() > CACHE_SIZE && at != entries.end();) {
            if (at->users == 0) {
                by_json.erase(at->json);
                at = entries.erase(at);
            } else {
                ++at;
            }
        }
    }
};

// One use of a payload that was read.
struct Use {
    Cache & cache;
    Entry * entry;

    Use(Cache & cache, std::string_view json) : cache(cache), entry(cache.acquire(json)) {}
    Use(const Use & other) : cache(other.cache), entry(other.entry) { cache.acquire(entry); }
    ~Use() { cache.release(entry); }
};

}  // namespace token_trie

// As C knows it.
struct token_trie_cache : token_trie::Cache {};
