#pragma once

#include "duckdb/common/exception.hpp"
#include "duckdb/common/serializer/serializer.hpp"
#include "duckdb/function/table_function.hpp"

namespace frazil::sql {

/// Makes scans of unlike things unlike for DuckDB. Its optimizer runs subplans of equal serialized form once and lets the
/// others read the result; a function that cannot be serialized adds nothing to that form, so scans of two tables, or of
/// one table at two times, would count as equal. `StateOf(bind_data)` is the address of what is scanned: equal
/// addresses mean equal rows, for the life of the query.
template <const void* (*StateOf)(const duckdb::FunctionData&)>
void TellApart(duckdb::TableFunction& scan) {
  scan.serialize = [](duckdb::Serializer& serializer, duckdb::optional_ptr<duckdb::FunctionData> bind_data,
                      const duckdb::TableFunction&) {
    serializer.WriteProperty(100, "state", reinterpret_cast<uint64_t>(StateOf(*bind_data)));
  };
  scan.deserialize = [](duckdb::Deserializer&, duckdb::TableFunction&) -> duckdb::unique_ptr<duckdb::FunctionData> {
    throw duckdb::NotImplementedException("a scan of a table has no meaning outside its query");
  };
}

}  // namespace frazil::sql
