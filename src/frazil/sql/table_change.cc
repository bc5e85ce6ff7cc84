#include <functional>
#include <limits>

#include "frazil/sql/create_request.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/type_text.h"
#include "frazil/table/partition_update.h"
#include "frazil/table/schema_update.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::sql {

namespace {

constexpr char kDistributionMode[] = "write.distribution-mode";

using Updates = std::vector<spec::TableUpdate>;

/// Applies `change` to the columns of the newest state, again after a lost race, and commits the result.
AnyResult ChangeColumns(const NameParts& name, NameResolver& resolver, const std::string& what,
                        const std::function<Status(table::SchemaUpdate&)>& change) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(name, resolver));
  FRAZIL_TRY(table::CommitUpdates(*found.table, [&](const spec::TableMetadata& base) -> Result<Updates> {
    table::SchemaUpdate update(base, found.ToString());
    FRAZIL_TRY(change(update));
    return update.Updates();
  }));
  return MessageResult(what + " of " + found.ToString());
}

std::string Plural(size_t count, const std::string& one) {
  return count == 1 ? one : fmt::format("{} {}s", count, one);
}

table::PartitionTerm TermOf(const PartitionItem& item) { return {NameText(item.column), item.transform}; }

/// A column without transform may be the name of a partition field: Spark takes it for the column when there is one.
Status DropPartition(const PartitionItem& item, const spec::TableMetadata& base, table::PartitionUpdate& update) {
  const std::string name = NameText(item.column);
  const spec::Field* column = base.schema()->FindFieldAnyCase(name);
  if (item.transform != spec::Transform::Identity()) return update.Drop(TermOf(item));
  for (const spec::PartitionField& field : base.default_spec().fields()) {
    if (column != nullptr && field.source_id == column->id && field.transform == item.transform)
      return update.Drop(TermOf(item));
  }
  return update.Drop(name);
}

std::string RefWord(bool is_branch) { return is_branch ? "branch" : "tag"; }

Error RefNotFound(const std::string& name, bool is_branch, const TableReference& found) {
  std::vector<std::string> names;
  for (const auto& [known, ref] : found.table->metadata()->refs) {
    if ((ref.type == spec::RefType::kBranch) == is_branch) names.push_back(known);
  }
  Error error(ErrorCode::kNotFound, fmt::format("{} has no {}: {}", found.ToString(), RefWord(is_branch), name));
  const std::string near = spec::NearestName(name, names);
  return near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near));
}

}  // namespace

AnyResult Run(const statement::AddColumns& add, NameResolver& resolver) {
  return ChangeColumns(add.table, resolver, "added " + Plural(add.columns.size(), "column"),
                       [&](table::SchemaUpdate& update) -> Status {
                         for (const statement::AddedColumn& column : add.columns) {
                           FRAZIL_ASSIGN(spec::Field field, FieldOf(column.definition));
                           const NameParts parent(column.path.begin(), column.path.end() - 1);
                           FRAZIL_TRY(update.AddColumn(NameText(parent), std::move(field), column.position));
                         }
                         return {};
                       });
}

AnyResult Run(const statement::ReplaceColumns& replace, NameResolver& resolver) {
  return ChangeColumns(replace.table, resolver, "replaced the columns", [&](table::SchemaUpdate& update) -> Status {
    std::vector<spec::Field> fields;
    for (const ColumnDefinition& column : replace.columns) {
      FRAZIL_ASSIGN(fields.emplace_back(), FieldOf(column));
    }
    return update.ReplaceColumns(std::move(fields));
  });
}

AnyResult Run(const statement::DropColumns& drop, NameResolver& resolver) {
  return ChangeColumns(drop.table, resolver, "dropped " + Plural(drop.columns.size(), "column"),
                       [&](table::SchemaUpdate& update) -> Status {
                         for (const NameParts& column : drop.columns) {
                           const std::string name = NameText(column);
                           if (drop.if_exists && update.schema().FindFieldAnyCase(name) == nullptr) continue;
                           FRAZIL_TRY(update.DropColumn(name));
                         }
                         return {};
                       });
}

