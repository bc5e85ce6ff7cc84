#include "frazil/ingest/json_column_filler.h"

#include <algorithm>

#include <simdjson.h>

#include "frazil/ingest/json_value.h"

namespace frazil::ingest {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

class JsonFiller final : public ColumnFiller {
 public:
  JsonFiller(std::vector<ColumnBinding> bindings, JsonTimestamps timestamps)
      : bindings_(std::move(bindings)), timestamps_(timestamps) {
    takes_members_ =
        std::any_of(bindings_.begin(), bindings_.end(), [](const auto& binding) { return !binding.path.empty(); });
  }

  Result<Filled> Fill(std::string_view bytes, int64_t row) override {
    element record;
    const auto error = parser_.parse(bytes.data(), bytes.size()).get(record);
    if (error != simdjson::SUCCESS) {
      return Fail(ErrorCode::kCorruptData, "not JSON: {}", simdjson::error_message(error));
    }
    object members;
    const bool is_object = record.get(members) == simdjson::SUCCESS;
    if (!is_object && takes_members_) return Fail(ErrorCode::kInvalidArgument, "not a JSON object");
    for (const ColumnBinding& binding : bindings_) {
      if (binding.only_if_missing && binding.column->length() > row) continue;
      if (binding.path.empty()) {
        FRAZIL_TRY(AppendJson(record, *binding.column, timestamps_));
        continue;
      }
      FRAZIL_ASSIGN(std::optional<element> value, ValueAt(members, binding.path));
      if (!value && !binding.other_path.empty()) {
        FRAZIL_ASSIGN(value, ValueAt(members, binding.other_path));
      }
      if (value) FRAZIL_TRY(AppendJson(*value, *binding.column, timestamps_));
    }
    return Filled::kDone;
  }

 private:
  /// None: something on the way is absent, or null.
  static Result<std::optional<element>> ValueAt(object members, std::string_view path) {
    for (;;) {
      const PathStep step = FirstStep(path);
      FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(members, step.name));
      if (!value || step.rest.empty()) return value;
      if (value->get(members) != simdjson::SUCCESS) return std::nullopt;
      path = step.rest;
    }
  }

  std::vector<ColumnBinding> bindings_;
  JsonTimestamps timestamps_;
  bool takes_members_ = false;
  simdjson::dom::parser parser_;
};

}  // namespace

std::unique_ptr<ColumnFiller> MakeJsonFiller(std::vector<ColumnBinding> bindings, JsonTimestamps timestamps) {
  return std::make_unique<JsonFiller>(std::move(bindings), timestamps);
}

}  // namespace frazil::ingest
