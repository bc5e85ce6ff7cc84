#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/test_support.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/index/model_table_test_support.h"

namespace frazil::index {

inline constexpr uint64_t kDiskTestSeed = 7;

/// A table of a model, and an index of it in a folder.
class KeyIndexDiskTest : public ::testing::Test {
 protected:
  KeyIndexDiskTest() {
    auto key = CanonicalKey::Make(*table_.schema(), kDiskTestSeed);
    EXPECT_THAT(key, IsOk());
    arrow::Int32Builder builder;
    for (int32_t id = 0; id < 64; ++id) EXPECT_TRUE(builder.Append(id).ok());
    const auto hashes = key->HashRows({*builder.Finish()});
    EXPECT_THAT(hashes, IsOk());
    for (size_t id = 0; id < 64; ++id) ids_[(*hashes)[id]] = static_cast<int64_t>(id);
    for (const auto& [hash, id] : ids_) sorted_.push_back(hash);
  }

  KeyIndexOptions Options() {
    return {.directory = folder_.path().string(),
            .table_uuid = table_.uuid(),
            .schema = table_.schema(),
            .seed = kDiskTestSeed,
            .num_shards = 4,
            .merge_in_background = false,
            .on_notice = [this](const std::string& line) { notices_.push_back(line); }};
  }
  Result<std::unique_ptr<KeyIndex>> TryOpen() { return OpenKeyIndex(Options()); }
  std::unique_ptr<KeyIndex> Open() {
    auto index = TryOpen();
    EXPECT_THAT(index, IsOk());
    return *std::move(index);
  }

  Status Follow(KeyIndex& index) {
    const table::Table table = table_.Handle();
    return index.FollowTo(table, table.metadata()->current_snapshot(), {});
  }

  std::string Insert(const std::vector<int64_t>& ids, std::vector<std::optional<int64_t>> row_ids = {}) {
    const auto file = table_.Write(ids, std::move(row_ids));
    table_.Add(file);
    table_.Commit();
    return file->path;
  }
  /// Reading the file would fail from now on.
  Bytes MakeUnreadable(const std::string& path) {
    Bytes bytes = *table_.io()->ReadFile(path);
    table_.io()->Overwrite(path, Bytes(4));
    return bytes;
  }

  /// What the index finds of ids 0 to 63.
  std::vector<ModelRow> Find(KeyIndex& index) {
    const auto found = index.LookUp(sorted_);
    EXPECT_THAT(found, IsOk());
    return found ? RowsOf(found->hits) : std::vector<ModelRow>();
  }
  std::vector<ModelRow> Find(const KeyIndexView& view) {
    const auto hits = view.LookUp(sorted_);
    EXPECT_THAT(hits, IsOk());
    return hits ? RowsOf(*hits) : std::vector<ModelRow>();
  }

  std::vector<std::string> FilesOf(const std::string& prefix) {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().filename().string().starts_with(prefix)) files.push_back(file.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  /// Changes one byte of every page's worth of a file, so that whatever page is read is damaged.
  static void DamagePages(const std::string& path) {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto pages = static_cast<std::streamoff>(std::filesystem::file_size(path) / 4096);
    for (std::streamoff page = 0; page < pages; ++page) {
      bytes.seekp(page * 4096 + 5);
      bytes.put('\x5a');
    }
  }

  TempDir folder_;
  ModelTable table_{3};
  std::vector<std::string> notices_;
  std::vector<Hash96> sorted_;  ///< of ids 0 to 63

 private:
  std::vector<ModelRow> RowsOf(const std::vector<KeyHit>& hits) {
    std::vector<ModelRow> rows;
    for (const KeyHit& hit : hits) {
      rows.push_back({ids_[sorted_[hit.key]], hit.file_path(), hit.position.value(),
                      hit.row_id ? std::optional(hit.row_id->value()) : std::nullopt});
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  std::map<Hash96, int64_t> ids_;
};

class KeyIndexForwardingTest : public KeyIndexDiskTest {
 protected:
  /// Rewrites whole files into one, rows in order, with a row map.
  std::string Rewrite(const std::vector<std::string>& paths) {
    table::RowMapWriter writer;
    std::vector<int64_t> ids;
    std::vector<std::optional<int64_t>> row_ids;
    std::vector<std::pair<uint32_t, int64_t>> lengths;
    for (const std::string& path : paths) {
      const ModelEntry& entry = table_.state().files.at(path);
      format::DeletionVector dropped;
      EXPECT_THAT(dropped.AddAll({std::vector<int64_t>(entry.dead.begin(), entry.dead.end())}), IsOk());
      const uint32_t source = writer.AddSource({.path = path,
                                                .sequence_number = spec::SequenceNumber(entry.sequence),
                                                .first_row_id = spec::RowId(*entry.first_row_id),
                                                .record_count = static_cast<int64_t>(entry.file->ids.size())},
                                               std::move(dropped));
      int64_t length = 0;
      for (const int64_t p : table_.state().LivePositions(entry)) {
        ids.push_back(entry.file->ids[static_cast<size_t>(p)]);
        row_ids.push_back(entry.RowIdAt(p));
        ++length;
      }
      lengths.emplace_back(source, length);
    }
    const auto file = table_.Write(ids, row_ids);
    const uint32_t output = writer.AddOutput({.path = file->path, .record_count = static_cast<int64_t>(ids.size())});
    int64_t start = 0;
    for (const auto& [source, length] : lengths) {
      EXPECT_THAT(writer.AddOrderKept(source, 0, output, start, length), IsOk());
      start += length;
    }
    row_map_ = table_.NewPath("rowmap");
    EXPECT_THAT(writer.Write(*table_.io(), row_map_), IsOk());
    for (const std::string& path : paths) table_.Remove(path);
    table_.Add(file);
    table_.Commit({{table::kRowMapSummaryKey, row_map_}});
    return file->path;
  }

  std::string row_map_;
};

inline std::vector<int64_t> Range(int64_t from, int64_t to) {
  std::vector<int64_t> ids;
  for (int64_t id = from; id < to; ++id) ids.push_back(id);
  return ids;
}

}  // namespace frazil::index
