#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/hash.h"
#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::index {

/// Turns the identifier fields of rows into canonical key bytes and their 96-bit hashes (ingest.md, "Canonical bytes"):
/// fields by ascending id, values of the table's current type. Part of the index's key version: bytes never change.
///
/// boolean 1 byte; int, long, date, time, timestamps 8 bytes big-endian (int and long are one class); decimal u8 length
/// + minimal unscaled big-endian; string, binary u32 big-endian length + bytes; uuid 16; fixed its bytes.
/// Immutable; thread-safe.
class CanonicalKey {
 public:
  /// The schema's identifier fields. kInvalidArgument without identifier fields and for nested, float or double ones.
  static Result<CanonicalKey> Make(const spec::Schema& schema, uint64_t seed);

  /// Ids of the key columns, ascending.
  const std::vector<spec::FieldId>& field_ids() const { return field_ids_; }

  /// Hash of every row. `columns` are the key columns in the order of field_ids(), equally long, in the types of
  /// format::ToArrowSchema; int columns may have become long since. kInvalidArgument naming the column when a value is null.
  Result<std::vector<Hash96>> HashRows(const std::vector<std::shared_ptr<arrow::Array>>& columns) const;

  /// The same for files that others wrote: rows with a null in the key have no key, and so no hash.
  struct NullableHashes {
    std::vector<Hash96> hashes;    ///< by row; meaningless where the row has no key
    std::vector<bool> has_no_key;  ///< by row; empty: every row has a key
  };
  Result<NullableHashes> HashNullableRows(const std::vector<std::shared_ptr<arrow::Array>>& columns) const;

  /// What hashes depend on, readable: form of the bytes, seed, identifier fields and their type classes (int and long
  /// are one class, as are decimals of one scale). Hashes of equal versions can be compared.
  std::string version() const;

  /// The bytes of one row, for messages and golden tests.
  Result<Bytes> BytesOfRow(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row) const;

 private:
  CanonicalKey() = default;
  Result<std::vector<Hash96>> HashAll(const std::vector<std::shared_ptr<arrow::Array>>& columns) const;
  struct Column {
    std::string name;
    spec::Type type;
  };
  std::vector<spec::FieldId> field_ids_;
  std::vector<Column> columns_;
  uint64_t seed_ = 0;
};

}  // namespace frazil::index
