#include "frazil/sql/write_target.h"

#include <algorithm>

#include "frazil/spec/ascii.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

Result<WriteTarget> WriteTarget::Find(const NameParts& name, NameResolver& resolver) {
  WriteTarget target;
  FRAZIL_ASSIGN(target.reference_, resolver.Find(name));
  if (!target.reference_.metadata_table.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "metadata tables cannot be written: {}", NameText(name));
  }
  target.branch_ = target.reference_.version.value_or(spec::kMainBranch);
  if (target.reference_.version) {
    const auto& refs = target.metadata().refs;
    const auto ref = refs.find(target.branch_);
    if (ref == refs.end() || ref->second.type != spec::RefType::kBranch) {
      return Fail(ErrorCode::kInvalidArgument, "only branches can be written: {}", NameText(name));
    }
  }
  return target;
}

const spec::Snapshot* WriteTarget::HeadOf(const spec::TableMetadata& metadata) const {
  const auto ref = metadata.refs.find(branch_);
  return ref == metadata.refs.end() ? metadata.current_snapshot() : metadata.FindSnapshot(ref->second.snapshot_id);
}

std::string WriteTarget::FromText(const std::string& alias) const {
  std::string text = QuoteName(reference_.catalog);
  for (const std::string& level : reference_.name.levels) text += "." + QuoteName(level);
  text += "." + QuoteName(reference_.name.name);
  if (!alias.empty()) text += " AS " + QuoteName(alias);
  // A row that is deleted must not be found: to write it anew would bring it back.
  return text + " AT (VERSION => " + QuotedText(reference_.version.value_or("") + kLiveRowsMark) + ")";
}

std::string WriteTarget::Qualifier(const std::string& alias) const {
  return QuoteName(alias.empty() ? reference_.name.name : alias) + ".";
}

NameParts WriteTarget::WithoutTable(const NameParts& parts, const std::string& alias) const {
  if (parts.size() < 2) return parts;
  if (!alias.empty()) {
    if (!spec::EqualsAnyCase(parts[0], alias)) return parts;
    return {parts.begin() + 1, parts.end()};
  }
  NameParts full = {reference_.catalog};
  full.insert(full.end(), reference_.name.levels.begin(), reference_.name.levels.end());
  full.push_back(reference_.name.name);
  for (size_t first = 0; first < full.size(); ++first) {
    const size_t length = full.size() - first;
    if (length >= parts.size()) continue;
    if (std::equal(full.begin() + static_cast<ptrdiff_t>(first), full.end(), parts.begin(), spec::EqualsAnyCase)) {
      return {parts.begin() + static_cast<ptrdiff_t>(length), parts.end()};
    }
  }
  return parts;
}

Status WriteTarget::CheckRowColumns() const {
  for (const char* name : {"_file", "_pos", "_row_id"}) {
    if (const spec::Field* own = metadata().schema()->FindFieldAnyCase(name)) {
      return Fail(ErrorCode::kNotSupported, "rows of a table with a column of this name cannot be changed: {} of {}",
                  own->name, ToString());
    }
  }
  return {};
}

std::string WriteTarget::ToString() const {
  return reference_.ToString() + (reference_.version ? ".branch_" + branch_ : "");
}

}  // namespace frazil::sql
