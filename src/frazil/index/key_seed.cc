#include "frazil/index/key_seed.h"

#include <charconv>

#include "frazil/base/uuid.h"
#include "frazil/index/index_directory.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::index {
namespace {

std::optional<uint64_t> ParseWhole(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::optional<uint64_t>> FindKeySeed(const spec::TableMetadata& metadata) {
  const auto found = metadata.properties.find(kKeySeedProperty);
  if (found == metadata.properties.end()) return std::nullopt;
  const std::optional<uint64_t> seed = ParseWhole(found->second, 10);
  if (!seed) {
    return tl::unexpected(Error(ErrorCode::kInvalidTable,
                                fmt::format("table property {} is no number: '{}'", kKeySeedProperty, found->second))
                              .WithHint("unset it; the next ingest sets it again"));
  }
  return seed;
}

std::optional<uint64_t> SeedOfKeyVersion(std::string_view key_version) {
  constexpr std::string_view kStart = "1 seed ";
  constexpr size_t kDigits = 16;
  if (!key_version.starts_with(kStart) || key_version.size() < kStart.size() + kDigits) return std::nullopt;
  return ParseWhole(key_version.substr(kStart.size(), kDigits), 16);
}

std::optional<uint64_t> SeedOfIndex(const std::string& directory, const Uuid& table_uuid) {
  const auto opened = IndexDirectory::Open(directory, IndexDirectory::Access::kReadOnly);
  if (!opened) return std::nullopt;
  const auto manifest = (*opened)->ReadManifest();
  if (!manifest || !*manifest || (*manifest)->table_uuid != table_uuid.ToString()) return std::nullopt;
  return SeedOfKeyVersion((*manifest)->key_version);
}

Result<uint64_t> EnsureKeySeed(table::Table& table, std::optional<uint64_t> local, Clock& clock) {
  FRAZIL_ASSIGN(std::optional<uint64_t> seed, FindKeySeed(*table.metadata()));
  if (seed) return *seed;
  const uint64_t wanted = local ? *local : static_cast<uint64_t>(RandomSnapshotNumber());
  FRAZIL_TRY(table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        FRAZIL_ASSIGN(seed, FindKeySeed(base));
        if (seed) return std::vector<spec::TableUpdate>{};  // somebody was faster
        return std::vector<spec::TableUpdate>{
            spec::update::SetProperties{{{kKeySeedProperty, fmt::format("{}", wanted)}}}};
      },
      clock));
  FRAZIL_ASSIGN(seed, FindKeySeed(*table.metadata()));
  if (!seed) return Fail(ErrorCode::kInternal, "table property {} did not come to stay", kKeySeedProperty);
  return *seed;
}

}  // namespace frazil::index
