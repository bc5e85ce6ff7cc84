#pragma once

#include <string>

#include "frazil/spec/create_table.h"
#include "frazil/sql/definition_statement.h"

namespace frazil::sql {

/// What CREATE TABLE asks a catalog for. kInvalidArgument for columns, defaults and partitions that cannot be.
Result<spec::CreateTableRequest> CreateRequestOf(const statement::CreateTable& create);

/// A column as its definition says; ids are 0. Its default is the one of writes.
Result<spec::Field> FieldOf(const ColumnDefinition& column);

/// A literal as a value of `type`; null for NULL. kInvalidArgument naming the column, kNotSupported when `type` is not
/// primitive (spec section 6.4).
Result<spec::Value> DefaultOf(const std::string& column, const spec::Type& type, const Literal& literal);

/// "column 'x' not found in t", with the nearest name.
Error ColumnNotFound(const std::string& name, const std::string& table, const spec::Schema& schema);

}  // namespace frazil::sql
