#include "frazil/sql/duckdb_row_filter.h"

#include <vector>

#include "duckdb/common/vector_operations/unary_executor.hpp"
#include "duckdb/execution/expression_executor_state.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"

namespace frazil::sql {
namespace {

using duckdb::idx_t;
using duckdb::LogicalType;
using Vector = std::shared_ptr<const format::DeletionVector>;

class HidingFilter final : public duckdb::DeleteFilter {
 public:
  explicit HidingFilter(Vector deleted) : deleted_(std::move(deleted)) {}

  idx_t Filter(duckdb::row_t start, idx_t count, duckdb::SelectionVector& selection) override {
    thread_local std::vector<int64_t> positions;
    positions.clear();
    deleted_->PositionsIn(spec::RowPosition(start), spec::RowPosition(start + static_cast<int64_t>(count)), positions);
    if (positions.empty()) return count;  // selection stays the identity
    selection.Initialize(STANDARD_VECTOR_SIZE);
    idx_t kept = 0;
    duckdb::sel_t next = 0;
    for (int64_t position : positions) {
      auto deleted = static_cast<duckdb::sel_t>(position - start);
      for (; next < deleted; ++next) selection.set_index(kept++, next);
      next = deleted + 1;
    }
    for (; next < count; ++next) selection.set_index(kept++, next);
    return kept;
  }

 private:
  const Vector deleted_;
};

struct Deleted final : duckdb::FunctionData {
  explicit Deleted(Vector in_rows) : rows(std::move(in_rows)) {}
  duckdb::unique_ptr<FunctionData> Copy() const override { return duckdb::make_uniq<Deleted>(rows); }
  bool Equals(const FunctionData& other) const override { return other.Cast<Deleted>().rows == rows; }
  const Vector rows;
};

void FindDeleted(duckdb::DataChunk& input, duckdb::ExpressionState& state, duckdb::Vector& result) {
  const auto& call = state.expr.Cast<duckdb::BoundFunctionExpression>();
  const format::DeletionVector& deleted = *call.bind_info->Cast<Deleted>().rows;
  duckdb::UnaryExecutor::Execute<int64_t, bool>(input.data[0], result, input.size(), [&](int64_t position) {
    return deleted.Contains(spec::RowPosition(position));
  });
}

}  // namespace

duckdb::unique_ptr<duckdb::DeleteFilter> HideRows(Vector deleted) {
  return duckdb::make_uniq<HidingFilter>(std::move(deleted));
}

duckdb::unique_ptr<duckdb::Expression> IsDeleted(Vector deleted, duckdb::unique_ptr<duckdb::Expression> position) {
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> children;
  children.push_back(std::move(position));
  duckdb::ScalarFunction contains("frazil_is_deleted", {LogicalType::BIGINT}, LogicalType::BOOLEAN, FindDeleted);
  return duckdb::make_uniq<duckdb::BoundFunctionExpression>(
      LogicalType::BOOLEAN, std::move(contains), std::move(children), duckdb::make_uniq<Deleted>(std::move(deleted)));
}

}  // namespace frazil::sql
