#include "frazil/format/parquet_copy.h"

#include <algorithm>

#include <parquet/schema.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_settings.h"

namespace frazil::format {
namespace {

using parquet::ColumnDescriptor;
using parquet::LogicalType;
using parquet::Repetition;
using spec::TypeId;

bool IsLineage(spec::FieldId id) {
  return id == spec::kRowIdColumnId || id == spec::kLastUpdatedSequenceNumberColumnId;
}

/// Repetition of a leaf and of all that it lies in, inside out: equal ones mean that levels mean the same.
std::vector<Repetition::type> NestingOf(const ColumnDescriptor& column) {
  std::vector<Repetition::type> nesting;
  for (const parquet::schema::Node* node = column.schema_node().get(); node->parent() != nullptr;
       node = node->parent()) {
    nesting.push_back(node->repetition());
  }
  return nesting;
}

bool HasSameType(const ColumnDescriptor& from, const ColumnDescriptor& to) {
  if (from.physical_type() != to.physical_type()) return false;
  // Types without a length have any.
  if (from.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY && from.type_length() != to.type_length())
    return false;
  const LogicalType& left = *from.logical_type();
  const LogicalType& right = *to.logical_type();
  if (left.Equals(right)) return true;
  // Whether a time of day is adjusted to UTC says nothing here: Iceberg's is not, and Arrow always writes that it is.
  return left.is_time() && right.is_time() &&
         static_cast<const parquet::TimeLogicalType&>(left).time_unit() ==
             static_cast<const parquet::TimeLogicalType&>(right).time_unit();
}

bool HasSameNesting(const ColumnDescriptor& from, const ColumnDescriptor& to) {
  const std::vector<Repetition::type> left = NestingOf(from);
  const std::vector<Repetition::type> right = NestingOf(to);
  if (left == right) return true;
  // A column that has become optional.
  return left == std::vector{Repetition::REQUIRED} && right == std::vector{Repetition::OPTIONAL};
}

/// Walks the output's fields and the file's columns side by side.
class Planner {
 public:
  Planner(const ParquetCopySource& source, const ParquetFile& file, const parquet::SchemaDescriptor& output,
          std::vector<ParquetCopyPlan::Leaf>& leaves)
      : source_(source), file_(file), output_(output), leaves_(leaves) {}

  bool PlanColumn(const spec::Field& field) {
    const ParquetColumn* column = file_.root().Find(field.id);
    if (IsLineage(field.id)) return PlanLineage(field, column);
    if (column != nullptr) return PlanField(field, *column);
    const auto constant = source_.constants.find(field.id);
    if (constant == source_.constants.end() || field.type.is_nested()) return false;
    if (field.required && spec::IsNull(constant->second)) return false;
    leaves_.push_back({ParquetCopyPlan::Leaf::Kind::kConstant, -1, field, constant->second});
    return true;
  }

 private:
  bool PlanField(const spec::Field& field, const ParquetColumn& column) {
    switch (field.type.id()) {
      case TypeId::kUnknown: return true;  // never stored
      case TypeId::kStruct:
        return std::ranges::all_of(field.type.fields(), [&](const spec::Field& child) {
          if (child.type.id() == TypeId::kUnknown) return true;
          const ParquetColumn* found = column.Find(child.id);
          return found != nullptr && PlanField(child, *found);
        });
      case TypeId::kList: return column.children.size() == 1 && PlanField(field.type.element(), column.children[0]);
      case TypeId::kMap:
        return column.children.size() == 2 && PlanField(field.type.key(), column.children[0]) &&
               PlanField(field.type.map_value(), column.children[1]);
      default: return PlanLeaf(field, column, ParquetCopyPlan::Leaf::Kind::kFile);
    }
  }

  bool PlanLeaf(const spec::Field& field, const ParquetColumn& column, ParquetCopyPlan::Leaf::Kind kind) {
    if (column.leaf < 0 || static_cast<int>(leaves_.size()) >= output_.num_columns()) return false;
    const ColumnDescriptor& from = *file_.metadata()->schema()->Column(column.leaf);
    const ColumnDescriptor& to = *output_.Column(static_cast<int>(leaves_.size()));
    if (!HasSameType(from, to) || !HasSameNesting(from, to)) return false;
    leaves_.push_back({kind, column.leaf, field, {}});
    return true;
  }

  bool PlanLineage(const spec::Field& field, const ParquetColumn* column) {
    const auto kind = field.id == spec::kRowIdColumnId ? ParquetCopyPlan::Leaf::Kind::kRowId
                                                       : ParquetCopyPlan::Leaf::Kind::kSequenceNumber;
    if (column != nullptr) return PlanLeaf(field, *column, kind);
    leaves_.push_back({kind, -1, field, {}});
    return true;
  }

  const ParquetCopySource& source_;
  const ParquetFile& file_;
  const parquet::SchemaDescriptor& output_;
  std::vector<ParquetCopyPlan::Leaf>& leaves_;
};

}  // namespace

Result<std::shared_ptr<const ParquetCopyPlan>> ParquetCopyPlan::Make(const spec::Schema& schema,
                                                                     ParquetCopySource source) {
  const std::string path = source.file->path();
  return Guard(ErrorCode::kCorruptData, path, [&]() -> Result<std::shared_ptr<const ParquetCopyPlan>> {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Schema> arrow_schema, ToArrowSchema(schema));
    FRAZIL_ASSIGN(const std::shared_ptr<parquet::SchemaDescriptor> output, ToParquetSchema(*arrow_schema));
    std::shared_ptr<ParquetCopyPlan> plan(new ParquetCopyPlan());
    plan->source_ = std::move(source);
    Planner planner(plan->source_, plan->source_.file->file(), *output, plan->leaves_);
    for (const spec::Field& field : schema.fields()) {
      if (field.type.id() == TypeId::kUnknown) continue;
      if (!planner.PlanColumn(field)) return nullptr;
    }
    if (static_cast<int>(plan->leaves_.size()) != output->num_columns()) return nullptr;
    return plan;
  });
}

}  // namespace frazil::format
