#pragma once

#include <set>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::scan {

/// Columns of a table that hold `ids`, for the comparison of equality deletes (spec section 4.7): top-level columns in the
/// order of their ids, structs with only the needed members. A field that the current schema has dropped is taken from
/// the newest schema that has it, and with the type it had there, since promotions only ever widen. All are optional:
/// what an old file lacks is compared as its default or null.
///
/// kInvalidTable when an id is in no schema of the table, or lies in a list or map.
Result<std::vector<spec::Field>> KeyColumns(const spec::TableMetadata& metadata, const std::set<spec::FieldId>& ids);

/// Turns rows into canonical bytes of some of their fields: equal bytes, equal key. Null equals null and nothing else;
/// a field of a null struct is null; NaN equals NaN, -0 is not +0. Immutable; thread-safe.
class EqualityKey {
 public:
  /// The fields `ids` of `columns` (KeyColumns). kInvalidTable for types that cannot be compared, naming the field.
  static Result<EqualityKey> Make(const std::vector<spec::Field>& columns, const std::vector<spec::FieldId>& ids);

  /// Appends the key of every row to `bytes` and where it ends to `ends`. `columns` as in Make, in their Arrow types.
  void Encode(const arrow::ArrayVector& columns, Bytes& bytes, std::vector<size_t>& ends) const;

 private:
  using Appender = void (*)(const arrow::Array& array, int64_t row, Bytes& out);
  struct Part {
    std::vector<int> path;  ///< column, then member of member
    Appender append;
  };
  static Result<Appender> AppenderFor(const spec::Field& field);
  static Result<Part> FindPart(const std::vector<spec::Field>& columns, spec::FieldId id);

  std::vector<Part> parts_;
};

}  // namespace frazil::scan
