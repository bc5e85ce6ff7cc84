#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

// Iceberg types as Arrow types: the currency of rows from level 5 up (spec section 7.1). Pure functions, no state.
//
//   boolean bool | int int32 | long int64 | float float32 | double float64 | decimal(p,s) decimal128(p,s) | date date32
//   time time64[us] | timestamp(tz) timestamp[us(, UTC)] | timestamp(tz)_ns timestamp[ns(, UTC)] | string utf8
//   uuid extension<arrow.uuid> over fixed_size_binary(16) | fixed(n) fixed_size_binary(n) | binary binary
//   struct struct | list list<element> | map map<key, value> | unknown null
//
// Every field with an Iceberg id carries it as metadata "PARQUET:field_id", nested ones included.

/// The Arrow type of a column's type. kNotSupported for variant, geometry and geography.
Result<std::shared_ptr<arrow::DataType>> ArrowTypeOf(const spec::Type& type);

/// Field with its id; kNotSupported naming the column.
Result<std::shared_ptr<arrow::Field>> ToArrowField(const spec::Field& field);

/// Columns in order, unknown ones left out at every level (files never store them). A struct of which nothing is left
/// is kNotSupported.
Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const std::vector<spec::Field>& fields);
Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const spec::Schema& schema);

/// The Iceberg type that an Arrow type stands for: the inverse of ArrowTypeOf. Other widths are taken where nothing is
/// lost (int8/16, uint8/16/32, large and view strings, dictionaries, timestamps in s and ms, date64, decimal32/64).
/// Nested fields get their ids from the metadata, else 0. kNotSupported naming the Arrow type.
Result<spec::Type> IcebergTypeOf(const arrow::DataType& type);

/// The id in a field's metadata.
std::optional<spec::FieldId> FieldIdOf(const arrow::Field& field);

}  // namespace frazil::format
