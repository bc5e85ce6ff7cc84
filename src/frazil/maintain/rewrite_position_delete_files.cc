// CALL system.rewrite_position_delete_files (spec section 9.3): on v3 position delete files become vectors, on v2 the many
// delete files of a data file become one. Per data file the union of everything that hides rows by position is written,
// never a part of it, so that no data file ends up with two vectors.

#include <algorithm>
#include <map>
#include <set>

#include "frazil/expr/evaluate.h"
#include "frazil/maintain/foreseen_work.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/repack_deletes.h"
#include "frazil/maintain/rewrite_data_files.h"

namespace frazil::maintain {
namespace {

struct Options {
  bool rewrite_all = false;
  int64_t min_input_files = 5;
  expr::ExpressionPtr where;
};

Result<Options> OptionsOf(const std::map<std::string, std::string>& given) {
  static const std::vector<std::string> kKnown = {"rewrite-all",
                                                  "min-input-files",
                                                  "target-file-size-bytes",
                                                  "min-file-size-bytes",
                                                  "max-file-size-bytes",
                                                  "max-file-group-size-bytes",
                                                  "max-concurrent-file-group-rewrites",
                                                  "partial-progress.enabled",
                                                  "partial-progress.max-commits",
                                                  "rewrite-job-order"};
  for (const auto& [key, text] : given) {
    if (std::count(kKnown.begin(), kKnown.end(), key) > 0) continue;
    if (key == "max-files-to-rewrite") {
      return tl::unexpected(
          Error(ErrorCode::kNotSupported,
                "rewrite_position_delete_files with max-files-to-rewrite is not supported yet: " + text)
              .WithHint("a condition (where) limits what is rewritten"));
    }
    const std::string nearest = spec::NearestName(key, kKnown);
    Error error(ErrorCode::kInvalidArgument, "rewrite_position_delete_files has no option " + key);
    return tl::unexpected(nearest.empty() ? std::move(error)
                                          : std::move(error).WithHint("did you mean " + nearest + "?"));
  }
  // By the same rules. The others shape groups of files; here a group is one data file.
  FRAZIL_ASSIGN(const RewriteOptions parsed, RewriteOptions::Parse(given));
  Options options;
  options.rewrite_all = parsed.rewrite_all;
  options.min_input_files = parsed.min_input_files;
  return options;
}

/// Which data files each position delete file hides rows of, as far as the index can tell.
class PositionDeletes {
 public:
  static Result<PositionDeletes> Make(const table::LiveFiles& live, const table::DeleteIndex& index) {
    PositionDeletes result;
    for (const table::LiveDelete& file : index.deletes()) {
      const bool is_ours = file.file.content == spec::FileContent::kPositionDeletes && !file.file.is_deletion_vector();
      if (is_ours) result.users_[&file];
    }
    for (const table::LiveDataFile& data_file : live.data_files) {
      FRAZIL_ASSIGN(const table::ApplicableDeletes deletes, index.For(data_file));
      for (const table::LiveDelete* file : deletes.position_deletes) {
        result.users_[file].push_back(&data_file);
        result.by_data_file_[&data_file].push_back(file);
      }
    }
    return result;
  }

  using Users = std::map<const table::LiveDelete*, std::vector<const table::LiveDataFile*>>;
  const Users& users() const { return users_; }
  const std::map<const table::LiveDataFile*, std::vector<const table::LiveDelete*>>& by_data_file() const {
    return by_data_file_;
  }

 private:
  Users users_;
  std::map<const table::LiveDataFile*, std::vector<const table::LiveDelete*>> by_data_file_;
};

Result<DeletesToRepack> Choose(const table::Table& base, const table::LiveFiles& live, const Options& options) {
  const spec::TableMetadata& metadata = *base.metadata();
  FRAZIL_ASSIGN(const table::DeleteIndex index, table::DeleteIndex::Make(live.delete_files, metadata));
  FRAZIL_ASSIGN(const PositionDeletes deletes, PositionDeletes::Make(live, index));
  const bool makes_vectors = metadata.format_version >= 3;
  DeletesToRepack chosen;
  if (!makes_vectors && !options.rewrite_all &&
      static_cast<int64_t>(deletes.users().size()) < options.min_input_files) {
    return chosen;
  }
  for (const auto& [data_file, files] : deletes.by_data_file()) {
    if (options.where && !expr::FileMayMatch(options.where, data_file->file, *metadata.schema())) continue;
    const bool is_alone = files.size() == 1 && table::IsScopedTo(files[0]->file, data_file->file.file_path);
    if (makes_vectors || options.rewrite_all || !is_alone) chosen.data_files.insert(data_file->file.file_path);
  }
  for (const auto& [file, users] : deletes.users()) {
    const bool is_covered = std::all_of(users.begin(), users.end(), [&](const table::LiveDataFile* user) {
      return chosen.data_files.contains(user->file.file_path);
    });
    // With a filter, a file that hides nothing is not known to be of the chosen part.
    if (is_covered && (!users.empty() || !options.where)) chosen.superfluous.push_back(spec::IdOf(file->file));
  }
  return chosen;
}

}  // namespace

Result<ForeseenWork> ForeseeRewritePositionDeleteFiles(const table::Table& table) {
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  if (head == nullptr) return ForeseenWork();
  FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(table, head));
  FRAZIL_ASSIGN(const DeletesToRepack chosen, Choose(table, live, Options()));
  std::map<std::string, int64_t> bytes_of;
  for (const table::LiveDelete& file : live.delete_files) bytes_of[file.file.file_path] = file.file.file_size_in_bytes;
  int64_t bytes = 0;
  for (const spec::DeleteFileId& id : chosen.superfluous) bytes += bytes_of[id.path];
  return ForeseeRewriteOf(static_cast<int64_t>(chosen.superfluous.size()), bytes);
}

ProcedureDefinition RewritePositionDeleteFilesDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "rewrite_position_delete_files";
  definition.parameters = {TableParameter(), {"options", ProcedureType::kStringMap}, {"where", ProcedureType::kString}};
  definition.columns = {{"rewritten_delete_files_count", ProcedureType::kInt},
                        {"added_delete_files_count", ProcedureType::kInt},
                        {"rewritten_bytes_count", ProcedureType::kLong},
                        {"added_bytes_count", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(Options options, OptionsOf(arguments.Map("options")));
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    if (const auto where = arguments.Text("where")) {
      FRAZIL_ASSIGN(options.where, ParseWhere(context, table, *where));
    }
    const ChooseDeletes choose = [&](const table::Table& base, const table::LiveFiles& live) {
      return Choose(base, live, options);
    };
    const bool is_usual = !options.rewrite_all && !options.where;
    FRAZIL_ASSIGN(const RepackResult result,
                  RepackWithHistory(table, choose, context, "rewrite_position_delete_files",
                                    is_usual ? &ForeseeRewritePositionDeleteFiles : nullptr,
                                    options.where ? table::FileMetrics::kKept : table::FileMetrics::kDropped));
    return std::vector<table::ProcedureRow>{
        {result.rewritten_files, result.added_files, result.rewritten_bytes, result.added_bytes}};
  };
  return definition;
}

}  // namespace frazil::maintain
