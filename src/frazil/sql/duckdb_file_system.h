#pragma once

#include <map>
#include <memory>
#include <string>

#include "duckdb/common/file_system.hpp"
#include "frazil/io/file_io.h"

namespace frazil::sql {

/// "frazil://<catalog>/<path as recorded>": what DuckDB is given as a data file's path.
std::string EnginePath(const std::string& catalog, const std::string& path);

/// Lets DuckDB read data files through the FileIO of their catalog. Read-only: data files never change.
duckdb::unique_ptr<duckdb::FileSystem> MakeEngineFileSystem(std::map<std::string, std::shared_ptr<io::FileIO>> stores);

}  // namespace frazil::sql
