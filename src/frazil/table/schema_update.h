#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_update.h"

namespace frazil::table {

/// Where a column stands among its siblings.
struct ColumnPosition {
  enum class Kind { kFirst, kAfter } kind = Kind::kFirst;
  std::string after;  ///< name of a sibling, without its parents
};

/// Changes of a table's columns, collected one after another and committed as one (spec section 6.3).
///
/// Each change sees the columns as the ones before it left them, is checked at once and changes nothing when it fails.
/// Columns are named by their path from the root ("address.street", "tags.element", "prices.value"), ignoring case when
/// that leaves no doubt. New columns and all that is nested in them get ids above the table's last-column-id, so an id is
/// never used twice. A value type bound to one base: make a new one for every attempt of a commit. One thread.
///
/// Errors: kInvalidArgument with the column's name; for one that does not exist with the nearest name as hint.
class SchemaUpdate {
 public:
  /// `base` must outlive the update. `table_name` is for messages.
  SchemaUpdate(const spec::TableMetadata& base, std::string table_name);

  /// Adds `field` (its ids do not matter) to the struct at `parent`, to the struct elements of the list or the struct
  /// values of the map there, or to the root when `parent` is empty. Its default for writes becomes the initial one as
  /// well: rows that are there already read it (section 6.4). A required column needs one.
  Status AddColumn(const std::string& parent, spec::Field field, const std::optional<ColumnPosition>& position);
  /// Refused for identifier fields and for sources of the current partition spec and sort order, nested ones included.
  Status DropColumn(const std::string& column);
  /// All columns go, as by DropColumn, and these come, as by AddColumn: a column of the same name is a new one.
  Status ReplaceColumns(std::vector<spec::Field> columns);
  Status RenameColumn(const std::string& column, const std::string& new_name);
  /// Promotions only (section 6.2): int to long, float to double, a decimal to more precision. Defaults follow.
  Status ChangeType(const std::string& column, const spec::Type& type);
  /// Refused when the table has snapshots: rows may hold nulls, and other writers would not notice.
  Status SetRequired(const std::string& column);
  /// Refused for identifier fields and the structs around them.
  Status MakeOptional(const std::string& column);
  /// The default of rows written from now on; null: none any more. The initial default never changes.
  Status SetWriteDefault(const std::string& column, spec::Value value);
  Status SetDoc(const std::string& column, std::optional<std::string> doc);
  Status MoveColumn(const std::string& column, const ColumnPosition& position);
  /// Replaces the primary key. The rules of section 6.10 hold.
  Status SetIdentifierFields(const std::vector<std::string>& columns);
  Status DropIdentifierFields(const std::vector<std::string>& columns);

  /// The columns as they are now.
  const spec::Schema& schema() const { return *schema_; }
  /// A column, or the error that says that it is not there.
  Result<const spec::Field*> Find(const std::string& column) const;

  /// What to commit: schema, and the properties that name columns (metrics, Bloom filters, name mapping) brought after it.
  /// Nothing when nothing changed.
  Result<std::vector<spec::TableUpdate>> Updates() const;

 private:
  using Edit = std::function<Status(std::vector<spec::Field>& siblings, size_t index)>;
  /// Applies `edit` to the column and the result to schema_.
  Status EditColumn(const spec::Field& column, const Edit& edit);
  Status Replace(std::vector<spec::Field> fields, std::vector<spec::FieldId> identifiers);
  /// Gives ids to a new field and everything nested in it.
  Result<spec::Field> WithFreshIds(spec::Field field);
  Status CheckNotInUse(const spec::Field& column) const;
  Error NotFound(const std::string& column) const;
  std::string NameOf(const spec::Field& column) const;

  const spec::TableMetadata& base_;
  std::string table_name_;
  spec::SchemaPtr schema_;
  spec::FieldId last_column_id_;
};

/// The types that a column of `type` may be changed to, as people read them ("bigint", "decimal(P,4) with P > 9").
/// Empty: none.
std::string AllowedPromotions(const spec::Type& type);

}  // namespace frazil::table