AnyResult Run(const statement::RenameColumn& rename, NameResolver& resolver) {
  const std::string name = NameText(rename.column);
  return ChangeColumns(rename.table, resolver, fmt::format("renamed column {} to {}", name, rename.new_name),
                       [&](table::SchemaUpdate& update) { return update.RenameColumn(name, rename.new_name); });
}

AnyResult Run(const statement::AlterColumns& alter, NameResolver& resolver) {
  return ChangeColumns(alter.table, resolver, "changed " + Plural(alter.columns.size(), "column"),
                       [&](table::SchemaUpdate& update) -> Status {
                         for (const statement::AlteredColumn& column : alter.columns) {
                           const std::string name = NameText(column.path);
                           if (column.type) FRAZIL_TRY(update.ChangeType(name, *column.type));
                           if (column.required)
                             FRAZIL_TRY(*column.required ? update.SetRequired(name) : update.MakeOptional(name));
                           if (column.default_value) {
                             FRAZIL_ASSIGN(const spec::Field* field, update.Find(name));
                             FRAZIL_ASSIGN(spec::Value value, DefaultOf(name, field->type, *column.default_value));
                             FRAZIL_TRY(update.SetWriteDefault(name, std::move(value)));
                           }
                           if (column.comment) FRAZIL_TRY(update.SetDoc(name, column.comment));
                           if (column.position) FRAZIL_TRY(update.MoveColumn(name, *column.position));
                         }
                         return {};
                       });
}

AnyResult Run(const statement::SetIdentifierFields& set, NameResolver& resolver) {
  std::vector<std::string> names;
  for (const NameParts& parts : set.fields) names.push_back(NameText(parts));
  return ChangeColumns(set.table, resolver, "set identifier fields", [&](table::SchemaUpdate& update) {
    return set.drop ? update.DropIdentifierFields(names) : update.SetIdentifierFields(names);
  });
}

AnyResult Run(const statement::ChangePartitioning& change, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(change.table, resolver));
  FRAZIL_TRY(table::CommitUpdates(*found.table, [&](const spec::TableMetadata& base) -> Result<Updates> {
    table::PartitionUpdate update(base, found.ToString());
    if (change.drop) FRAZIL_TRY(DropPartition(*change.drop, base, update));
    if (change.add) FRAZIL_TRY(update.Add(TermOf(*change.add), change.add->name));
    return update.Updates();
  }));
  return MessageResult("new files of " + found.ToString() + " are partitioned by " +
                       PartitioningText(*found.table->metadata()));
}

AnyResult Run(const statement::SetWriteOrder& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(set.table, resolver));
  FRAZIL_TRY(table::CommitUpdates(*found.table, [&](const spec::TableMetadata& base) -> Result<Updates> {
    spec::SortOrder order;
    for (const statement::OrderItem& item : set.items) {
      const std::string name = NameText(item.term.column);
      const spec::Field* source = base.schema()->FindFieldAnyCase(name);
      if (source == nullptr) return tl::unexpected(ColumnNotFound(name, found.ToString(), *base.schema()));
      order.fields.push_back({source->id, item.term.transform, item.direction, item.null_order});
    }
    Updates updates = {spec::update::AddSortOrder{std::move(order)},
                       spec::update::SetDefaultSortOrder{spec::SortOrderId(-1)}};
    if (set.distribution_mode) {
      updates.emplace_back(spec::update::SetProperties{{{kDistributionMode, *set.distribution_mode}}});
    }
    return updates;
  }));
  return MessageResult("set the write order of " + found.ToString());
}

