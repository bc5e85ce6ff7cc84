#pragma once

#include <string>

#include "frazil/spec/partition_spec.h"
#include "frazil/spec/type.h"

namespace frazil::sql {

/// Spark's spelling, as DDL takes it: "bigint", "timestamp_ntz", "struct<a:int,b:array<string>>".
std::string TypeText(const spec::Type& type);

/// An item of PARTITIONED BY: "bucket(4, carrier)", "months(time_hour)", "day".
std::string PartitionText(const spec::PartitionField& field, const spec::Schema& schema);

/// The name as it must be written in a statement: in back quotes when it is no plain word.
std::string QuotedIfNeeded(const std::string& name);

}  // namespace frazil::sql
