#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/catalog.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"

namespace frazil::test {

/// Rows as "a|b", nulls as NULL.
using Rows = std::vector<std::string>;

/// An SQL session on a catalog named `test`, in the namespace `db`.
class Client {
 public:
  explicit Client(std::shared_ptr<catalog::Catalog> catalog) {
    sql::SessionOptions options;
    options.catalogs["test"] = std::move(catalog);
    options.default_catalog = "test";
    options.default_namespace = {"db"};
    auto made = sql::Session::Make(std::move(options));
    EXPECT_THAT(made, IsOk());
    session_ = *std::move(made);
  }

  Result<Rows> Run(const std::string& statement) {
    FRAZIL_ASSIGN(auto result, session_->Execute(statement));
    Rows rows;
    for (;;) {
      FRAZIL_ASSIGN(auto batch, result->Next());
      if (!batch) return rows;
      FRAZIL_ASSIGN(auto cells, sql::CellsOf(*batch));
      for (const auto& row : cells) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : "|") + (row[i].is_null ? "NULL" : row[i].text);
        rows.push_back(line);
      }
    }
  }

 private:
  std::unique_ptr<sql::Session> session_;
};

}  // namespace frazil::test
