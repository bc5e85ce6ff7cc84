#include "frazil/ingest/start_index.h"

#include "frazil/base/uuid.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/key_seed.h"
#include "frazil/ingest/landed_to_strike_out.h"

namespace frazil::ingest {
namespace {

void Notice(const StartIndexOptions& options, const std::string& line) {
  if (options.on_notice) options.on_notice(line);
}

void ForgetIndex(const StartIndexOptions& options) {
  if (options.directory.empty()) return;
  const auto folder = index::IndexDirectory::Open(options.directory, index::IndexDirectory::Access::kReadWrite);
  if (folder) (void)(*folder)->Clear();  // best effort: the next first ingest asks again anyway
}

}  // namespace

Result<StartedIndex> OpenStartIndex(table::Table& table, const StartIndexOptions& options, Clock& clock) {
  // An index that lives as long as this run needs no seed that others know.
  auto seed = static_cast<uint64_t>(RandomSnapshotNumber());
  if (!options.directory.empty()) {
    const std::optional<uint64_t> local = index::SeedOfIndex(options.directory, table.metadata()->table_uuid);
    FRAZIL_ASSIGN(seed, index::EnsureKeySeed(table, local, clock));
  }
  const spec::SchemaPtr schema = table.metadata()->schema();
  FRAZIL_ASSIGN(index::CanonicalKey key, index::CanonicalKey::Make(*schema, seed));
  StartedIndex started{
      .key = std::make_unique<index::CanonicalKey>(std::move(key)), .index = nullptr, .asks_for_duplicates = false};
  index::KeyIndexOptions index_options;
  index_options.directory = options.directory;
  index_options.table_uuid = table.metadata()->table_uuid.ToString();
  index_options.schema = schema;
  index_options.seed = seed;
  index_options.executor = options.executor;
  index_options.budget = options.budget;
  index_options.clock = &clock;
  index_options.on_notice = options.on_notice;
  index_options.on_progress = options.on_progress;
  auto opened = index::OpenKeyIndex(index_options);
  if (!opened && opened.error().code() == ErrorCode::kIo && !index_options.directory.empty()) {
    Notice(options, "the key index is built in memory for this run, since its folder cannot be used: " +
                        opened.error().ToString());
    index_options.directory.clear();
    opened = index::OpenKeyIndex(index_options);
  }
  FRAZIL_ASSIGN(started.index, std::move(opened));
  return started;
}

Status FollowFromStart(table::Table& table, StartedIndex& started, bool is_first_ingest,
                       const StartIndexOptions& options, Clock& clock) {
  // Duplicates that come later are the work of others while we were there, and the next change of such a key replaces
  // all its rows.
  if (is_first_ingest || !started.index->snapshot_id() || options.dedupe != Dedupe::kRefuse) {
    started.asks_for_duplicates = true;
  }
  FRAZIL_TRY(started.index->FollowTo(table, table.metadata()->current_snapshot(), {}));
  if (!started.asks_for_duplicates) return {};
  FRAZIL_ASSIGN(DuplicateKeys found, FindDuplicateKeys(table, *started.index));
  if (found.num_keys > 0) {
    // Others who think in partitions write rows anew whose older ones lie in landing files: those go with the next commit
    // anyhow, and are no reason to ask.
    FRAZIL_ASSIGN(const int64_t num_landed, StrikeOutLanded(table, *started.index, *started.key, clock));
    if (num_landed > 0) {
      Notice(options, StruckOutText(num_landed));
      FRAZIL_ASSIGN(found, FindDuplicateKeys(table, *started.index));
    }
  }
  if (found.num_keys == 0) {
    started.asks_for_duplicates = false;
    return {};
  }
  for (const std::string& example : found.examples) Notice(options, "duplicate key: " + example);
  if (options.dedupe == Dedupe::kRefuse) {
    // What a long build has kept already must not make the next start believe that all was well.
    started.index.reset();
    ForgetIndex(options);
    return tl::unexpected(
        Error(ErrorCode::kInvalidTable, fmt::format("{} keys have several live rows, {} besides the newest: {}",
                                                    found.num_keys, found.num_older_rows, table.name().ToString()))
            .WithHint("--dedupe newest keeps the newest row of each key and deletes the others"));
  }
  FRAZIL_ASSIGN(const int64_t num_deleted, DeleteOlderDuplicates(table, *started.index, clock));
  started.asks_for_duplicates = false;
  Notice(options, fmt::format("deleted {} rows that were not the newest of their key", num_deleted));
  return {};
}

bool HasSameKey(const spec::Schema& schema, const index::CanonicalKey& key) {
  const std::optional<uint64_t> seed = index::SeedOfKeyVersion(key.version());
  if (!seed) return false;
  const auto other = index::CanonicalKey::Make(schema, *seed);
  return other && other->version() == key.version();
}

void KeepIndex(StartedIndex& started, const StartIndexOptions& options) {
  if (started.index == nullptr) return;
  if (const Status kept = started.index->Checkpoint(); !kept) {
    Notice(options,
           "the key index of this run could not be kept, the next start reads the table: " + kept.error().ToString());
  }
}

}  // namespace frazil::ingest
