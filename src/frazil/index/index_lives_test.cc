#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>

#include "frazil/base/sync_point.h"
#include "frazil/base/test_support.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/index/model_table_test_support.h"

namespace frazil::index {
namespace {

constexpr uint64_t kSeed = 4711;
constexpr int64_t kNumIds = 10;

/// Hashes of the model's keys, sorted, and which key each is.
struct ModelKeys {
  std::vector<Hash96> sorted;
  std::vector<int64_t> ids;

  static const ModelKeys& Get() {
    static const ModelKeys keys = [] {
      auto schema = spec::Schema::Make(spec::SchemaId(0),
                                       {{.id = spec::FieldId(1),
                                         .name = "id",
                                         .required = true,
                                         .type = spec::Type::Primitive(spec::TypeId::kLong)}},
                                       {spec::FieldId(1)});
      auto key = CanonicalKey::Make(**schema, kSeed);
      arrow::Int64Builder builder;
      for (int64_t id = 0; id < kNumIds; ++id) EXPECT_TRUE(builder.Append(id).ok());
      const auto hashes = key->HashRows({*builder.Finish()});
      std::map<Hash96, int64_t> ordered;
      for (int64_t id = 0; id < kNumIds; ++id) ordered[(*hashes)[static_cast<size_t>(id)]] = id;
      ModelKeys made;
      for (const auto& [hash, id] : ordered) {
        made.sorted.push_back(hash);
        made.ids.push_back(id);
      }
      return made;
    }();
    return keys;
  }
  Hash96 HashOf(int64_t id) const {
    return sorted[static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin())];
  }
};

/// Holds merges between their end and their installation, so that follows come in between.
class MergeGate {
 public:
  MergeGate() {
    SyncPoint::Listen([this](std::string_view name) {
      if (name != "key_index.merge.after") return;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_open_; });
    });
  }
  ~MergeGate() {
    Set(true);
    SyncPoint::Listen({});
  }
  void Set(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
};

struct Totals {
  int64_t histories = 0;
  int64_t checks = 0;
  int64_t entries_forwarded = 0;
  int64_t row_maps = 0;
  int64_t repairs = 0;
};

/// One random life of a table and of an index that follows it now and then.
class Life {
 public:
  Life(uint64_t seed, MergeGate& gate, Totals& totals)
      : random_(seed),
        gate_(gate),
        totals_(totals),
        table_(Below(4) == 0 ? 2 : 3),
        story_(fmt::format("FRAZIL_TEST_SEED={}", seed)) {
    merges_in_background_ = Below(3) == 0;
    num_shards_ = uint32_t{1} << Below(3);
    if (Below(3) == 0) folder_ = std::make_unique<TempDir>();
    unique_keys_ = Below(2) == 0;
    Tell(fmt::format("version {}, {} shards{}{}", table_.format_version(), num_shards_,
                     merges_in_background_ ? ", merges in the background" : "", folder_ ? ", on disk" : ""));
  }

  void Live() {
    Open();
    const uint64_t num_steps = 6 + Below(14);
    for (uint64_t i = 0; i < num_steps && !::testing::Test::HasFailure(); ++i) {
      StepOfTable();
      if (Below(3) != 0) Follow();
      if (Below(3) == 0) StepOfIndex();
    }
    Follow();
    gate_.Set(true);
    Count();
    index_.reset();
  }

  const std::string& story() const { return story_; }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  void Tell(const std::string& line) { story_ += "\n  " + line; }
  int64_t Id() { return static_cast<int64_t>(Below(kNumIds)); }

  // ---- the index

  std::unique_ptr<KeyIndex> OpenAt(const std::string& directory) {
    auto index = OpenKeyIndex({.directory = directory,
                               .table_uuid = table_.uuid(),
                               .schema = table_.schema(),
                               .seed = kSeed,
                               .num_shards = num_shards_,
                               .checkpoint_entries = 12,
                               .merge_in_background = merges_in_background_});
    EXPECT_THAT(index, IsOk()) << story_;
    return *std::move(index);
  }
  void Open() { index_ = OpenAt(folder_ ? folder_->path().string() : ""); }

