#include "frazil/index/index_verify.h"

#include <algorithm>
#include <set>

#include "frazil/index/entry_resolver.h"
#include "frazil/index/key_scan.h"
#include "frazil/index/shard_cursor.h"

namespace frazil::index {
namespace {

struct Row {
  FileNumber file = 0;
  uint32_t position = 0;
  int64_t row_id = EntryResolver::kNoRowId;
  auto operator<=>(const Row&) const = default;
};

/// The live rows that the entries of one key lead to.
Result<std::set<Row>> RowsOf(const std::vector<Entry>& entries, EntryResolver& resolver) {
  std::set<Row> rows;
  for (const Entry& entry : entries) {
    FRAZIL_ASSIGN(const EntryResolver::Place place, resolver.Resolve(entry.file, entry.position, entry.row_id));
    if (place.file != nullptr) rows.insert({place.file->number, place.position, place.row_id});
  }
  return rows;
}

Status FailAt(const IndexVersion& version, std::string_view what, const Row& row) {
  const FileState* state = version.dictionary.Find(row.file);
  return tl::unexpected(Error(ErrorCode::kCorruptData,
                              fmt::format("{}: position {} with _row_id {} of {}", what, row.position, row.row_id,
                                          state == nullptr ? "a file that is gone" : state->file->path))
                            .WithHint("delete the index's folder; it is built again"));
}

Status Compare(const IndexVersion& version, const std::set<Row>& expected, const std::set<Row>& found) {
  for (const Row& row : expected) {
    if (!found.contains(row)) return FailAt(version, "the index does not find a live row by its key", row);
  }
  for (const Row& row : found) {
    if (!expected.contains(row)) return FailAt(version, "the index finds a row by a key that is not its own", row);
  }
  return {};
}

/// Both sides come in order of the hash, so this is a merge.
Status CompareShard(const IndexVersion& version, const RunList& expected_runs, const RunList& runs) {
  EntryResolver resolver(version);
  ShardCursor expected_cursor(expected_runs);
  ShardCursor cursor(runs);
  std::vector<Entry> expected;
  std::vector<Entry> found;
  FRAZIL_ASSIGN(bool has_expected, expected_cursor.NextKey(expected));
  FRAZIL_ASSIGN(bool has_found, cursor.NextKey(found));
  while (has_expected || has_found) {
    const bool takes_expected = has_expected && (!has_found || expected.front().hash <= found.front().hash);
    const bool takes_found = has_found && (!has_expected || found.front().hash <= expected.front().hash);
    std::set<Row> expected_rows;
    std::set<Row> found_rows;
    if (takes_expected) {
      FRAZIL_ASSIGN(expected_rows, RowsOf(expected, resolver));
    }
    if (takes_found) {
      FRAZIL_ASSIGN(found_rows, RowsOf(found, resolver));
    }
    FRAZIL_TRY(Compare(version, expected_rows, found_rows));
    if (takes_expected) {
      FRAZIL_ASSIGN(has_expected, expected_cursor.NextKey(expected));
    }
    if (takes_found) {
      FRAZIL_ASSIGN(has_found, cursor.NextKey(found));
    }
  }
  return {};
}

/// The dictionary and the plan of a version must agree on what is live.
Result<std::vector<KeyScanJob>> JobsOf(const IndexVersion& version) {
  std::vector<KeyScanJob> jobs;
  std::unordered_map<std::string_view, const table::LiveDelete*> equality_deletes;
  for (const table::LiveDelete& file : version.files->deletes->deletes()) equality_deletes[file.file.file_path] = &file;
  size_t num_data_files = 0;
  Status status;
  version.dictionary.ForEach([&](const FileState& state) {
    if (!state.is_live || !status) return;
    KeyScanJob job{.number = state.file->number};
    if (state.file->content == spec::FileContent::kData) {
      ++num_data_files;
      job.data_file = version.FindTask(state.file->path);
    } else if (const auto found = equality_deletes.find(state.file->path); found != equality_deletes.end()) {
      job.equality_delete = found->second;
    }
    if (job.data_file == nullptr && job.equality_delete == nullptr) {
      status = Fail(ErrorCode::kCorruptData, "the index takes a file for live that is not: {}", state.file->path);
      return;
    }
    jobs.push_back(std::move(job));
  });
  FRAZIL_TRY(status);
  if (num_data_files != version.files->tasks.size()) {
    return Fail(ErrorCode::kCorruptData, "the index knows {} live files, but the snapshot has {}", num_data_files,
                version.files->tasks.size());
  }
  return jobs;
}

}  // namespace

Status VerifyVersion(const IndexVersion& version, const std::shared_ptr<io::FileIO>& io, const CanonicalKey& key,
                     EntrySorter& sorter, Executor* executor,
                     const std::function<void(int64_t, int64_t)>& on_progress) {
  for (const RunList& runs : version.shards) {
    for (const std::shared_ptr<const Run>& run : runs) FRAZIL_TRY(run->Verify());
  }
  FRAZIL_ASSIGN(const std::vector<KeyScanJob> jobs, JobsOf(version));
  KeyScan scan({.io = io, .plan = version.files.get(), .key = &key, .executor = executor, .on_progress = on_progress});
  FRAZIL_TRY(scan.Run(jobs, sorter));
  FRAZIL_ASSIGN(const std::vector<RunList> expected, sorter.Finish());
  for (size_t shard = 0; shard < version.shards.size(); ++shard) {
    FRAZIL_TRY(CompareShard(version, expected[shard], version.shards[shard]));
  }
  return {};
}

}  // namespace frazil::index
