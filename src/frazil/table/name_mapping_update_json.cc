#include <algorithm>

#include <nlohmann/json.hpp>

#include "frazil/spec/json_access.h"
#include "frazil/table/name_mapping_update.h"

namespace frazil::table {
namespace {

using spec::Field;
using spec::FieldId;
using spec::OrderedJson;

bool IsEntryOf(const OrderedJson& entry, FieldId id) {
  const auto found = entry.find("field-id");
  return found != entry.end() && found->is_number_integer() && found->get<int64_t>() == id.value();
}

OrderedJson EntryFor(const Field& field) {
  OrderedJson entry = {{"field-id", field.id.value()}, {"names", OrderedJson::array({field.name})}};
  if (!field.type.fields().empty()) {
    OrderedJson children = OrderedJson::array();
    for (const Field& child : field.type.fields()) children.push_back(EntryFor(child));
    entry["fields"] = std::move(children);
  }
  return entry;
}

/// The name belongs to one entry of a level.
void TakeName(OrderedJson& level, const std::string& name, const OrderedJson* keeper) {
  for (OrderedJson& entry : level) {
    if (&entry == keeper) continue;
    OrderedJson& names = entry["names"];
    names.erase(std::remove(names.begin(), names.end(), OrderedJson(name)), names.end());
  }
}

void UpdateLevel(OrderedJson& level, const std::vector<Field>& fields, const spec::Schema& before) {
  for (const Field& field : fields) {
    const Field* known = before.FindField(field.id);
    auto entry =
        std::find_if(level.begin(), level.end(), [&](const OrderedJson& one) { return IsEntryOf(one, field.id); });
    if (known == nullptr) {
      TakeName(level, field.name, nullptr);
      level.push_back(EntryFor(field));
      continue;
    }
    if (entry == level.end()) continue;  // the mapping never knew the column
    if (known->name != field.name) {
      OrderedJson& names = (*entry)["names"];
      if (std::find(names.begin(), names.end(), OrderedJson(field.name)) == names.end()) {
        TakeName(level, field.name, &*entry);
        names.push_back(field.name);
      }
    }
    if (field.type.fields().empty()) continue;
    OrderedJson& children = (*entry)["fields"];
    if (children.is_null()) children = OrderedJson::array();
    UpdateLevel(children, field.type.fields(), before);
  }
}

}  // namespace

Result<std::string> UpdateNameMapping(const std::string& json, const spec::Schema& before, const spec::Schema& after) {
  FRAZIL_TRY(spec::ParseNameMapping(json));  // whatever passes has the shape that is assumed here
  OrderedJson mapping = OrderedJson::parse(json);
  UpdateLevel(mapping, after.fields(), before);
  return spec::DumpJson(mapping);
}

}  // namespace frazil::table
