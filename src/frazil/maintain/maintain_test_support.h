#pragma once

#include <set>
#include <string>

#include "frazil/format/manifest_file.h"
#include "frazil/maintain/procedures.h"
#include "frazil/table/row_map.h"
#include "frazil/table/table_test_support.h"

namespace frazil::maintain {

/// What a procedure on `test` works with. Outlives nothing.
inline table::ProcedureContext ContextOf(table::TestTable& test) {
  table::ProcedureContext context;
  context.catalogs["test"] = test.catalog;
  context.default_catalog = "test";
  context.default_namespace = {"db"};
  context.clock = &test.clock;
  return context;
}

/// Runs a procedure as CALL does.
inline Result<std::vector<table::ProcedureRow>> Call(const std::string& name, const table::ProcedureContext& context,
                                                     const table::ProcedureArguments& arguments) {
  return AllProcedures().at(name)->Run(context, arguments);
}

/// A data file that exists, as far as maintenance can see.
inline spec::DataFile WrittenFile(table::TestTable& test, const std::string& name, int64_t num_rows,
                                  spec::PartitionTuple partition = {}) {
  const std::string path = test.metadata().location + "/data/" + name;
  EXPECT_THAT(test.io->WriteFile(path, AsBytes("rows of " + name)), IsOk());
  return table::DataFileOf(path, num_rows, std::move(partition));
}

inline std::set<std::string> AllFiles(const table::TestTable& test) {
  std::set<std::string> paths;
  const auto files = test.io->List(test.metadata().location);
  EXPECT_THAT(files, IsOk());
  for (const io::FileInfo& file : *files) paths.insert(file.path);
  return paths;
}

/// What the snapshots of the table need, found without any of the code under test: every list and manifest is read from
/// its bytes.
inline std::set<std::string> FilesOfSnapshots(const table::TestTable& test) {
  std::set<std::string> paths;
  const table::Table now = test.Other();
  for (const spec::Snapshot& snapshot : now.metadata()->snapshots) {
    paths.insert(snapshot.manifest_list);
    const auto list = format::ReadManifestList(*test.io, snapshot.manifest_list);
    EXPECT_THAT(list, IsOk());
    for (const spec::ManifestFile& manifest : *list) {
      paths.insert(manifest.manifest_path);
      auto bytes = test.io->ReadFile(manifest.manifest_path);
      EXPECT_THAT(bytes, IsOk());
      const auto entries = format::ReadManifestBytes(*std::move(bytes), manifest.manifest_path);
      EXPECT_THAT(entries, IsOk());
      for (const spec::ManifestEntry& entry : *entries) {
        if (entry.is_live()) paths.insert(entry.data_file.file_path);
      }
    }
  }
  return paths;
}

}  // namespace frazil::maintain
