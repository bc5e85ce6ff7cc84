#include "frazil/index/row_forwarding.h"

#include <algorithm>

#include "frazil/index/row_map_reading.h"

namespace frazil::index {
RowForwarding::RowForwarding(const table::Table& table, State state, NewFiles* new_files, MemoryBudget* budget,
                             std::function<void(const std::string&)> on_notice)
    : table_(table), state_(state), new_files_(new_files), budget_(budget), on_notice_(std::move(on_notice)) {
  for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
    const auto row_map = snapshot.summary.find(table::kRowMapSummaryKey);
    if (row_map != snapshot.summary.end()) row_map_of_[snapshot.sequence_number] = row_map->second;
  }
}

void RowForwarding::Notice(const std::string& line) const {
  if (on_notice_) on_notice_(line);
}

RowForwarding::Rewrite* RowForwarding::RewriteOf(const table::LiveDataFile& output) {
  const auto path = row_map_of_.find(output.file_sequence_number);
  if (path == row_map_of_.end()) return nullptr;
  const auto [found, is_new] = rewrites_.try_emplace(path->second);
  Rewrite& rewrite = found->second;
  if (is_new) {
    rewrite.path = path->second;
    if (const Status loaded = Load(rewrite); !loaded) {
      rewrite.row_map = nullptr;
      Notice("files of a rewrite are read again, since its row map cannot be: " + loaded.error().ToString());
    }
  }
  return rewrite.row_map == nullptr ? nullptr : &rewrite;
}

bool RowForwarding::CanForward(const IndexedFile& source, const table::RowMap::Source& recorded,
                               const spec::DataFile& output) const {
  // What the rewrite took for the keys of a source without own ones may be another than what the index did.
  return source.content == spec::FileContent::kData && source.has_own_keys &&
         source.sequence_number == recorded.sequence_number && source.first_row_id == recorded.first_row_id &&
         source.record_count == recorded.record_count &&
         // Rows that had no id at the source got one in the output, which the source's entries do not know.
         source.first_row_id.has_value() == output.first_row_id.has_value() && state_.gone.contains(source.number) &&
         !state_.incomplete.contains(source.number);
}

Result<std::optional<RowForwarding::Decision>> RowForwarding::Decide(const table::FileScanTask& output,
                                                                     FileNumber number) {
  const spec::DataFile& file = output.data_file.file;
  Rewrite* rewrite = RewriteOf(output.data_file);
  if (rewrite == nullptr) return std::nullopt;
  const table::RowMap& row_map = *rewrite->row_map;
  const auto& outputs = row_map.outputs();
  const auto named = std::find_if(outputs.begin(), outputs.end(), [&](const table::RowMap::Output& candidate) {
    return candidate.path == file.file_path;
  });
  if (named == outputs.end() || named->record_count != file.record_count) return std::nullopt;
  const auto output_index = static_cast<uint32_t>(named - outputs.begin());
  FRAZIL_ASSIGN(const LiveDeletes::Positions deleted, state_.from.deletes->Get(table_.io(), output));

  int64_t num_mapped = 0;
  std::map<FileNumber, uint32_t> sources;
  Decision decision;
  for (uint32_t source = 0; source < row_map.sources().size(); ++source) {
    const int64_t num_carried = rewrite->num_carried[source][output_index];
    if (num_carried == 0) continue;
    num_mapped += num_carried;
    const auto at_from = state_.live.find(row_map.sources()[source].path);
    if (at_from == state_.live.end()) return std::nullopt;
    const FileState& state = *state_.from.dictionary.Find(at_from->second);
    if (!CanForward(*state.file, row_map.sources()[source], file)) return std::nullopt;
    sources[at_from->second] = source;
    // Entries of rows that were dead at S may have been merged away. Where such a row is alive in the output (a rollback
    // came before the rewrite), no entry leads to it.
    auto dead_at_from = state_.from.deletes->GetByIdentity(table_.io(), *state.file, state.deletes_id);
    if (!dead_at_from) return std::nullopt;
    if (*dead_at_from == nullptr) continue;
    std::vector<std::optional<table::RowMap::Target>> targets;
    row_map.FindAll(source, (*dead_at_from)->ToPositions(), targets);
    for (const std::optional<table::RowMap::Target>& target : targets) {
      if (!target || target->output != output_index) continue;
      if (deleted != nullptr && deleted->Contains(target->position)) continue;
      FRAZIL_TRY(decision.to_scan.Add(target->position));
    }
  }
  // Rows that came from nowhere have no entries at all.
  if (num_mapped != file.record_count) return std::nullopt;
  rewrite->sources.merge(sources);
  rewrite->outputs[output_index] = number;
  return decision;
}

Status RowForwarding::Load(Rewrite& rewrite) {
  if (new_files_ == nullptr) {
    FRAZIL_ASSIGN(rewrite.row_map, ReadRowMap(*table_.io(), rewrite.path, budget_));
  } else {
    const std::string copy = new_files_->NewRowMapPath();
    io::FileIO& local = new_files_->directory().files();
    FRAZIL_TRY(CopyFile(*table_.io(), rewrite.path, local, copy));
    FRAZIL_ASSIGN(rewrite.row_map, ReadRowMap(local, copy, budget_));
    rewrite.file_name = copy.substr(copy.rfind('/') + 1);
  }
  rewrite.outputs.resize(rewrite.row_map->outputs().size());
  for (uint32_t source = 0; source < rewrite.row_map->sources().size(); ++source) {
    rewrite.num_carried.push_back(rewrite.row_map->CountCarried(source));
  }
  return {};
}

std::map<FileNumber, std::shared_ptr<const Forwarding>> RowForwarding::Finish() {
  std::map<FileNumber, std::shared_ptr<const Forwarding>> forwardings;
  for (auto& [path, rewrite] : rewrites_) {
    for (const auto& [number, source] : rewrite.sources) {
      forwardings[number] = std::make_shared<const Forwarding>(Forwarding{
          .row_map = rewrite.row_map, .file_name = rewrite.file_name, .source = source, .outputs = rewrite.outputs});
    }
  }
  return forwardings;
}

}  // namespace frazil::index
