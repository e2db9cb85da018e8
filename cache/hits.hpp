// hits.hpp: how often entries were found on the disk, over all processes: a figure for people, never read by a lookup.
// Counted in memory; one append to the file `hits` when a store is closed, sweeps, or has counted for ten minutes.
// Inside the cache only.
#pragma once
#include <chrono>
#include <string>
#include <unordered_map>

#include "cache/layers.hpp"

namespace qd::cache {

// By path below the root. Lines that make no sense count as absent.
std::unordered_map<std::string, uint64_t> read_hits(int root);

// An empty file of counts, so that a program that only finds entries makes no file.
void make_hits(int root);

// Adds the counts of this process as lines, "<tier>/<digest> <count>". A large file is summed up first.
void append_hits(int root, const std::unordered_map<Key, uint32_t, KeyHash> &counts);

// One line an entry, none for entries that are gone. Beside running processes: what they append meanwhile may be lost.
void sum_up_hits(int root);

}  // namespace qd::cache
