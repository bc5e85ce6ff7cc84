#include "frazil/maintain/imported_file.h"

#include <algorithm>
#include <set>

#include "frazil/format/parquet_reader.h"
#include "frazil/maintain/file_place.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/single_value.h"
#include "frazil/write/column_metrics.h"

namespace frazil::maintain {
namespace {

constexpr char kNullFolder[] = "__HIVE_DEFAULT_PARTITION__";

/// Sums up row groups. A column that one of them says nothing of has no bounds.
class FileMetrics {
 public:
  void Add(const format::ParquetMetrics& group) {
    metrics_.record_count += group.record_count;
    for (const auto& [id, size] : group.column_sizes) metrics_.column_sizes[id] += size;
    for (const auto& [id, count] : group.value_counts) {
      metrics_.value_counts[id] += count;
      const auto nulls = group.null_value_counts.find(id);
      const bool has_bounds = group.lower_bounds.contains(id) && group.upper_bounds.contains(id);
      const bool is_all_null = nulls != group.null_value_counts.end() && nulls->second == count;
      if (nulls == group.null_value_counts.end()) {
        without_null_count_.insert(id);
      } else {
        metrics_.null_value_counts[id] += nulls->second;
      }
      if (!has_bounds && !is_all_null) without_bounds_.insert(id);
    }
    for (const auto& [id, value] : group.lower_bounds) Widen(metrics_.lower_bounds, id, value, -1);
    for (const auto& [id, value] : group.upper_bounds) Widen(metrics_.upper_bounds, id, value, 1);
  }

  /// With the bounds in the types of the table.
  format::ParquetMetrics Finish(const spec::Schema& schema) {
    for (const spec::FieldId id : without_null_count_) metrics_.null_value_counts.erase(id);
    for (auto* bounds : {&metrics_.lower_bounds, &metrics_.upper_bounds}) {
      for (const spec::FieldId id : without_bounds_) bounds->erase(id);
      for (auto bound = bounds->begin(); bound != bounds->end();) {
        const spec::Field* field = schema.FindField(bound->first);
        bound = field == nullptr || !Promote(bound->second, field->type) ? bounds->erase(bound) : std::next(bound);
      }
    }
    return std::move(metrics_);
  }

 private:
  static void Widen(std::map<spec::FieldId, spec::Value>& bounds, spec::FieldId id, const spec::Value& value,
                    int direction) {
    const auto [found, is_new] = bounds.try_emplace(id, value);
    if (is_new) return;
    const auto order = spec::CompareValues(value, found->second);
    if (direction < 0 ? order < 0 : order > 0) found->second = value;
  }

  /// False: no bound of that type can be told.
  static bool Promote(spec::Value& value, const spec::Type& type) {
    switch (type.id()) {
      case spec::TypeId::kLong:
        if (const auto* number = std::get_if<int32_t>(&value)) value = int64_t{*number};
        return std::holds_alternative<int64_t>(value);
      case spec::TypeId::kDouble:
        if (const auto* number = std::get_if<float>(&value)) value = double{*number};
        return std::holds_alternative<double>(value);
      case spec::TypeId::kInt:
      case spec::TypeId::kDate: return std::holds_alternative<int32_t>(value);
      case spec::TypeId::kFloat: return std::holds_alternative<float>(value);
      case spec::TypeId::kBoolean: return std::holds_alternative<bool>(value);
      case spec::TypeId::kString: return std::holds_alternative<std::string>(value);
      // Of other writers these come in several units and scales: a bound is not worth a wrong one.
      default: return false;
    }
  }

  format::ParquetMetrics metrics_;
  std::set<spec::FieldId> without_bounds_;
  std::set<spec::FieldId> without_null_count_;
};

/// Columns are found by id, or by name as the mapping spells it: a file of another table, or of other spelling, would be read
/// as one that has nulls, or the values of another column.
Status CheckNames(const format::ParquetReader& reader, const spec::Schema& schema) {
  if (reader.HasField(spec::kRowIdColumnId) || reader.HasField(spec::kLastUpdatedSequenceNumberColumnId)) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, "a file holds row ids, which are another table's: " + reader.path())
            .WithHint("INSERT INTO ... SELECT * FROM 'file.parquet' gives its rows new ones"));
  }
  for (const auto& [name, id] : reader.columns()) {
    const auto same = std::ranges::find_if(
        schema.fields(), [&, &name = name](const spec::Field& field) { return spec::EqualsAnyCase(field.name, name); });
    if (same == schema.fields().end() || id == same->id) continue;
    if (!id && reader.HasField(same->id)) continue;
    return Fail(ErrorCode::kInvalidArgument, "a file's column '{}' is not the table's '{}' by {}: {}", name, same->name,
                id ? "its id" : "the table's name mapping", reader.path());
  }
  return {};
}

/// A partition's value stands for every row of a file: one that has the column, too, must not say otherwise.
Status CheckPartition(const format::ParquetReader& reader, const ImportRules& rules, const format::ParquetMetrics& sums,
                      const spec::PartitionTuple& partition) {
  const spec::PartitionSpec& spec = *rules.metadata->FindSpec(rules.metadata->default_spec_id);
  for (size_t i = 0; i < spec.fields().size(); ++i) {
    const spec::FieldId column = spec.fields()[i].source_id;
    if (!reader.HasField(column)) continue;
    const auto nulls = sums.null_value_counts.find(column);
    const int64_t expected_nulls = spec::IsNull(partition[i]) ? sums.record_count : 0;
    bool is_same = nulls != sums.null_value_counts.end() && nulls->second == expected_nulls;
    if (is_same && expected_nulls == 0) {
      const auto low = sums.lower_bounds.find(column);
      const auto high = sums.upper_bounds.find(column);
      is_same = low != sums.lower_bounds.end() && high != sums.upper_bounds.end() &&
                spec::SameValue(low->second, partition[i]) && spec::SameValue(high->second, partition[i]);
    }
    if (is_same) continue;
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("a file has the partition's column itself, and its footer does not prove that all rows have "
                          "the folder's value, {}: {}",
                          spec.fields()[i].name, reader.path()))
            .WithHint("INSERT INTO ... SELECT * FROM 'folder/*.parquet' writes the rows into their partitions"));
  }
  return {};
}

