#pragma once

#include <string>

#include "frazil/service/pipeline_config.h"
#include "frazil/spec/schema.h"

namespace frazil::service {

/// CREATE TABLE as a person could have typed it: the same statement, the same rules. Version 3, and snapshots kept for a day
/// (a pipeline makes hundreds), unless the configuration says otherwise. `columns` is a list of definitions as DDL takes it.
std::string CreateTableStatement(const PipelineConfig& config, const std::string& columns);

/// The columns of a schema as DDL has them: "a bigint NOT NULL, b string".
std::string ColumnsText(const spec::Schema& schema);

}  // namespace frazil::service