  void Count() {
    const KeyIndexStatus status = index_->status();
    totals_.entries_forwarded += status.entries_forwarded;
    totals_.row_maps += status.num_row_maps;
    totals_.repairs += static_cast<int64_t>(status.rebuilt_shards.size());
  }

  void Reopen(bool with_damage) {
    gate_.Set(true);
    if (Below(2) == 0) {
      ASSERT_THAT(index_->Checkpoint(), IsOk()) << story_;
    }
    Count();
    index_.reset();
    if (with_damage) Damage();
    Open();
  }

  /// Deletes, cuts or changes one of the index's files.
  void Damage() {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(folder_->path())) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("run-") || name.starts_with("rowmap-") || (name.starts_with("manifest-") && Below(4) == 0)) {
        files.push_back(file.path());
      }
    }
    if (files.empty()) return;
    std::sort(files.begin(), files.end());
    const std::filesystem::path& file = files[Below(files.size())];
    const auto size = std::filesystem::file_size(file);
    switch (Below(3)) {
      case 0: std::filesystem::remove(file); break;
      case 1: std::filesystem::resize_file(file, Below(size)); break;
      default: {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        const auto at = static_cast<std::streamoff>(Below(size));
        bytes.seekg(at);
        const int byte = bytes.get();
        bytes.seekp(at);
        bytes.put(static_cast<char>(byte ^ 0x40));
      }
    }
    Tell("damage " + file.filename().string());
  }

  void StepOfIndex() {
    switch (Below(5)) {
      case 0:
        Tell("wait for merges");
        gate_.Set(true);
        ASSERT_THAT(index_->WaitForMerges(), IsOk()) << story_;
        return;
      case 1:
        if (!merges_in_background_) return;
        Tell("hold merges");
        gate_.Set(false);
        return;
      case 2:
        Tell("let merges go");
        gate_.Set(true);
        return;
      case 3:
        if (!folder_) return;
        Tell("checkpoint");
        ASSERT_THAT(index_->Checkpoint(), IsOk()) << story_;
        return;
      default:
        if (!folder_) return;
        Tell("reopen");
        Reopen(Below(2) == 0);
    }
  }

  void Follow(const std::map<std::string, KnownKeys>& known = {}) {
    const table::Table table = table_.Handle();
    Tell("follow");
    ASSERT_THAT(index_->FollowTo(table, table.metadata()->current_snapshot(), known), IsOk()) << story_;
    Check();
  }

  std::vector<ModelRow> Find(KeyIndex& index) {
    const ModelKeys& keys = ModelKeys::Get();
    const auto found = index.LookUp(keys.sorted);
    EXPECT_THAT(found, IsOk()) << story_;
    std::vector<ModelRow> rows;
    if (!found) return rows;
    const std::vector<KeyHit>& hits = found->hits;
    for (size_t i = 0; i < hits.size(); ++i) {
      const KeyHit& hit = hits[i];
      if (i > 0 && hits[i - 1].key == hit.key) {
        EXPECT_GE(hits[i - 1].sequence_number(), hit.sequence_number()) << story_;
      }
      rows.push_back({keys.ids[hit.key], hit.file_path(), hit.position.value(),
                      hit.row_id ? std::optional(hit.row_id->value()) : std::nullopt});
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void Check() {
    ++totals_.checks;
    const std::vector<ModelRow> live = table_.LiveRows();
    ASSERT_EQ(Find(*index_), live) << story_;
    if (Below(4) == 0) {
      const std::unique_ptr<KeyIndex> rebuilt = OpenAt("");
      const table::Table table = table_.Handle();
      ASSERT_THAT(rebuilt->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk()) << story_;
      ASSERT_EQ(Find(*rebuilt), live) << story_;
    }
    if (Below(4) == 0) {
      ASSERT_THAT(index_->Verify(table_.Handle(), {}), IsOk()) << story_;
    }
    if (Below(4) == 0) CheckDuplicates(live);
  }

  void CheckDuplicates(const std::vector<ModelRow>& live) {
    std::map<Hash96, size_t> expected;
    for (const ModelRow& row : live) ++expected[ModelKeys::Get().HashOf(row.id)];
    std::erase_if(expected, [](const auto& key) { return key.second < 2; });
    std::map<Hash96, size_t> found;
    ASSERT_THAT(index_->View()->ForEachDuplicateKey([&](const Hash96& hash, const std::vector<KeyHit>& rows) -> Status {
      found[hash] = rows.size();
      return {};
    }),
                IsOk())
        << story_;
    ASSERT_EQ(found, expected) << story_;
  }

  // ---- the table

  std::vector<std::string> SomeFiles(uint64_t at_most) {
    std::vector<std::string> paths;
    for (const auto& [path, entry] : table_.state().files) paths.push_back(path);
    std::shuffle(paths.begin(), paths.end(), random_);
    paths.resize(std::min<size_t>(paths.size(), 1 + Below(at_most)));
    return paths;
  }

  std::set<int64_t> LiveIds() {
    std::set<int64_t> ids;
    for (const ModelRow& row : table_.LiveRows()) ids.insert(row.id);
    return ids;
  }

  void StepOfTable() {
    const uint64_t step = Below(32);
    if (step < 5) return Insert();
    if (step < 8) return Delete();
    if (step < 13) return Upsert();
    if (step < 20) return Rewrite();
    if (step < 22) return CopyOnWrite();
    if (step < 26) return MoveHead();
    switch (step) {
      case 26: return DeleteByKey();
      case 27: return Revive();
      case 28: return Below(2) == 0 ? Evolve() : MapKey();
      case 29: return ReplaceAll();
      case 30: return Upgrade();
      default:
        if (table_.state().files.empty()) return;
        Tell("expire all but the head");
        table_.ExpireAllButHead();
    }
  }

  std::string Part() { return Below(2) == 0 ? "x" : "y"; }

  void Insert() {
    std::vector<int64_t> ids;
    const std::set<int64_t> live = LiveIds();
    for (uint64_t i = 1 + Below(5); i > 0; --i) {
      const int64_t id = Below(12) == 0 ? kNullId : Id();
      if (unique_keys_ && id != kNullId && (live.contains(id) || std::find(ids.begin(), ids.end(), id) != ids.end()))
        continue;
      ids.push_back(id);
    }
    if (ids.empty()) return;
    if (Below(4) == 0) return InsertWithoutIds(ids);
    const auto file = table_.Write(ids, {}, Part());
    table_.Add(file);
    table_.Commit();
    Tell(fmt::format("insert {} as {}", fmt::join(ids, ","), file->path));
  }

  /// A file of somebody who knows no field ids; it has one column or two that could be the key.
  std::map<std::string, std::vector<int64_t>> ColumnsWithoutIds(const std::vector<int64_t>& ids) {
    if (!has_name_mapping_) MapKey();
    std::map<std::string, std::vector<int64_t>> columns = {{Below(3) == 0 ? "b" : "a", ids}};
    if (Below(3) != 0) {
      std::vector<int64_t>& others = columns.contains("a") ? columns["b"] : columns["a"];
      for (size_t i = 0; i < ids.size(); ++i) others.push_back(Below(12) == 0 ? kNullId : Id());
    }
    return columns;
  }
  static std::string Told(const std::map<std::string, std::vector<int64_t>>& columns) {
    std::string told;
    for (const auto& [name, ids] : columns) told += fmt::format(" {} = {}", name, fmt::join(ids, ","));
    return told;
  }

  void InsertWithoutIds(const std::vector<int64_t>& ids) {
    const std::map<std::string, std::vector<int64_t>> columns = ColumnsWithoutIds(ids);
    const auto file = table_.WriteWithoutIds(columns, Part());
    table_.Add(file);
    table_.Commit();
    Tell(fmt::format("insert without field ids{} as {}", Told(columns), file->path));
  }

  void MapKey() {
    has_name_mapping_ = true;
    const std::string column = Below(2) == 0 ? "a" : "b";
    const int64_t default_id = Id();
    Tell(fmt::format("the key without field ids is {} from now on, where it is missing {}", column, default_id));
    table_.MapKeyTo(column, default_id);
  }

  void Delete() {
    for (const std::string& path : SomeFiles(2)) {
      std::set<int64_t> positions;
      const ModelEntry& entry = table_.state().files.at(path);
      for (const int64_t p : table_.state().LivePositions(entry)) {
        if (Below(2) == 0) positions.insert(p);
      }
      if (positions.empty()) continue;
      Tell(fmt::format("delete {} of {}", fmt::join(positions, ","), path));
      table_.Kill(path, positions);
      if (entry.dead.size() == entry.file->ids.size() && Below(2) == 0) {
        table_.Remove(path);
        Tell("which goes");
      }
    }
    table_.Commit();
  }

  /// As an ingest does it: everything it knows comes from the index.
  void Upsert() {
    if (table_.format_version() < 3) return;
    Follow();
    if (::testing::Test::HasFailure()) return;
    std::set<int64_t> ids;
    for (uint64_t i = 1 + Below(3); i > 0; --i) ids.insert(Id());
    std::map<int64_t, std::optional<int64_t>> row_ids;
    const ModelKeys& keys = ModelKeys::Get();
    std::vector<Hash96> sorted;
    std::vector<int64_t> id_of;
    for (size_t i = 0; i < keys.sorted.size(); ++i) {
      if (!ids.contains(keys.ids[i])) continue;
      sorted.push_back(keys.sorted[i]);
      id_of.push_back(keys.ids[i]);
    }
    const auto found = index_->LookUp(sorted);
    ASSERT_THAT(found, IsOk()) << story_;
    std::map<std::string, std::set<int64_t>> killed;
    for (const KeyHit& hit : found->hits) {
      killed[hit.file_path()].insert(hit.position.value());
      row_ids.try_emplace(id_of[hit.key], hit.row_id ? std::optional(hit.row_id->value()) : std::nullopt);
    }
    std::vector<std::optional<int64_t>> stored;
    KnownKeys known;
    for (const int64_t id : ids) {
      stored.push_back(row_ids.contains(id) ? row_ids[id] : std::nullopt);
      known.hashes.push_back(keys.HashOf(id));
      known.stored_row_ids.push_back(stored.back() ? std::optional(spec::RowId(*stored.back())) : std::nullopt);
    }
    const auto file = table_.Write({ids.begin(), ids.end()}, stored, Part());
    for (const auto& [path, positions] : killed) table_.Kill(path, positions);
    table_.Add(file);
    table_.Commit();
    Tell(fmt::format("upsert {} as {}", fmt::join(ids, ","), file->path));
    if (Below(3) != 0) Follow({{file->path, known}});
  }

  struct MovedRow {
    uint32_t source;
    int64_t position;
    int64_t id;
    std::optional<int64_t> row_id;
    bool is_dead;  // by now
  };

  /// Maybe planned on an older state, then committed on this one by the state rule (maintenance.md section 1).
  void Rewrite() {
    const std::vector<std::string> paths = SomeFiles(3);
    if (paths.empty()) return;
    const ModelState& now = table_.state();
    const ModelState* plan = &now;
    for (const auto& [id, old] : table_.history()) {
      if (Below(2) == 0 && CanBePlannedOn(old, paths)) plan = &old;
    }
    std::vector<std::vector<MovedRow>> of_source;
    std::vector<format::DeletionVector> dropped(paths.size());
    for (uint32_t source = 0; source < paths.size(); ++source) {
      const ModelEntry& entry = plan->files.at(paths[source]);
      const ModelEntry& entry_now = now.files.at(paths[source]);
      std::vector<MovedRow>& rows = of_source.emplace_back();
      const std::vector<int64_t> live = plan->LivePositions(entry);
      const std::vector<int64_t> live_now = now.LivePositions(entry_now);
      for (int64_t p = 0; p < static_cast<int64_t>(entry.file->ids.size()); ++p) {
        if (std::find(live.begin(), live.end(), p) == live.end()) {
          EXPECT_THAT(dropped[source].Add(spec::RowPosition(p)), IsOk());
          continue;
        }
        const bool is_dead = std::find(live_now.begin(), live_now.end(), p) == live_now.end();
        rows.push_back({source, p, entry.file->ids[static_cast<size_t>(p)], entry.RowIdAt(p), is_dead});
      }
    }
    std::vector<MovedRow> rows;
    const uint64_t kind = Below(3);
    if (kind == 1) {
      std::vector<size_t> next(of_source.size());
      for (;;) {
        std::vector<uint32_t> open;
        for (uint32_t s = 0; s < of_source.size(); ++s) {
          if (next[s] < of_source[s].size()) open.push_back(s);
        }
        if (open.empty()) break;
        const uint32_t source = open[Below(open.size())];
        rows.push_back(of_source[source][next[source]++]);
      }
    } else {
      for (const auto& of_one : of_source) rows.insert(rows.end(), of_one.begin(), of_one.end());
      if (kind == 2) std::shuffle(rows.begin(), rows.end(), random_);
    }
    const size_t cut = Below(3) == 0 ? Below(rows.size() + 1) : rows.size();
    std::vector<std::vector<MovedRow>> outputs;
    if (cut > 0) outputs.emplace_back(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(cut));
    if (cut < rows.size()) outputs.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(cut), rows.end());
    CommitRewrite(paths, *plan, std::move(dropped), kind, outputs);
  }

  bool CanBePlannedOn(const ModelState& old, const std::vector<std::string>& paths) {
    const ModelState& now = table_.state();
    const auto sequences = [](const ModelState& state) {
      std::vector<int64_t> all;
      for (const ModelEqualityDelete& by : state.equality_deletes) all.push_back(by.sequence);
      return all;
    };
    if (sequences(old) != sequences(now)) return false;
    return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
      const auto before = old.files.find(path);
      if (before == old.files.end() || !before->second.IsSame(now.files.at(path))) return false;
      const std::set<int64_t>& dead = now.files.at(path).dead;
      return std::includes(dead.begin(), dead.end(), before->second.dead.begin(), before->second.dead.end());
    });
  }

  void CommitRewrite(const std::vector<std::string>& paths, const ModelState& plan,
                     std::vector<format::DeletionVector> dropped, uint64_t kind,
                     const std::vector<std::vector<MovedRow>>& outputs) {
    static constexpr const char* kKinds[] = {"order kept", "merged", "sorted"};
    const bool keeps_row_ids = table_.format_version() >= 3;
    table::RowMapWriter writer;
    const bool wrong_identity = Below(16) == 0;
    for (size_t source = 0; source < paths.size(); ++source) {
      const ModelEntry& entry = plan.files.at(paths[source]);
      writer.AddSource(
          {.path = paths[source],
           .sequence_number = spec::SequenceNumber(entry.sequence + (wrong_identity ? 1 : 0)),
           .first_row_id = entry.first_row_id ? std::optional(spec::RowId(*entry.first_row_id)) : std::nullopt,
           .record_count = static_cast<int64_t>(entry.file->ids.size())},
          std::move(dropped[source]));
    }
    std::vector<std::pair<std::string, std::set<int64_t>>> dead;
    std::vector<int64_t> next_of_source(paths.size());
    std::vector<std::shared_ptr<const ModelFile>> files;
    for (const std::vector<MovedRow>& rows : outputs) {
      std::vector<int64_t> ids;
      std::vector<std::optional<int64_t>> row_ids;
      std::set<int64_t> dead_here;
      for (const MovedRow& row : rows) {
        if (row.is_dead) dead_here.insert(static_cast<int64_t>(ids.size()));
        ids.push_back(row.id);
        if (keeps_row_ids) row_ids.push_back(row.row_id);
      }
      files.push_back(table_.Write(ids, row_ids, Part()));
      const uint32_t output =
          writer.AddOutput({.path = files.back()->path, .record_count = static_cast<int64_t>(ids.size())});
      TellRowMap(writer, kind, output, rows, next_of_source);
      dead.emplace_back(files.back()->path, std::move(dead_here));
    }
    std::string how = "without row map";
    std::map<std::string, std::string> summary;
    if (!files.empty() && Below(6) != 0) {
      const std::string path = table_.NewPath("rowmap");
      EXPECT_THAT(writer.Write(*table_.io(), path), IsOk()) << story_;
      summary[table::kRowMapSummaryKey] = path;
      how = "with row map";
      if (Below(10) == 0) {
        how = "with lost row map";
        EXPECT_THAT(table_.io()->Delete({path}), IsOk());
      } else if (Below(10) == 0) {
        how = "with cut row map";
        const Bytes bytes = *table_.io()->ReadFile(path);
        table_.io()->Overwrite(path,
                               Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(Below(bytes.size()))));
      }
    }
    for (const std::string& path : paths) table_.Remove(path);
    for (const auto& file : files) table_.Add(file);
    for (const auto& [path, positions] : dead) {
      if (!positions.empty()) table_.Kill(path, positions);
    }
    table_.Commit(std::move(summary));
    std::string made;
    for (const auto& file : files) made += " " + file->path;
    Tell(fmt::format("rewrite ({}, {}{}{}) {} to{}", kKinds[kind], how,
                     &plan == &table_.state() ? "" : ", planned earlier", wrong_identity ? ", other identity" : "",
                     fmt::join(paths, " "), made));
  }

  static void TellRowMap(table::RowMapWriter& writer, uint64_t kind, uint32_t output, const std::vector<MovedRow>& rows,
                         std::vector<int64_t>& next_of_source) {
    for (size_t begin = 0; begin < rows.size();) {
      const uint32_t source = rows[begin].source;
      size_t end = begin + 1;
      while (kind != 2 && end < rows.size() && rows[end].source == source) ++end;
      const auto length = static_cast<int64_t>(end - begin);
      if (kind == 0) {
        EXPECT_THAT(writer.AddOrderKept(source, next_of_source[source], output, static_cast<int64_t>(begin), length),
                    IsOk());
        next_of_source[source] = rows[end - 1].position + 1;
      } else if (kind == 1) {
        EXPECT_THAT(writer.AddMerged(output, source, length), IsOk());
      } else {
        EXPECT_THAT(writer.AddSorted(source, spec::RowPosition(rows[begin].position), output,
                                     spec::RowPosition(static_cast<int64_t>(begin))),
                    IsOk());
      }
      begin = end;
    }
  }

  void CopyOnWrite() {
    for (const std::string& path : SomeFiles(1)) {
      const ModelEntry entry = table_.state().files.at(path);
      std::vector<int64_t> ids;
      std::vector<std::optional<int64_t>> row_ids;
      for (const int64_t p : table_.state().LivePositions(entry)) {
        if (Below(3) == 0) continue;
        ids.push_back(entry.file->ids[static_cast<size_t>(p)]);
        if (table_.format_version() >= 3) row_ids.push_back(entry.RowIdAt(p));
      }
      table_.Remove(path);
      if (!ids.empty()) table_.Add(table_.Write(ids, row_ids, Part()));
      table_.Commit();
      Tell("copy on write of " + path);
    }
  }

  void ReplaceAll() {
    std::vector<std::string> paths;
    for (const auto& [path, entry] : table_.state().files) paths.push_back(path);
    for (const std::string& path : paths) table_.Remove(path);
    table_.DropEqualityDeletes();
    table_.Add(table_.Write({Id()}, {}, Part()));
    table_.Commit();
    Tell("replace everything");
  }

  void MoveHead() {
    if (table_.history().empty()) return;
    auto chosen = table_.history().begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(Below(table_.history().size())));
    Tell(fmt::format("set the head to {}", chosen->first));
    table_.SetHead(chosen->first);
  }

  void DeleteByKey() {
    if (!table_.state().equality_deletes.empty() && Below(3) == 0) {
      Tell("drop the equality deletes");
      table_.DropEqualityDeletes();
    } else {
      const std::set<int64_t> ids = {Id(), Below(8) == 0 ? kNullId : Id()};
      const auto part = Below(2) == 0 ? std::nullopt : std::optional(Part());
      if (Below(4) == 0) {
        if (!has_name_mapping_) MapKey();
        // Both columns: a delete file without a column of its keys is an error.
        const std::map<std::string, std::vector<int64_t>> columns = {{"a", {ids.begin(), ids.end()}},
                                                                     {"b", std::vector<int64_t>(ids.size(), Id())}};
        Tell(fmt::format("delete keys without field ids{} in {}", Told(columns), part.value_or("all partitions")));
        table_.DeleteByKeyWithoutIds(columns, part);
      } else {
        Tell(fmt::format("delete keys {} in {}", fmt::join(ids, ","), part.value_or("all partitions")));
        table_.DeleteByKey(ids, part);
      }
    }
    table_.Commit();
  }

  void Revive() {
    if (table_.format_version() < 3) return;
    for (const std::string& path : SomeFiles(1)) {
      Tell("take back the deletes of " + path);
      table_.Revive(path);
      table_.Commit();
    }
  }

  void Evolve() {
    switch (Below(3)) {
      case 0:
        Tell("the key is a long from now on");
        is_long_ = true;
        break;
      case 1: Tell("the key is renamed"); break;
      default: {
        const bool use = Below(2) == 0;
        Tell(use ? "partitions from now on" : "no partitions from now on");
        return table_.UsePartitions(use);
      }
    }
    table_.Evolve(is_long_ ? spec::TypeId::kLong : spec::TypeId::kInt, fmt::format("key{}", Below(5)));
  }

  void Upgrade() {
    if (table_.format_version() >= 3) return;
    Tell("upgrade");
    table_.Upgrade();
    table_.Commit();
  }

  std::mt19937_64 random_;
  MergeGate& gate_;
  Totals& totals_;
  ModelTable table_;
  std::string story_;
  bool merges_in_background_ = false;
  bool unique_keys_ = false;
  bool is_long_ = false;
  bool has_name_mapping_ = false;
  uint32_t num_shards_ = 1;
  std::unique_ptr<TempDir> folder_;
  std::unique_ptr<KeyIndex> index_;
};

