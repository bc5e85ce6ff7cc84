// CALL system.rewrite_deletion_vectors: packs the live vectors of Puffins that hold dead ones, or few, into new ones.

#include <algorithm>
#include <map>

#include "frazil/maintain/foreseen_work.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/puffin_use.h"
#include "frazil/maintain/repack_deletes.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/vector_store.h"

namespace frazil::maintain {
namespace {

Result<DeletesToRepack> Choose(const table::Table& base, const table::LiveFiles& live, bool rewrite_all) {
  FRAZIL_ASSIGN(const std::vector<PuffinUse> puffins, FindPuffins(base, live));
  // Puffins of one partition that would fit into fewer ones.
  table::PartitionMap<std::vector<const PuffinUse*>> small_by_partition;
  DeletesToRepack chosen;
  FRAZIL_ASSIGN(const int64_t max_blobs, table::MaxBlobsPerPuffin(*base.metadata()));
  for (const PuffinUse& puffin : puffins) {
    const bool has_dead = puffin.num_dangling > 0 || puffin.has_dead_blobs;
    if (rewrite_all || has_dead) chosen.puffins.insert(puffin.path);
    if (!table::IsFullPuffin(puffin.num_live, puffin.live_bytes, max_blobs))
      small_by_partition[puffin.partition].push_back(&puffin);
  }
  for (const auto& [partition, small] : small_by_partition) {
    int64_t num_blobs = 0;
    int64_t bytes = 0;
    for (const PuffinUse* puffin : small) {
      num_blobs += puffin->num_live;
      bytes += puffin->live_bytes;
    }
    const auto count = [](int64_t all, int64_t in_one) { return (all + in_one - 1) / in_one; };
    const int64_t needed = std::max(count(num_blobs, max_blobs), count(bytes, table::kFullPuffinBytes));
    if (static_cast<int64_t>(small.size()) <= needed) continue;
    for (const PuffinUse* puffin : small) chosen.puffins.insert(puffin->path);
  }
  return chosen;
}

}  // namespace

Result<ForeseenWork> ForeseeRewriteDeletionVectors(const table::Table& table) {
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  if (head == nullptr) return ForeseenWork();
  FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(table, head));
  FRAZIL_ASSIGN(const DeletesToRepack chosen, Choose(table, live, false));
  std::map<std::string, int64_t> bytes_of;
  for (const table::LiveDelete& file : live.delete_files) bytes_of[file.file.file_path] = file.file.file_size_in_bytes;
  int64_t bytes = 0;
  for (const std::string& puffin : chosen.puffins) bytes += bytes_of[puffin];
  return ForeseeRewriteOf(static_cast<int64_t>(chosen.puffins.size()), bytes);
}

ProcedureDefinition RewriteDeletionVectorsDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "rewrite_deletion_vectors";
  definition.parameters = {TableParameter(), {"rewrite_all", ProcedureType::kBoolean}};
  definition.columns = {{"rewritten_puffin_files_count", ProcedureType::kLong},
                        {"added_puffin_files_count", ProcedureType::kLong},
                        {"rewritten_bytes_count", ProcedureType::kLong},
                        {"added_bytes_count", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    const bool rewrite_all = arguments.Truth("rewrite_all", false);
    const ChooseDeletes choose = [&](const table::Table& base, const table::LiveFiles& live) {
      return Choose(base, live, rewrite_all);
    };
    FRAZIL_ASSIGN(const RepackResult result, RepackWithHistory(table, choose, context, "rewrite_deletion_vectors",
                                                               rewrite_all ? nullptr : &ForeseeRewriteDeletionVectors));
    return std::vector<table::ProcedureRow>{
        {result.rewritten_files, result.added_files, result.rewritten_bytes, result.added_bytes}};
  };
  return definition;
}

}  // namespace frazil::maintain
