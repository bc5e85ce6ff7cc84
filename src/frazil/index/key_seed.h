#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/table.h"

namespace frazil::index {

/// Table property: seed of the key hash, a decimal unsigned 64-bit number. Every index of the table uses it, so that hashes
/// can be compared (ingest.md, "Key version").
inline constexpr char kKeySeedProperty[] = "frazil.index.seed";

/// The seed of the property; none when it is not set: there is no index then. kInvalidTable naming a text that is none.
Result<std::optional<uint64_t>> FindKeySeed(const spec::TableMetadata& metadata);

/// The seed in CanonicalKey::version(); none when it is no such text.
std::optional<uint64_t> SeedOfKeyVersion(std::string_view key_version);

/// The seed of the index that a folder holds of this table; none: no index, a damaged one, or another table's.
std::optional<uint64_t> SeedOfIndex(const std::string& directory, const Uuid& table_uuid);

/// The table's seed. Where the property is missing it is set, compare-and-set: to `local` (SeedOfIndex), so that a lost
/// property costs no rebuild, else to a random one. Errors as of a commit.
Result<uint64_t> EnsureKeySeed(table::Table& table, std::optional<uint64_t> local, Clock& clock);

}  // namespace frazil::index