/// Whether the table can read the file: types fit, and what is required is there.
Status CheckReadable(const format::ParquetReader& reader, const ImportRules& rules,
                     const std::set<spec::FieldId>& from_partition) {
  const spec::Schema& schema = *rules.metadata->schema();
  std::vector<spec::Field> columns;
  FRAZIL_TRY(CheckNames(reader, schema));
  const bool has_any = std::any_of(schema.fields().begin(), schema.fields().end(),
                                   [&](const spec::Field& field) { return reader.HasField(field.id); });
  if (!has_any) return Fail(ErrorCode::kInvalidArgument, "a file has no column of the table: {}", reader.path());
  for (const spec::Field& field : schema.fields()) {
    if (from_partition.contains(field.id) && !reader.HasField(field.id)) continue;
    if (field.required && !reader.HasField(field.id) && spec::IsNull(field.initial_default)) {
      return Fail(ErrorCode::kInvalidArgument, "a file lacks a required column, {}: {}", field.name, reader.path());
    }
    columns.push_back(field);
  }
  const auto read = reader.Read(columns, {});
  if (read) return {};
  Error error(ErrorCode::kInvalidArgument, "the table cannot read a file: " + reader.path());
  return tl::unexpected(std::move(error).WithContext(read.error().ToString()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PartitionFolders(const std::string& root, const std::string& path) {
  std::vector<std::pair<std::string, std::string>> folders;
  std::string_view rest(path);
  rest.remove_prefix(std::min(root.size(), rest.size()));
  for (size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    const std::string_view folder = rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
    const size_t equals = folder.find('=');
    if (equals == std::string_view::npos) continue;
    folders.emplace_back(PercentDecoded(folder.substr(0, equals)), PercentDecoded(folder.substr(equals + 1)));
  }
  return folders;
}

Result<spec::PartitionTuple> PartitionOfPath(const spec::TableMetadata& metadata, const std::string& root,
                                             const std::string& path) {
  const spec::PartitionSpec& spec = *metadata.FindSpec(metadata.default_spec_id);
  const auto folders = PartitionFolders(root, path);
  spec::PartitionTuple tuple;
  for (size_t i = 0; i < spec.fields().size(); ++i) {
    const std::string& name = spec.fields()[i].name;
    const auto folder = std::find_if(folders.begin(), folders.end(),
                                     [&](const auto& one) { return spec::EqualsAnyCase(one.first, name); });
    if (folder == folders.end()) {
      return Fail(ErrorCode::kInvalidArgument, "no folder {}=... in the path of a file: {}", name, path);
    }
    if (folder->second == kNullFolder) {
      tuple.emplace_back();
      continue;
    }
    auto value = spec::ParseValue(spec.ResultType(i, *metadata.schema()), folder->second);
    if (!value) return tl::unexpected(std::move(value).error().WithContext("reading the partition of " + path));
    tuple.push_back(*std::move(value));
  }
  return tuple;
}

Result<spec::DataFile> ImportedFile(const io::FileIO& io, const io::FileInfo& file, const ImportRules& rules,
                                    spec::PartitionTuple partition) {
  FRAZIL_ASSIGN(auto input, io.Open(file.path));
  FRAZIL_ASSIGN(const auto reader, format::ParquetReader::Open(std::move(input), {.name_mapping = rules.name_mapping}));
  const spec::TableMetadata& metadata = *rules.metadata;
  const spec::PartitionSpec& spec = *metadata.FindSpec(metadata.default_spec_id);
  std::set<spec::FieldId> from_partition;
  for (const spec::PartitionField& field : spec.fields()) from_partition.insert(field.source_id);
  FRAZIL_TRY(CheckReadable(*reader, rules, from_partition));

  FileMetrics metrics;
  spec::DataFile imported;
  for (size_t i = 0; i < reader->row_groups().size(); ++i) {
    FRAZIL_ASSIGN(const format::ParquetMetrics group, reader->RowGroupMetrics(static_cast<int>(i)));
    metrics.Add(group);
    imported.split_offsets.push_back(reader->row_groups()[i].start_offset);
  }
  FRAZIL_ASSIGN(const write::MetricsConfig config, write::MetricsConfig::Make(metadata, *metadata.schema()));
  const format::ParquetMetrics sums = metrics.Finish(*metadata.schema());
  for (const auto& [field, name] : metadata.schema()->AllFields()) {
    const auto nulls = sums.null_value_counts.find(field->id);
    if (field->required && nulls != sums.null_value_counts.end() && nulls->second > 0) {
      return Fail(ErrorCode::kInvalidArgument, "a required column has nulls, {}: {}", name, file.path);
    }
  }
  FRAZIL_TRY(CheckPartition(*reader, rules, sums, partition));
  imported.file_path = file.path;
  imported.spec_id = spec.id();
  imported.partition = std::move(partition);
  imported.record_count = reader->num_rows();
  imported.file_size_in_bytes = file.size_bytes;
  write::SetColumnMetrics(sums, *metadata.schema(), config, imported);
  return imported;
}

}  // namespace frazil::maintain
