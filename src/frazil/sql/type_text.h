#pragma once

#include <string>

#include "frazil/spec/partition_spec.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/spec/type.h"

namespace frazil::sql {

/// Spark's spelling, as DDL takes it: "bigint", "timestamp_ntz", "struct<a:int,b:array<string>>".
std::string TypeText(const spec::Type& type);

/// The same with what a definition may say of the members of structs: "struct<a:int NOT NULL COMMENT 'x'>". That elements
/// of a list or values of a map are required cannot be said.
std::string TypeDefinitionText(const spec::Type& type);

/// An item of PARTITIONED BY: "bucket(4, carrier)", "months(time_hour)", "day".
std::string PartitionText(const spec::PartitionField& field, const spec::Schema& schema);

/// The fields of the default spec, "months(at), bucket(4, id)"; "nothing" for an unpartitioned table.
std::string PartitioningText(const spec::TableMetadata& metadata);
/// What ORDERED BY says: "id, bucket(4, carrier) DESC NULLS FIRST". Empty for an unsorted table.
std::string SortOrderText(const spec::SortOrder& order, const spec::Schema& schema);

/// A text as a literal of our statements: in single quotes, with those and back slashes inside doubled.
std::string QuotedText(const std::string& text);
/// The name as it must be written in a statement: in back quotes when it is no plain word.
std::string QuotedIfNeeded(const std::string& name);

}  // namespace frazil::sql
