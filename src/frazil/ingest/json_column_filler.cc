#include "frazil/ingest/json_column_filler.h"

#include <algorithm>
#include <map>
#include <string>

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
    for (size_t i = 0; i < bindings_.size(); ++i) {
      if (bindings_[i].path.empty()) continue;
      const std::string name(FirstStep(bindings_[i].path).name);
      const auto [member, is_new] = number_of_.emplace(name, members_.size());
      if (is_new) members_.push_back({name, {}});
      members_[member->second].bindings.push_back(i);
    }
  }

  Result<Filled> Fill(std::string_view bytes, int64_t row) override {
    element record;
    const auto error = parser_.parse(bytes.data(), bytes.size()).get(record);
    if (error != simdjson::SUCCESS) {
      return Fail(ErrorCode::kCorruptData, "not JSON: {}", simdjson::error_message(error));
    }
    for (const ColumnBinding& binding : bindings_) {
      if (binding.path.empty() && IsWanted(binding, row)) FRAZIL_TRY(AppendJson(record, *binding.column, timestamps_));
    }
    if (members_.empty()) return Filled::kDone;
    object object_members;
    if (record.get(object_members) != simdjson::SUCCESS) {
      return Fail(ErrorCode::kInvalidArgument, "not a JSON object");
    }
    FRAZIL_TRY(FillMembers(object_members, row));
    FRAZIL_TRY(FillFromOtherPaths(object_members, row));
    return Filled::kDone;
  }

 private:
  /// A member that some columns are filled from, or from below.
  struct Member {
    std::string name;
    std::vector<size_t> bindings;
  };

  static bool IsWanted(const ColumnBinding& binding, int64_t row) {
    return !binding.only_if_missing || binding.column->length() == row;
  }

  Status FillMembers(const object& record, int64_t row) {
    seen_.assign(members_.size(), false);
    size_t guess = 0;
    for (const auto entry : record) {
      // Producers write members in one order, nearly always the columns'.
      if (guess >= members_.size() || members_[guess].name != entry.key) {
        const auto found = number_of_.find(entry.key);
        if (found == number_of_.end()) continue;
        guess = found->second;
      }
      if (seen_[guess]) return Fail(ErrorCode::kInvalidArgument, "member '{}' is there twice", entry.key);
      seen_[guess] = true;
      for (const size_t i : members_[guess].bindings) FRAZIL_TRY(FillFrom(entry.value, bindings_[i], row));
      ++guess;
    }
    return {};
  }

  Status FillFrom(const element& value, const ColumnBinding& binding, int64_t row) const {
    if (!IsWanted(binding, row)) return {};
    FRAZIL_ASSIGN(const std::optional<element> below, ValueAt(value, FirstStep(binding.path).rest));
    return below ? AppendJson(*below, *binding.column, timestamps_) : Status();
  }

  Status FillFromOtherPaths(const object& record, int64_t row) const {
    for (const ColumnBinding& binding : bindings_) {
      if (binding.other_path.empty() || binding.column->length() > row) continue;
      const PathStep step = FirstStep(binding.other_path);
      FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(record, step.name));
      if (!value) continue;
      FRAZIL_ASSIGN(const std::optional<element> below, ValueAt(*value, step.rest));
      if (below) FRAZIL_TRY(AppendJson(*below, *binding.column, timestamps_));
    }
    return {};
  }

  /// None: something on the way is absent, or null.
  static Result<std::optional<element>> ValueAt(element value, std::string_view path) {
    while (!path.empty()) {
      object members;
      if (value.get(members) != simdjson::SUCCESS) return std::nullopt;
      const PathStep step = FirstStep(path);
      FRAZIL_ASSIGN(const std::optional<element> next, FindOnce(members, step.name));
      if (!next) return std::nullopt;
      value = *next;
      path = step.rest;
    }
    return value;
  }

  std::vector<ColumnBinding> bindings_;
  JsonTimestamps timestamps_;
  std::vector<Member> members_;
  std::map<std::string, size_t, std::less<>> number_of_;
  std::vector<bool> seen_;
  simdjson::dom::parser parser_;
};

}  // namespace

std::unique_ptr<ColumnFiller> MakeJsonFiller(std::vector<ColumnBinding> bindings, JsonTimestamps timestamps) {
  return std::make_unique<JsonFiller>(std::move(bindings), timestamps);
}

}  // namespace frazil::ingest