AnyResult Run(const statement::SetRef& set, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(set.table, resolver));
  const std::string word = RefWord(set.is_branch);
  bool is_new = false;
  bool was_there = false;
  FRAZIL_TRY(table::CommitUpdates(*found.table, [&](const spec::TableMetadata& base) -> Result<Updates> {
    const auto known = base.refs.find(set.name);
    is_new = known == base.refs.end();
    was_there = !is_new && set.if_not_exists;
    if (was_there) return Updates{};
    if (is_new && !set.may_create) return tl::unexpected(RefNotFound(set.name, set.is_branch, found));
    if (!is_new && !set.may_replace) {
      return tl::unexpected(Error(ErrorCode::kAlreadyExists,
                                  fmt::format("{} has a branch or tag of that name: {}", found.ToString(), set.name))
                                .WithHint("CREATE OR REPLACE moves it"));
    }
    spec::SnapshotRef ref = is_new ? spec::SnapshotRef() : known->second;
    const spec::RefType type = set.is_branch ? spec::RefType::kBranch : spec::RefType::kTag;
    if (!is_new && ref.type != type) {
      return Fail(ErrorCode::kInvalidArgument, "{} is a {} of {}, not a {}", set.name, RefWord(!set.is_branch),
                  found.ToString(), word);
    }
    ref.type = type;
    if (set.snapshot_id) {
      if (base.FindSnapshot(spec::SnapshotId(*set.snapshot_id)) == nullptr) {
        return Fail(ErrorCode::kNotFound, "{} has no snapshot: {}", found.ToString(), *set.snapshot_id);
      }
      ref.snapshot_id = spec::SnapshotId(*set.snapshot_id);
    } else if (base.current_snapshot() == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "cannot make {} {}, the table has no snapshot: {}", word, set.name,
                  found.ToString());
    } else {
      ref.snapshot_id = base.current_snapshot()->id;
    }
    if (set.max_ref_age_ms) ref.max_ref_age_ms = set.max_ref_age_ms;
    if (set.max_snapshot_age_ms) ref.max_snapshot_age_ms = set.max_snapshot_age_ms;
    if (set.min_snapshots_to_keep) {
      if (*set.min_snapshots_to_keep > std::numeric_limits<int32_t>::max()) {
        return Fail(ErrorCode::kInvalidArgument, "number of snapshots is too large: {}", *set.min_snapshots_to_keep);
      }
      ref.min_snapshots_to_keep = static_cast<int32_t>(*set.min_snapshots_to_keep);
    }
    return Updates{spec::update::SetSnapshotRef{set.name, ref}};
  }));
  if (was_there) return MessageResult(fmt::format("{} exists already: {}", word, set.name));
  return MessageResult(
      fmt::format("{} {} {} of {}", is_new ? "created" : "replaced", word, set.name, found.ToString()));
}

AnyResult Run(const statement::DropRef& drop, NameResolver& resolver) {
  FRAZIL_ASSIGN(TableReference found, FindToAlter(drop.table, resolver));
  const std::string word = RefWord(drop.is_branch);
  if (drop.name == spec::kMainBranch) {
    return Fail(ErrorCode::kInvalidArgument, "cannot drop the main branch of {}", found.ToString());
  }
  bool was_there = true;
  FRAZIL_TRY(table::CommitUpdates(*found.table, [&](const spec::TableMetadata& base) -> Result<Updates> {
    const auto known = base.refs.find(drop.name);
    was_there = known != base.refs.end();
    if (!was_there && drop.if_exists) return Updates{};
    if (!was_there) return tl::unexpected(RefNotFound(drop.name, drop.is_branch, found));
    if ((known->second.type == spec::RefType::kBranch) != drop.is_branch) {
      return Fail(ErrorCode::kInvalidArgument, "{} is a {} of {}, not a {}", drop.name, RefWord(!drop.is_branch),
                  found.ToString(), word);
    }
    return Updates{spec::update::RemoveSnapshotRef{drop.name}};
  }));
  if (!was_there) return MessageResult(fmt::format("{} does not exist: {}", word, drop.name));
  return MessageResult(fmt::format("dropped {} {} of {}", word, drop.name, found.ToString()));
}

}  // namespace frazil::sql
