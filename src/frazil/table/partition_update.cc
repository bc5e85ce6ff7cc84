#include "frazil/table/partition_update.h"

#include <algorithm>

#include "frazil/spec/ascii.h"

namespace frazil::table {
namespace {

using spec::PartitionField;
using Kind = spec::Transform::Kind;

constexpr int kFirstVersionThatDrops = 2;

/// The names that ALTER TABLE gives differ from those of CREATE TABLE: they say the parameter (spec section 6.8).
std::string NameOfAdded(const std::string& source, const spec::Transform& transform) {
  const std::string name = spec::DefaultPartitionName(source, transform);
  const bool has_parameter = transform.kind() == Kind::kBucket || transform.kind() == Kind::kTruncate;
  return has_parameter ? fmt::format("{}_{}", name, transform.parameter()) : name;
}

bool IsTime(const spec::Transform& transform) {
  return transform.kind() == Kind::kYear || transform.kind() == Kind::kMonth || transform.kind() == Kind::kDay ||
         transform.kind() == Kind::kHour;
}

}  // namespace

PartitionUpdate::PartitionUpdate(const spec::TableMetadata& base, std::string table_name)
    : base_(base),
      table_name_(std::move(table_name)),
      fields_(base.default_spec().fields()),
      last_partition_id_(base.last_partition_id) {}

Result<spec::FieldId> PartitionUpdate::SourceOf(const PartitionTerm& term) const {
  const spec::Schema& schema = *base_.schema();
  const spec::Field* source = schema.FindFieldAnyCase(term.column);
  if (source != nullptr) return source->id;
  std::vector<std::string> names;
  for (const auto& [field, full_name] : schema.AllFields()) names.push_back(full_name);
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", term.column, table_name_));
  const std::string near = spec::NearestName(term.column, names);
  return tl::unexpected(near.empty() ? std::move(error)
                                     : std::move(error).WithHint(fmt::format("did you mean {}?", near)));
}

Error PartitionUpdate::NotFound(const std::string& wanted) const {
  std::vector<std::string> names;
  for (const PartitionField& field : fields_) {
    if (field.transform.kind() != Kind::kVoid) names.push_back(field.name);
  }
  Error error(ErrorCode::kInvalidArgument, fmt::format("{} has no partition field {}", table_name_, wanted));
  return std::move(error).WithHint(names.empty() ? "it is not partitioned"
                                                 : fmt::format("it has {}", fmt::join(names, ", ")));
}

Status PartitionUpdate::Add(const PartitionTerm& term, const std::optional<std::string>& name) {
  FRAZIL_ASSIGN(const spec::FieldId source, SourceOf(term));
  PartitionField added{source, spec::FieldId(0), name.value_or(""), term.transform};
  for (const PartitionField& field : fields_) {
    if (field.source_id != source || field.transform.kind() == Kind::kVoid) continue;
    if (field.transform == term.transform) {
      return Fail(ErrorCode::kInvalidArgument, "{} is partitioned so already: {}", table_name_, field.name);
    }
    if (IsTime(field.transform) && IsTime(term.transform)) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("column {} has a time partition already: {}", base_.schema()->FullName(source), field.name))
              .WithHint("ALTER TABLE ... REPLACE PARTITION FIELD " + field.name + " WITH ..."));
    }
  }
  // Values of one column and transform keep their id, so that old and new files share a partition column. A version 1
  // spec is numbered in order instead.
  if (base_.format_version >= kFirstVersionThatDrops) {
    for (const spec::PartitionSpec& spec : base_.partition_specs) {
      for (const PartitionField& known : spec.fields()) {
        if (known.source_id != source || known.transform != term.transform) continue;
        if (name && known.name != *name) continue;
        added.field_id = known.field_id;
        if (!name) added.name = known.name;
      }
    }
  }
  if (added.name.empty()) added.name = NameOfAdded(base_.schema()->FullName(source), term.transform);
  if (added.field_id.value() == 0) {
    last_partition_id_ = spec::FieldId(last_partition_id_.value() + 1);
    added.field_id = last_partition_id_;
  }
  for (PartitionField& field : fields_) {
    if (!spec::EqualsAnyCase(field.name, added.name)) continue;
    if (field.transform.kind() != Kind::kVoid) {
      return Fail(ErrorCode::kInvalidArgument, "{} has a partition field of that name already: {}", table_name_,
                  added.name);
    }
    field.name += "_" + std::to_string(field.field_id.value());
  }
  fields_.push_back(std::move(added));
  return {};
}

Status PartitionUpdate::DropAt(size_t index) {
  if (base_.format_version >= kFirstVersionThatDrops) {
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(index));
  } else {
    fields_[index].transform = spec::Transform::Void();
  }
  return {};
}

Status PartitionUpdate::Drop(const std::string& name) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].transform.kind() != Kind::kVoid && spec::EqualsAnyCase(fields_[i].name, name)) return DropAt(i);
  }
  return tl::unexpected(NotFound(name));
}

Status PartitionUpdate::Drop(const PartitionTerm& term) {
  FRAZIL_ASSIGN(const spec::FieldId source, SourceOf(term));
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].source_id == source && fields_[i].transform == term.transform) return DropAt(i);
  }
  return tl::unexpected(NotFound(fmt::format("{} of {}", term.transform.ToString(), term.column)));
}

Result<std::vector<spec::TableUpdate>> PartitionUpdate::Updates() const {
  if (fields_ == base_.default_spec().fields()) return std::vector<spec::TableUpdate>{};
  const spec::PartitionSpec spec(spec::SpecId(0), fields_);
  FRAZIL_TRY(spec.Validate(*base_.schema()));
  return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{spec},
                                        spec::update::SetDefaultSpec{spec::SpecId(-1)}};
}

}  // namespace frazil::table