uint64_t NumberFromEnvironment(const char* name, uint64_t fallback) {
  const char* given = std::getenv(name);
  return given == nullptr ? fallback : std::strtoull(given, nullptr, 10);
}

constexpr uint64_t kNumShards = 4;

/// Some of the histories, so that several processes can run them beside each other.
class IndexModel : public ::testing::TestWithParam<uint64_t> {};

// FRAZIL_TEST_SEED repeats one life, FRAZIL_TEST_HISTORIES says how many are tried by all shards together.
TEST_P(IndexModel, EveryLiveRowIsFoundAndNothingElseWhateverHappens) {
  const bool is_repeat = std::getenv("FRAZIL_TEST_SEED") != nullptr;
  if (is_repeat && GetParam() != 0) GTEST_SKIP() << "the first shard repeats the life of FRAZIL_TEST_SEED";
  const uint64_t first = NumberFromEnvironment("FRAZIL_TEST_SEED", std::random_device{}());
  const uint64_t count = is_repeat ? 1 : NumberFromEnvironment("FRAZIL_TEST_HISTORIES", 2000) / kNumShards;
  std::cout << fmt::format("seeds from {}", first) << std::endl;  // a crash tells no more
  MergeGate gate;
  Totals totals;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Life life(seed, gate, totals);
    life.Live();
    ++totals.histories;
    if (HasFailure()) {
      ADD_FAILURE() << life.story();
      return;
    }
  }
  std::cout << fmt::format(
      "seeds {} to {}: {} checks, {} entries forwarded, {} row maps in use at the end, {} repairs\n", first,
      first + count - 1, totals.checks, totals.entries_forwarded, totals.row_maps, totals.repairs);
  if (count >= 50) {
    EXPECT_GT(totals.row_maps, 0);
    EXPECT_GT(totals.entries_forwarded, 0);
    EXPECT_GT(totals.repairs, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Shards, IndexModel, ::testing::Range(uint64_t{0}, kNumShards));

}  // namespace
}  // namespace frazil::index
